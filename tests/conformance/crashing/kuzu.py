"""Stands for the engine: see engine.py beside this file."""

import sys

from engine import load  # type: ignore[import-not-found]

sys.modules[__name__] = load(__name__)
