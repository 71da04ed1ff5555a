"""Python: modules by their dotted path. What a module imports, others can import from it.

A module is named `python:/a.b` by its whole path, and `python:b` without its first folders, for packages that do not
stand at the root. A module that is no package has no such name of a single word, for too many files are called
`json.py`; its neighbours find it by its whole path.
"""

import builtins
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipelines.files.code.dialects import Dialect, Place
from pipelines.files.code.names import EVERYTHING, Binding, Target, suffixes

if TYPE_CHECKING:
    from tree_sitter import Node

    from pipelines.files.code.scopes import Scope, Scopes
    from pipelines.files.code.syntax import Syntax

_SOURCE_FOLDERS = frozenset({"", "src", "lib", "python", "source"})


class Python(Dialect):
    own = frozenset({"self", "cls"})
    comments_document = False
    built_in = frozenset(dir(builtins))
    folder_files = frozenset({"__init__"})

    def look_around(self, place: Place, syntax: "Syntax") -> None:
        stars = (node for node in syntax.imports if any(child.type == "wildcard_import" for child in node.children))
        place.open_to = tuple(map(place.text, stars))

    def aliases(self, place: Place, scopes: "Scopes") -> tuple[str, ...]:
        module = _module(place)
        if place.file_name.endswith(".pyi") or not module:
            return ()
        names = [f"python:/{'.'.join(module)}"]
        names += [f"python:{'.'.join(name)}" for name in suffixes(module) if len(name) > 1]
        if place.stem == "__init__" or (place.folder or ("",))[-1] in _SOURCE_FOLDERS:
            names.append(f"python:{module[-1]}")
        return tuple(names)

    def bindings(self, statement: "Node", scope: "Scope", place: Place) -> Iterator[Binding]:
        if statement.type == "import_statement":
            return _imported_modules(statement, place)
        return _imported_names(statement, place)

    def elsewhere(self, path: tuple[str, ...], scope: "Scope", place: Place) -> tuple[str, ...]:
        """Something of a module that everything is imported from."""
        in_class = scope.parent is not None and path[0] in scope.parent.children  # in a decorator: @size.setter
        known = in_class or path[0] in self.built_in
        return (f"#{'.'.join(path[:2])}",) if place.open_to and not known else ()


def _module(place: Place) -> tuple[str, ...]:
    return place.folder if place.stem == "__init__" else (*place.folder, place.stem)


def _imported_modules(statement: "Node", place: Place) -> Iterator[Binding]:
    for name in statement.children_by_field_name("name"):
        written, local = _renamed(name, place)
        yield Binding(local=local, targets=_absolute(written, place), exported=True)
        if "." in local:
            top = local.partition(".")[0]
            yield Binding(local=top, targets=_absolute(top, place), exported=True, used=False)


def _imported_names(statement: "Node", place: Place) -> Iterator[Binding]:
    written = place.text(statement.child_by_field_name("module_name"))
    modules = _absolute(written, place) if not written.startswith(".") else _relative(written, place)
    if any(child.type == "wildcard_import" for child in statement.children):
        yield Binding(local=EVERYTHING, targets=modules, exported=True)
    for name in statement.children_by_field_name("name"):
        member, local = _renamed(name, place)
        own = f"python:/{'.'.join(_module(place))}"
        inside = [Target(module.alias, (member,)) for module in modules if module.alias != own]
        below = [Target(_below(module.alias, member)) for module in modules]
        yield Binding(local=local, targets=(*inside, *below), exported=True)


def _below(alias: str, name: str) -> str:
    return f"{alias}{name}" if alias.endswith("/") else f"{alias}.{name}"


def _renamed(name: "Node", place: Place) -> tuple[str, str]:
    """What is imported, and what it is called from there on."""
    if name.type == "aliased_import":
        return place.text(name.child_by_field_name("name")), place.text(name.child_by_field_name("alias"))
    return place.text(name), place.text(name)


def _absolute(written: str, place: Place) -> tuple[Target, ...]:
    top = written.partition(".")[0]
    if top in sys.stdlib_module_names:
        return (Target(f"python:/{written}"),)
    beside = f"python:/{'.'.join((*place.folder, written))}"
    return (Target(f"python:{written}"), Target(beside)) if written == top else (Target(f"python:{written}"),)


def _relative(written: str, place: Place) -> tuple[Target, ...]:
    steps = len(written) - len(written.lstrip("."))
    if steps > len(place.folder) + 1:
        return ()
    folder = place.folder[: len(place.folder) - steps + 1]
    return (Target(f"python:/{'.'.join((*folder, *filter(None, [written[steps:]])))}"),)


DIALECT = Python()
