"""What a name that is used in a scope may mean, as wants for `pipelines.files.links`.

It prefers to say nothing: a name that a parameter or variable hides, or a method of a value whose type is not written
down, has no meaning here.
"""

import re
from collections.abc import Iterator

from pipelines.files.code.dialects import Dialect, Place
from pipelines.files.code.names import wants_of_use
from pipelines.files.code.scopes import Scope, Scopes

_STEPS = re.compile(r"\s*(?:\?\.|->|::|\.)\s*")
_NAME = re.compile(r"[^\W\d][\w$]*[!?]?|[$@]\w+")
_MOST_BASES = 20


class Resolution:
    def __init__(self, scopes: Scopes, dialect: Dialect, place: Place) -> None:
        self._scopes = scopes
        self._dialect = dialect
        self._place = place
        self._known: dict[tuple[str, str, bool], tuple[str, ...]] = {}

    def wants(self, scope: Scope, text: str, *, is_type: bool = False) -> tuple[str, ...]:
        if (known := self._known.get((scope.key, text, is_type))) is None:
            path = _path(text)
            known = self._meant(scope, path, is_type) if path else ()
            self._known[scope.key, text, is_type] = known
        return known

    def _meant(self, scope: Scope, path: tuple[str, ...], is_type: bool) -> tuple[str, ...]:
        head, rest = path[0], path[1:]
        if head in self._dialect.own or any(head in level.selves for level in _outwards(scope)):
            return self._member(scope, rest)
        if head in self._dialect.inherited:
            around = _class_around(scope)
            return self._from_bases(around, rest[0]) if around and len(rest) == 1 else ()
        for level in _outwards(scope):
            if level.is_function and head in level.locals:
                return ()
            if (bound := _bound(level, path)) is not None:
                return bound
            if (child := level.children.get(head)) and self._sees(scope, level):
                return self._inside(child, rest)
        return self._unknown(scope, path, is_type)

    def _sees(self, scope: Scope, level: Scope) -> bool:
        """Whether the names in a class are known inside its methods without saying whose they are."""
        return not level.is_class or level is scope or self._dialect.members_in_scope

    def _inside(self, found: Scope, rest: tuple[str, ...]) -> tuple[str, ...]:
        """The farthest that a path leads in this file; other files may lead farther, where they share in it."""
        name, known = found.qualified, 0
        while known < len(rest) and f"{name}.{rest[known]}" in self._scopes.by_name:
            name = f"{name}.{rest[known]}"
            known += 1
        farther: tuple[str, ...] = ()
        if known < len(rest) and found.kind in self._dialect.shared:
            path = (*found.qualified.split("."), *rest)
            farther = self._dialect.elsewhere(path, self._scopes.outermost, self._place)
        return farther if found.kind == "namespace" and name == found.qualified and rest else (*farther, f"#{name}")

    def _member(self, scope: Scope, rest: tuple[str, ...]) -> tuple[str, ...]:
        """Something of the object itself. What is in something of it is not known."""
        owner = _owner(scope)
        if not owner or len(rest) != 1:
            return ()
        if (name := f"{owner}.{rest[0]}") in self._scopes.by_name:
            return (f"#{name}",)
        elsewhere = self._dialect.member_elsewhere(name, scope, self._place)
        around = _class_around(scope)
        return (*elsewhere, *self._from_bases(around, rest[0])) if around else elsewhere

    def _from_bases(self, around: Scope, name: str) -> tuple[str, ...]:
        """A method that a class has from those it extends: in this file however far up, in others one step."""
        wants: dict[str, None] = {}
        coming, seen = [around], {around.key}
        while coming and len(seen) < _MOST_BASES:
            each = coming.pop(0)
            for path in filter(None, map(_path, each.bases)):
                base = self._class_in_file(each, path)
                if base is None:
                    bound = self._meant(each.parent or each, (*path, name), True)
                    wants |= dict.fromkeys(want for want in bound if want.endswith(f".{name}"))
                elif f"{base.qualified}.{name}" in self._scopes.by_name:
                    wants[f"#{base.qualified}.{name}"] = None
                elif base.key not in seen:
                    seen.add(base.key)
                    coming.append(base)
        return tuple(wants)

    def _class_in_file(self, scope: Scope, path: tuple[str, ...]) -> Scope | None:
        for level in _outwards(scope.parent or scope):
            if found := self._scopes.by_name.get(".".join(filter(None, (level.qualified, *path)))):
                return found
        return None

    def _unknown(self, scope: Scope, path: tuple[str, ...], is_type: bool) -> tuple[str, ...]:
        if is_type or len(path) > 1 or not self._dialect.members_in_scope or not (owner := _owner(scope)):
            return self._dialect.elsewhere(path, scope, self._place)
        if path[0] in self._dialect.built_in:
            return ()
        of_object = self._member(scope, path)
        if f"{owner}.{path[0]}" in self._scopes.by_name or not self._dialect.has_functions:
            return of_object
        return tuple(dict.fromkeys((*of_object, *self._dialect.elsewhere(path, scope, self._place))))


def _path(text: str) -> tuple[str, ...] | None:
    """A name with its path; nothing for any other expression."""
    steps = tuple(_STEPS.split(text.replace("super()", "super")))
    return steps if all(map(_NAME.fullmatch, steps)) else None


def _bound(level: Scope, path: tuple[str, ...]) -> tuple[str, ...] | None:
    """By the longest import that the path begins with. What is imported from outside the project means nothing."""
    if not level.bindings:
        return None
    for length in range(len(path), 0, -1):
        if (targets := level.bindings.get(".".join(path[:length]))) is not None:
            return wants_of_use(targets, path[length:])
    return None


def _outwards(scope: Scope) -> Iterator[Scope]:
    level: Scope | None = scope
    while level is not None:
        yield level
        level = level.parent


def _class_around(scope: Scope) -> Scope | None:
    return next((level for level in _outwards(scope) if level.is_class), None)


def _owner(scope: Scope) -> str:
    """The name of the class that a method is of, be the class in this file or not."""
    if around := _class_around(scope):
        return around.qualified
    method = next((level for level in _outwards(scope) if level.is_function and "." in level.qualified), None)
    return method.qualified.rpartition(".")[0] if method else ""
