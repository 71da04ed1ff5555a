"""JavaScript and TypeScript: modules by their path. Only what is exported is passed on.

A module is named `js:/src/store` whatever its extension, because an import may leave it out or name the compiled file.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipelines.files.code.dialects import Dialect, Place
from pipelines.files.code.names import EVERYTHING, Binding, Target, beside

if TYPE_CHECKING:
    from tree_sitter import Node

    from pipelines.files.code.scopes import Scope, Scopes
    from pipelines.files.code.syntax import Syntax

_EXTENSION = re.compile(r"(\.d)?\.[cm]?[jt]sx?$")
_DEFAULT = "default"


class JavaScript(Dialect):
    folder_files = frozenset({"index"})

    def aliases(self, place: Place, scopes: "Scopes") -> tuple[str, ...]:
        # A declaration file stands beside the file that it declares.
        return () if place.path.endswith(".d.ts") else (f"js:/{_EXTENSION.sub('', place.path)}",)

    def bindings(self, statement: "Node", scope: "Scope", place: Place) -> Iterator[Binding]:
        source = statement.child_by_field_name("source")
        if statement.type == "variable_declarator":
            return _required(statement, place)
        files = _files(place.text(source), place)
        return (
            _exported(statement, files, place)
            if statement.type == "export_statement"
            else _imported(statement, files, place)
        )

    def extra_names(self, scope: "Scope", place: Place) -> tuple[str, ...]:
        at = scope.definition.name_at if scope.definition else -1
        return (_DEFAULT,) if at in place.defaults else ()

    def look_around(self, place: Place, syntax: "Syntax") -> None:
        place.defaults = frozenset(mark.start for mark in syntax.of("default"))

    def forwards(self, place: Place, syntax: "Syntax", scopes: "Scopes") -> dict[str, tuple[str, ...]]:
        """What is exported under another name, or was imported itself."""
        passed: dict[str, tuple[str, ...]] = {}
        exports = [(mark.text, _DEFAULT) for mark in syntax.of("default")]
        exports += [_renamed(mark.text) for mark in syntax.of("export")]
        for local, exported in exports:
            if targets := scopes.outermost.bindings.get(local):
                passed[exported] = tuple(target.want() for target in targets)
            elif local != exported:
                passed[exported] = (f"#{local}",)
        return passed


def _renamed(written: str) -> tuple[str, str]:
    local, _, exported = (part.strip() for part in written.partition(" as "))
    return local, exported or local


def _files(written: str, place: Place) -> tuple[str, ...]:
    """The aliases that a path in an import may mean. A bare name is a package, and no file of the project."""
    path = written.strip("'\"`")
    steps = beside(place.folder, path) if path.startswith(".") else None
    if steps is None:
        return ()
    name = _EXTENSION.sub("", "/".join(steps))
    return (f"js:/{name}", f"js:/{name}/index".replace("//", "/"))


def _targets(files: tuple[str, ...], *member: str) -> tuple[Target, ...]:
    return tuple(Target(file, member) for file in files)


def _imported(statement: "Node", files: tuple[str, ...], place: Place) -> Iterator[Binding]:
    clause = next((child for child in statement.children if child.type == "import_clause"), None)
    if clause is None:
        yield Binding(local="", targets=_targets(files))
        return
    for child in clause.named_children:
        if child.type == "identifier":
            yield Binding(local=place.text(child), targets=_targets(files, _DEFAULT))
        elif child.type == "namespace_import":
            yield Binding(local=place.text(child.named_children[-1]), targets=_targets(files))
        else:
            for member, local in _specified(child, place):
                yield Binding(local=local, targets=_targets(files, member))


def _exported(statement: "Node", files: tuple[str, ...], place: Place) -> Iterator[Binding]:
    """What is passed on from another file is no name in this one: only its way through is kept."""
    for child in statement.named_children:
        if child.type == "export_clause":
            for member, local in _specified(child, place):
                yield Binding(local=local, targets=_targets(files, member), exported=True)
        elif child.type == "namespace_export":
            yield Binding(local=place.text(child.named_children[-1]), targets=_targets(files), exported=True)
    if any(child.type == "*" for child in statement.children):
        yield Binding(local=EVERYTHING, targets=_targets(files), exported=True)


def _specified(clause: "Node", place: Place) -> Iterator[tuple[str, str]]:
    """The names in braces, as they are called there and here."""
    for each in clause.named_children:
        if name := place.text(each.child_by_field_name("name")):
            yield name, place.text(each.child_by_field_name("alias")) or name


def _required(declarator: "Node", place: Place) -> Iterator[Binding]:
    name, call = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
    arguments = call.child_by_field_name("arguments") if call is not None else None
    written = place.text(arguments.named_children[0]) if arguments is not None and arguments.named_children else ""
    files = _files(written, place)
    if name is not None and name.type == "identifier":
        yield Binding(local=place.text(name), targets=(*_targets(files, _DEFAULT), *_targets(files)))
    elif name is not None and name.type == "object_pattern":
        for child in name.named_children:
            if child.type == "shorthand_property_identifier_pattern":
                yield Binding(local=place.text(child), targets=_targets(files, place.text(child)))
            elif child.type == "pair_pattern":
                member, local = (
                    place.text(child.child_by_field_name("key")),
                    place.text(child.child_by_field_name("value")),
                )
                yield Binding(local=local, targets=_targets(files, member))


DIALECT = JavaScript()
