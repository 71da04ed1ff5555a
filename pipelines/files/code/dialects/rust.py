"""Rust: modules by their path. A file is named `rust:/crate/src/store` by its whole path without its extension, and
`rust:crate/store` by its crate, for the other crates of a workspace."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipelines.files.code.dialects import Dialect, Place
from pipelines.files.code.names import EVERYTHING, Binding, Target

if TYPE_CHECKING:
    from tree_sitter import Node

    from pipelines.files.code.scopes import Scope, Scopes

_FOLDER_FILES = frozenset({"lib", "main", "mod"})
_STANDARD = frozenset({"std", "core", "alloc"})
_SOURCES = "src"

Path = tuple[str, ...]


class Rust(Dialect):
    own = frozenset({"self", "Self"})
    inherited = frozenset()
    folder_files = _FOLDER_FILES

    def aliases(self, place: Place, scopes: "Scopes") -> tuple[str, ...]:
        module = _module(place)
        names = [f"rust:/{'/'.join(module)}"]
        if len(crate := _crate(module)) > 1:
            names.append(f"rust:{'/'.join((crate[-2].replace('-', '_'), *module[len(crate) :]))}")
        return tuple(names)

    def bindings(self, statement: "Node", scope: "Scope", place: Place) -> Iterator[Binding]:
        if statement.type == "mod_item":
            name = place.text(statement.child_by_field_name("name"))
            yield Binding(local=name, targets=(Target(f"rust:/{'/'.join((*_module(place), name))}"),), exported=True)
            return
        public = any(child.type == "visibility_modifier" for child in statement.children)
        tree = statement.child_by_field_name("argument")
        for path, local in _used(tree, place) if tree is not None else ():
            if not path:  # `use *;` is everything of nothing
                continue
            inside = 0 if path[0] != "super" else _depth(scope)  # the modules around, in this file
            targets = _targets(path[min(inside, path.count("super")) :] or ("self",), place, local == EVERYTHING)
            yield Binding(local=local, targets=targets, exported=public)

    def elsewhere(self, path: Path, scope: "Scope", place: Place) -> tuple[str, ...]:
        if len(path) < 2 or (path[0] not in ("crate", "super") and not path[0].islower()):
            return ()
        return tuple(target.want() for target in _targets(path, place, False) if target.member)


def _module(place: Place) -> Path:
    return place.folder if place.stem in _FOLDER_FILES else (*place.folder, place.stem)


def _crate(module: Path) -> Path:
    """The folder of its sources, or nothing for a file that stands outside such a folder."""
    places = [place for place, step in enumerate(module) if step == _SOURCES]
    return module[: places[-1] + 1] if places else ()


def _depth(scope: "Scope") -> int:
    depth, level = 0, scope
    while level.parent is not None:
        depth, level = depth + (level.kind == "namespace"), level.parent
    return depth


def _used(tree: "Node", place: Place) -> Iterator[tuple[Path, str]]:
    """Every path in a use declaration, with the name it has from there on."""
    coming: list[tuple[Node, Path]] = [(tree, ())]
    while coming:
        node, before = coming.pop()
        if node.type == "use_list":
            coming += [(child, before) for child in reversed(node.named_children)]
        elif node.type == "scoped_use_list":
            path, inside = _steps(node.child_by_field_name("path"), place), node.child_by_field_name("list")
            if inside is not None:
                coming.append((inside, before + path))
        elif node.type == "use_as_clause":
            path = _steps(node.child_by_field_name("path"), place)
            yield before + path, place.text(node.child_by_field_name("alias"))
        elif node.type == "use_wildcard":
            yield before + _steps(node.named_children[0] if node.named_children else None, place), EVERYTHING
        else:
            path = before + _steps(node, place)
            if path[-1:] == ("self",):
                path = path[:-1]
            if path:
                yield path, path[-1]


def _steps(node: "Node | None", place: Place) -> Path:
    return tuple(step for each in place.text(node).split("::") if (step := each.strip()))


def _targets(path: Path, place: Place, whole: bool) -> tuple[Target, ...]:
    """Where the modules of a path end and the names in one begin is not written: the likeliest first."""
    prefix, steps = _start(path, place)
    if prefix is None:
        return ()
    if whole:
        return (Target("/".join((prefix, *steps))),)
    cuts = dict.fromkeys(max(0, len(steps) - back) for back in (1, 0, 2))
    return tuple(Target("/".join((prefix, *steps[:cut])), steps[cut:]) for cut in cuts)


def _start(path: Path, place: Place) -> tuple[str | None, Path]:
    module = _module(place)
    if path[0] == "crate":
        return f"rust:/{'/'.join(_crate(module))}", path[1:]
    if path[0] in ("self", "super"):
        up = sum(1 for step in path if step == "super")
        steps = tuple(step for step in path if step not in ("self", "super"))
        return f"rust:/{'/'.join(module[: len(module) - up])}", steps
    return (None, ()) if path[0] in _STANDARD else (f"rust:{path[0]}", path[1:])


DIALECT = Rust()
