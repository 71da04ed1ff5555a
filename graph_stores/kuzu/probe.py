"""Opens a database and ends: `python -m graph_stores.kuzu.probe MODULE PATH`. A crash here harms nobody."""

import importlib
import os
import sys


def main(module: str, path: str) -> None:
    # Held, because the end of the object would checkpoint, as would the ordinary end of the process.
    database = importlib.import_module(module).Database(path, auto_checkpoint=False)
    os._exit(0 if database else 1)


if __name__ == "__main__":
    main(*sys.argv[1:3])
