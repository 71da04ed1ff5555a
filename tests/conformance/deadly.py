"""Parsing that one file brings down, as a library written in C may: found by name from another process."""

import os

from pipelines.files.making import Made, Task, make

EXIT = 9


def make_or_die(task: Task) -> Made:
    if task.path == "deadly.md":
        os._exit(EXIT)
    return make(task)
