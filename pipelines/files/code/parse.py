"""Reads a source file into its scopes, the names they go by and what they use.

Nothing of a file is lost: what stands outside every scope becomes a scope of its own, of the kind `module`. A file that
is too large or makes too little sense is refused as TooOdd, to be read as text.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc

from pipelines.files.code.dialects import Dialect, Place, dialect_of
from pipelines.files.code.languages import LANGUAGES
from pipelines.files.code.limits import TooOdd
from pipelines.files.code.names import EVERYTHING, MODULE, Target, wants_of_import
from pipelines.files.code.resolution import Resolution
from pipelines.files.code.scopes import Scope, Scopes, read_scopes
from pipelines.files.code.syntax import Mark, Syntax, read_syntax
from pipelines.files.model import Document, Part, Reference, ReferenceKind, file_alias

__all__ = ["TooOdd", "parse_code"]

LONGEST_SIGNATURE = 400
LONGEST_SHOWN = 80

_WORD = re.compile(rb"[\w\x80-\xff]")
_BLANK_LINES = re.compile(rb"\A(?:[ \t]*\r?\n)*")
_SPACES = re.compile(r"\s+")
_STRING = re.compile(r"(?s)[a-zA-Z]*(\"\"\"|'''|\"|')(.*)\1")
_END_OF_SIGNATURE = re.compile(r"\s*(?:[{:;=]|=>|;?\s*\bend)\s*$")


@dataclass(frozen=True, slots=True)
class _Text:
    """Bytes, and which line each of them is on."""

    source: bytes
    breaks: list[int]

    @classmethod
    def of(cls, source: bytes) -> "_Text":
        return cls(source, [found.start() for found in re.finditer(b"\n", source)])

    def line(self, position: int) -> int:
        return bisect_left(self.breaks, position) + 1

    def between(self, start: int, end: int) -> str:
        return self.source[start:end].decode(errors="replace")


def parse_code(path: str, text: str, language: str) -> Document:
    source = text.encode(errors="replace")
    syntax = read_syntax(source, language)
    dialect, place, scopes = dialect_of(language), Place(path=path, source=source), read_scopes(source, syntax)
    dialect.look_around(place, syntax)
    return _File(_Text.of(source), syntax, scopes, dialect, place, language).document()


@dataclass(frozen=True, slots=True)
class _File:
    """Everything that is known of a file, on its way to a document."""

    text: _Text
    syntax: Syntax
    scopes: Scopes
    dialect: Dialect
    place: Place
    language: str

    def document(self) -> Document:
        imported, forwards = self._read_imports()
        resolution = Resolution(self.scopes, self.dialect, self.place)
        parts = [self._part(scope, resolution, imported) for scope in self.scopes.inner]
        return Document(
            mime_type=LANGUAGES[self.language].mime_type,
            language=self.language,
            parts=[*self._module(resolution, imported), *parts],
            aliases=(file_alias(self.place.path), *self.dialect.aliases(self.place, self.scopes)),
            forwards=self.dialect.forwards(self.place, self.syntax, self.scopes) | forwards,
        )

    def _read_imports(self) -> tuple[dict[str, list[Reference]], dict[str, tuple[str, ...]]]:
        """Makes imported names known in their scopes. The references of imports by scope, and what is passed on."""
        imported: dict[str, list[Reference]] = {}
        forwards: dict[str, tuple[str, ...]] = {}
        nodes = {node.start_byte: node for node in self.syntax.imports}
        marks = [Mark(start, nodes[start].end_byte, "") for start in sorted(nodes)]
        for scope, mark in self.scopes.holding(marks):
            for binding in self.dialect.bindings(nodes[mark.start], scope, self.place):
                if binding.local not in ("", EVERYTHING):
                    scope.bind(binding.local, binding.targets)
                    scope.locals.discard(binding.local)
                if binding.exported and scope.parent is None and "." not in binding.local:
                    wants = _passed_on(binding.local, binding.targets)
                    forwards[binding.local] = tuple(dict.fromkeys(forwards.get(binding.local, ()) + wants))
                if binding.used and (wants := wants_of_import(binding.targets)):
                    imported.setdefault(scope.key, []).append(self._reference(mark, wants))
        return imported, forwards

    def _module(self, resolution: Resolution, imported: dict[str, list[Reference]]) -> Iterator[Part]:
        """What stands outside every scope, if that is more than brackets."""
        outermost, pieces = self.scopes.outermost, list(self._outside())
        if not pieces:
            return
        yield Part(
            label="Scope",
            key="",
            name=self.dialect.module_name(self.place),
            content="\n".join(self.text.between(start, end) for start, end in pieces),
            start_line=self.text.line(pieces[0][0]),
            end_line=self.text.line(pieces[-1][1] - 1),
            properties={
                "kind": outermost.kind,
                "signature": None,
                "docstring": _docstring(outermost, self.dialect),
                "language": self.language,
            },
            names=(MODULE,),
            references=self._references(outermost, resolution, imported),
        )

    def _outside(self) -> Iterator[tuple[int, int]]:
        """The bytes of each piece of text between the outer scopes; of all there is, if no piece has a word in it."""
        source, position, words = self.text.source, 0, False
        ends = [(scope.start, scope.end) for scope in self.scopes.inner]
        for start, end in [*ends, (len(source), len(source))]:
            if start >= position:
                piece = source[position:start]
                if _WORD.search(piece):
                    words = True
                    yield start - len(_BLANK_LINES.sub(b"", piece, count=1)), position + len(piece.rstrip())
            position = max(position, end)
        if not words and not ends and source.strip():
            yield 0, len(source.rstrip())

    def _part(self, scope: Scope, resolution: Resolution, imported: dict[str, list[Reference]]) -> Part:
        return Part(
            label="Scope",
            key=scope.key,
            name=scope.name,
            content=self.text.between(scope.start, scope.end),
            start_line=self.text.line(scope.start),
            end_line=self.text.line(scope.end - 1),
            parent=scope.parent.key if scope.parent is not None and scope.parent.parent is not None else None,
            properties={
                "kind": scope.kind,
                "signature": self._signature(scope),
                "docstring": _docstring(scope, self.dialect),
                "language": self.language,
            },
            names=self._names(scope),
            references=self._references(scope, resolution, imported),
        )

    def _names(self, scope: Scope) -> tuple[str, ...]:
        own = (scope.qualified,) if self.scopes.by_name.get(scope.qualified) is scope else ()
        return own + self.dialect.extra_names(scope, self.place)

    def _signature(self, scope: Scope) -> str:
        definition = scope.definition
        assert definition is not None
        words = self.text.between(definition.head, definition.body)
        if definition.body < definition.name_at:  # typedef struct { … } name
            words += definition.name
        return _END_OF_SIGNATURE.sub("", _SPACES.sub(" ", words).strip())[:LONGEST_SIGNATURE]

    def _references(
        self, scope: Scope, resolution: Resolution, imported: dict[str, list[Reference]]
    ) -> tuple[Reference, ...]:
        used = (
            self._reference(mark, wants)
            for mark, is_type in sorted(scope.uses, key=lambda use: use[0].start)
            if (wants := resolution.wants(scope, mark.text, is_type=is_type))
        )
        return (*imported.get(scope.key, ()), *used)

    def _reference(self, mark: Mark, wants: tuple[str, ...]) -> Reference:
        return Reference(
            kind=ReferenceKind.USE,
            wants=wants,
            shown=self.text.between(mark.start, min(mark.end, mark.start + LONGEST_SHOWN)),
            line=self.text.line(mark.start),
        )


def _passed_on(local: str, targets: tuple[Target, ...]) -> tuple[str, ...]:
    return tuple(target.alias if local == EVERYTHING else target.want() for target in targets)


def _docstring(scope: Scope, dialect: Dialect) -> str | None:
    """As the language has it inside the scope, or as the comment before it says."""
    if scope.doc is None:
        return scope.comment if dialect.comments_document else None
    doc = scope.doc.replace("\r\n", "\n")
    literal = _STRING.fullmatch(doc)
    return cleandoc(literal[2] if literal else doc).strip() or None
