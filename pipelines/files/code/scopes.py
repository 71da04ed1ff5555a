"""The scopes of a file, one in the other, with the names that are known in each.

From definitions and marks (`pipelines.files.code.syntax`) to a tree. What a used name means is `resolution`'s to say.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pipelines.files.code.comments import Comments
from pipelines.files.code.names import Target
from pipelines.files.code.syntax import Definition, Mark, Syntax

_ARGUMENTS = re.compile(r"<[^<>]*>(?=\s*::)")

FUNCTIONS = frozenset({"function", "method", "constructor", "macro"})
CLASSES = frozenset({"class", "struct", "interface", "enum", "trait", "impl", "record", "union", "type", "module"})


@dataclass(slots=True, eq=False)
class Scope:
    """`start` is where its comment begins. The outermost, of the file itself, has no parent and no name.

    Of each use it is known whether it can only be a type.
    """

    kind: str
    name: str
    qualified: str
    key: str
    start: int
    end: int
    definition: Definition | None = None
    parent: "Scope | None" = None
    comment: str | None = None
    doc: str | None = None
    children: dict[str, "Scope"] = field(default_factory=dict)
    locals: set[str] = field(default_factory=set)
    selves: set[str] = field(default_factory=set)
    bindings: dict[str, tuple[Target, ...]] = field(default_factory=dict)
    bases: list[str] = field(default_factory=list)
    uses: list[tuple[Mark, bool]] = field(default_factory=list)

    @property
    def is_class(self) -> bool:
        return self.kind in CLASSES and self.parent is not None

    @property
    def is_function(self) -> bool:
        return self.kind in FUNCTIONS

    @property
    def space(self) -> tuple[str, ...]:
        """The path of names that what stands in it is looked up under."""
        path = tuple(filter(None, self.qualified.split(".")))
        return path[:-1] if self.is_function else path

    def bind(self, local: str, targets: tuple[Target, ...]) -> None:
        self.bindings[local] = tuple(dict.fromkeys(self.bindings.get(local, ()) + targets))


@dataclass(slots=True)
class Scopes:
    """`inner` are all but the outermost, in the order of the source."""

    outermost: Scope
    inner: list[Scope]
    by_name: dict[str, Scope]

    def holding(self, marks: Iterable[Mark]) -> Iterator[tuple[Scope, Mark]]:
        """Each mark with the innermost scope that it stands in. They come in the order of the source."""
        open_scopes, coming = [self.outermost], 0
        for mark in marks:
            while coming < len(self.inner) and self.inner[coming].start <= mark.start:
                _leave(open_scopes, self.inner[coming].start)
                open_scopes.append(self.inner[coming])
                coming += 1
            _leave(open_scopes, mark.start)
            yield open_scopes[-1], mark


def read_scopes(source: bytes, syntax: Syntax) -> Scopes:
    scopes = _nested(source, syntax)
    named_at = {definition.name_at for definition in syntax.definitions}
    for scope, mark in scopes.holding(syntax.of("local")):
        if mark.start not in named_at:
            scope.locals.add(mark.text)
    for scope, mark in scopes.holding(syntax.of("outer")):
        scope.locals.discard(mark.text)
    for scope, mark in scopes.holding(syntax.of("self")):
        scope.selves.add(mark.text)
    for scope, mark in scopes.holding(syntax.of("doc")):
        scope.doc = scope.doc or mark.text
    for scope, mark in scopes.holding(syntax.of("base")):
        scope.bases.append(mark.text)
    for role in ("base", "type", "use"):
        for scope, mark in scopes.holding(syntax.of(role)):
            scope.uses.append((mark, role != "use"))
    return scopes


def _nested(source: bytes, syntax: Syntax) -> Scopes:
    comments = Comments(source, syntax.of("comment"), syntax.of("attribute"))
    outermost = Scope("module", "", "", "", 0, len(source) + 1)
    scopes = Scopes(outermost, [], {})
    open_scopes, keys = [outermost], {"": 1}
    for definition in syntax.definitions:
        _leave(open_scopes, definition.start)
        scope = _scope(definition, open_scopes[-1], comments, keys)
        open_scopes.append(scope)
        scopes.inner.append(scope)
        if scope.kind != "impl":  # the name is that of the type
            scopes.by_name.setdefault(scope.qualified, scope)
        if scope.kind not in ("impl", "constructor"):  # inside the class, too, its name is the class
            open_scopes[-2].children.setdefault(scope.name, scope)
    _give_to_owners(scopes)
    return scopes


def _scope(definition: Definition, around: Scope, comments: Comments, keys: dict[str, int]) -> Scope:
    steps = (*(_plain(definition.owner) if definition.owner else ()), *_plain(definition.name))
    path = (around.qualified, *steps)
    kind = definition.kind
    if kind == "function" and (around.is_class or len(steps) > 1):
        kind = "constructor" if steps[-1] in (around.name, *steps[:-1]) else "method"
    qualified = ".".join(filter(None, path))
    start, comment = comments.before(definition.start)
    return Scope(
        kind=kind,
        name=path[-1],
        qualified=qualified,
        key=_unique(qualified, keys),
        start=start,
        end=definition.end,
        definition=definition,
        parent=around,
        comment=comment,
    )


def _plain(name: str) -> Sequence[str]:
    """The steps of a name that may be written with its path: `Store<T>::commit`."""
    name = _ARGUMENTS.sub("", name)
    return [step.strip() for step in name.replace("::", ".").split(".") if step.strip()] or [name]


def _unique(qualified: str, keys: dict[str, int]) -> str:
    """The name itself, and from its second scope on with a number."""
    key = qualified
    while key in keys:
        keys[qualified] += 1
        key = f"{qualified}~{keys[qualified]}"
    keys[key] = 1
    return key


def _give_to_owners(scopes: Scopes) -> None:
    """A method that is written outside its type belongs to it all the same, where the type is in the file."""
    for scope in scopes.inner:
        path = scope.qualified.rpartition(".")[0]
        owner = scopes.by_name.get(path)
        if owner is not None and owner is not scope.parent and owner.is_class and scope.parent is not None:
            owner.children.setdefault(scope.name, scope)
            if not scope.parent.is_class:
                scope.parent.children.pop(scope.name, None)
                scope.parent = owner


def _leave(open_scopes: list[Scope], position: int) -> None:
    while open_scopes[-1].end <= position:
        open_scopes.pop()
