"""C#: types by their namespace. A type is named `csharp:App.Data.Store`, and is known where its namespace is in use."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipelines.files.code.dialects import Dialect, Place
from pipelines.files.code.names import Binding, Target

if TYPE_CHECKING:
    from tree_sitter import Node

    from pipelines.files.code.scopes import Scope, Scopes
    from pipelines.files.code.syntax import Syntax

_STANDARD = ("System", "Microsoft", "Windows")


class CSharp(Dialect):
    inherited = frozenset({"base"})
    members_in_scope = True
    has_functions = False
    shared = frozenset({"namespace"})

    def look_around(self, place: Place, syntax: "Syntax") -> None:
        place.package = next((mark.text for mark in syntax.of("package")), "")
        place.open_to = tuple(
            name
            for node in syntax.imports
            if node.child_by_field_name("name") is None
            and (name := _name(node, place)).partition(".")[0] not in _STANDARD
        )

    def aliases(self, place: Place, scopes: "Scopes") -> tuple[str, ...]:
        types = [scope for scope in scopes.inner if scope.is_class and not (scope.parent and scope.parent.is_class)]
        return tuple(dict.fromkeys(_type(_space(scope, place), scope.name).alias for scope in types))

    def bindings(self, statement: "Node", scope: "Scope", place: Place) -> Iterator[Binding]:
        """Only a using that gives a type another name."""
        alias, name = statement.child_by_field_name("name"), _name(statement, place)
        if alias is not None and name:
            space, _, last = name.rpartition(".")
            yield Binding(local=place.text(alias), targets=(_type(space, last),))

    def elsewhere(self, path: tuple[str, ...], scope: "Scope", place: Place) -> tuple[str, ...]:
        if not path[0][:1].isupper():
            return ()
        types = [_type(space, path[0]) for space in dict.fromkeys((*_spaces(_space(scope, place)), *place.open_to))]
        return (*(each.want(path[1:2]) for each in types), *(each.want() for each in types if path[1:]))

    def member_elsewhere(self, name: str, scope: "Scope", place: Place) -> tuple[str, ...]:
        """In another part of a partial class."""
        space = _space(scope, place)
        path = tuple(name.removeprefix(f"{space}.").split("."))
        return (Target(_type(space, path[0]).alias, path).want(),)

    def extra_names(self, scope: "Scope", place: Place) -> tuple[str, ...]:
        """Without the namespace: it is part of the alias, however the file writes it."""
        space = _space(scope, place)
        short = scope.qualified.removeprefix(f"{space}.")
        return (short,) if short != scope.qualified and scope.kind != "namespace" else ()


def _type(space: str, name: str) -> Target:
    return Target(f"csharp:{space}.{name}" if space else f"csharp:{name}", (name,))


def _space(scope: "Scope", place: Place) -> str:
    level: Scope | None = scope
    while level is not None and level.kind != "namespace":
        level = level.parent
    return level.qualified if level is not None else place.package


def _spaces(space: str) -> Iterator[str]:
    """A namespace and those around it, the global one last."""
    while space:
        yield space
        space = space.rpartition(".")[0]
    yield ""


def _name(statement: "Node", place: Place) -> str:
    named = [child for child in statement.named_children if child.type in ("identifier", "qualified_name")]
    return place.text(named[-1]) if named else ""


DIALECT = CSharp()
