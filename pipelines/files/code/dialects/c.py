"""C and C++: files by their path, since a header gives everything in it to whoever includes it.

A header is named `c:/include/store.h` by its whole path and `c:store.h` without its first folders. What it only
declares is looked for in the file of the same name that defines it: `c:store` without the extension.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipelines.files.code.dialects import Dialect, Place
from pipelines.files.code.names import EVERYTHING, Binding, Target, beside, suffixes

if TYPE_CHECKING:
    from tree_sitter import Node

    from pipelines.files.code.scopes import Scope, Scopes
    from pipelines.files.code.syntax import Syntax

_DEFINING = frozenset({"c", "cc", "cpp", "cxx", "c++"})
_MOST_SPACES = 3


class C(Dialect):
    inherited = frozenset()
    members_in_scope = True
    shared = frozenset({"namespace"})

    def look_around(self, place: Place, syntax: "Syntax") -> None:
        place.open_to = tuple(map(place.text, syntax.imports)) + tuple(mark.text for mark in syntax.of("prototype"))

    def aliases(self, place: Place, scopes: "Scopes") -> tuple[str, ...]:
        path = tuple(place.path.split("/"))
        names = [f"c:/{place.path}", *(f"c:{'/'.join(each)}" for each in suffixes(path))]
        if place.path.rpartition(".")[2].lower() in _DEFINING:
            names += [f"c:{'/'.join(each)}" for each in suffixes((*place.folder, place.stem))]
        return tuple(names)

    def bindings(self, statement: "Node", scope: "Scope", place: Place) -> Iterator[Binding]:
        written = place.text(statement.child_by_field_name("path")).strip('"')
        here = beside(place.folder, written)
        targets = [Target(f"c:/{'/'.join(here)}")] if here else []
        plain = written.lstrip("./")
        yield Binding(local=EVERYTHING, targets=(*targets, Target(f"c:{plain}")), exported=True)

    def elsewhere(self, path: tuple[str, ...], scope: "Scope", place: Place) -> tuple[str, ...]:
        """Declared, or in something that is included; in the spaces that the name is used in or outside them."""
        if not place.open_to:
            return ()
        spaces = scope.space[:_MOST_SPACES]
        return tuple("#" + ".".join((*spaces[:length], *path)) for length in range(len(spaces), -1, -1))

    def member_elsewhere(self, name: str, scope: "Scope", place: Place) -> tuple[str, ...]:
        return (f"#{name}",) if place.open_to else ()

    def forwards(self, place: Place, syntax: "Syntax", scopes: "Scopes") -> dict[str, tuple[str, ...]]:
        if place.path.rpartition(".")[2].lower() in _DEFINING:
            return {}
        declared = {
            ".".join(filter(None, (scope.qualified, mark.text))): None
            for scope, mark in scopes.holding(syntax.of("prototype"))
            if not scope.is_function
        }
        return {name: (f"c:{place.stem}#{name}",) for name in declared}


DIALECT = C()
