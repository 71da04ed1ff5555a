"""Java: types by their package. A type is named `java:com.x.Store`, and needs no import in its own package."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipelines.files.code.dialects import Dialect, Place
from pipelines.files.code.names import Binding, Target

if TYPE_CHECKING:
    from tree_sitter import Node

    from pipelines.files.code.scopes import Scope, Scopes
    from pipelines.files.code.syntax import Syntax


class Java(Dialect):
    members_in_scope = True
    has_functions = False

    def look_around(self, place: Place, syntax: "Syntax") -> None:
        place.package = next((mark.text for mark in syntax.of("package")), "")
        place.open_to = tuple(
            text
            for node in syntax.imports
            if any(child.type == "asterisk" for child in node.children) and not _is_static(node)
            if (text := _name(node, place))
        )

    def aliases(self, place: Place, scopes: "Scopes") -> tuple[str, ...]:
        types = dict.fromkeys(
            scope.name for scope in scopes.inner if scope.parent is scopes.outermost and scope.is_class
        )
        return tuple(_type(place.package, name).alias for name in types)

    def bindings(self, statement: "Node", scope: "Scope", place: Place) -> Iterator[Binding]:
        name = _name(statement, place)
        package, _, last = name.rpartition(".")
        if any(child.type == "asterisk" for child in statement.children) or not name:
            return
        if _is_static(statement):
            package, _, owner = package.rpartition(".")
            yield Binding(local=last, targets=(Target(f"java:{package}.{owner}", (owner, last)),))
        else:
            yield Binding(local=last, targets=(_type(package, last),))

    def elsewhere(self, path: tuple[str, ...], scope: "Scope", place: Place) -> tuple[str, ...]:
        """A type of the same package, or of one that is imported whole."""
        if not path[0][:1].isupper():
            return ()
        types = [_type(package, path[0]) for package in (place.package, *place.open_to)]
        return (*(each.want(path[1:2]) for each in types), *(each.want() for each in types if path[1:]))


def _type(package: str, name: str) -> Target:
    return Target(f"java:{package}.{name}" if package else f"java:{name}", (name,))


def _name(statement: "Node", place: Place) -> str:
    return next(
        (place.text(node) for node in statement.children if node.type in ("scoped_identifier", "identifier")), ""
    )


def _is_static(statement: "Node") -> bool:
    return any(child.type == "static" for child in statement.children)


DIALECT = Java()
