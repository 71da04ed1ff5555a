"""Go: packages by their folder. All files of a folder are one package, and know each other's names.

A package is named `go:/a/b` by its whole folder, and `go:a/b` without the first folders, because the path in an import
begins with the name of the module, which is not known here.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipelines.files.code.dialects import Dialect, Place
from pipelines.files.code.names import EVERYTHING, Binding, Target, suffixes

if TYPE_CHECKING:
    from tree_sitter import Node

    from pipelines.files.code.scopes import Scope, Scopes

_VERSION = re.compile(r"v\d+")
_BUILT_IN = frozenset(
    [
        "append",
        "cap",
        "clear",
        "close",
        "complex",
        "copy",
        "delete",
        "imag",
        "len",
        "make",
        "max",
        "min",
        "new",
        "panic",
        "print",
        "println",
        "real",
        "recover",
        "bool",
        "byte",
        "complex64",
        "complex128",
        "error",
        "float32",
        "float64",
        "int",
        "int8",
        "int16",
        "int32",
        "int64",
        "rune",
        "string",
        "uint",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "uintptr",
        "any",
    ]
)


class Go(Dialect):
    own = frozenset()
    built_in = _BUILT_IN
    inherited = frozenset()

    def aliases(self, place: Place, scopes: "Scopes") -> tuple[str, ...]:
        folders = [f"go:{'/'.join(folder)}" for folder in suffixes(place.folder) if len(folder) > 1]
        return (_package(place), *folders)

    def bindings(self, statement: "Node", scope: "Scope", place: Place) -> Iterator[Binding]:
        written = place.text(statement.child_by_field_name("path")).strip('"`')
        local = place.text(statement.child_by_field_name("name")) or _last_name(written)
        targets = tuple(Target(alias) for alias in _imported(written))
        yield Binding(local={".": EVERYTHING, "_": ""}.get(local, local), targets=targets, exported=local == ".")

    def elsewhere(self, path: tuple[str, ...], scope: "Scope", place: Place) -> tuple[str, ...]:
        """In another file of the package."""
        return (Target(_package(place), path).want(),) if len(path) == 1 and path[0] not in self.built_in else ()

    def member_elsewhere(self, name: str, scope: "Scope", place: Place) -> tuple[str, ...]:
        return (Target(_package(place), (name,)).want(),)


def _package(place: Place) -> str:
    return f"go:/{'/'.join(place.folder)}"


def _imported(written: str) -> list[str]:
    steps = tuple(written.split("/"))
    if len(steps) == 1:  # of the standard library
        return []
    return [*(f"go:{'/'.join(each)}" for each in suffixes(steps) if len(each) > 1), f"go:/{steps[-1]}"]


def _last_name(written: str) -> str:
    steps = written.split("/")
    last = steps[-2] if len(steps) > 1 and _VERSION.fullmatch(steps[-1]) else steps[-1]
    return last.partition(".")[0].removeprefix("go-").rpartition("-")[2]


DIALECT = Go()
