"""The command line: each command parses, calls and prints. Heavy modules are imported when a command needs them."""

from orchestrator.cli.entry import main

__all__ = ["main"]
