"""What is remembered of a file between two readings: its parts, the names it goes by, and what it wants of others.

Kept as JSON on the file's node, twice at most: as it was linked, and as it was parsed since. From the first the edges
between files are found (`pipelines.files.links`), from the difference of both what an edit changed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from pipelines.files.identity import part_uuid
from pipelines.files.model import Document, Part, Reference, ReferenceKind
from pipelines.sending import quickly_sent

_HASH_BYTES = 10


@quickly_sent
@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part in short. `text` changes with what is embedded, `shown` with any property of its node.

    `fresh` says that the node is parsed and waits to be linked.
    """

    label: str
    key: str
    uuid: str
    text: str
    shown: str
    index: int
    parent: str | None
    names: tuple[str, ...]
    references: tuple[Reference, ...]
    fresh: bool = True


@quickly_sent
@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`skip` is the reason why there is nothing to read in the file."""

    aliases: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    forwards: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pieces: Sequence[Piece] = ()
    skip: str | None = None

    @property
    def names(self) -> dict[str, Piece]:
        """The parts by their local names; of two with one name, the first."""
        return {name: piece for piece in reversed(self.pieces) for name in piece.names}


def manifest_of(document: Document, file: str) -> Manifest:
    return Manifest(
        aliases=document.aliases,
        references=document.references,
        forwards=document.forwards,
        pieces=[_piece(part, index, file) for index, part in enumerate(document.parts)],
    )


def dump(manifest: Manifest) -> str:
    kinds = tuple(ReferenceKind)
    document = [
        list(manifest.aliases),
        [_reference(each, kinds) for each in manifest.references],
        {name: list(wants) for name, wants in manifest.forwards.items()},
        [
            [
                piece.label,
                piece.key,
                piece.text,
                piece.shown,
                piece.parent,
                list(piece.names),
                [_reference(each, kinds) for each in piece.references],
                piece.fresh,
            ]
            for piece in manifest.pieces
        ],
        manifest.skip,
    ]
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def load(text: str, file: str) -> Manifest:
    kinds = tuple(ReferenceKind)
    aliases, references, forwards, pieces, skip = json.loads(text)
    return Manifest(
        aliases=tuple(aliases),
        references=tuple(_loaded(each, kinds) for each in references),
        forwards={name: tuple(wants) for name, wants in forwards.items()},
        pieces=[
            Piece(
                label=label,
                key=key,
                uuid=part_uuid(file, label, key),
                text=text,
                shown=shown,
                index=index,
                parent=parent,
                names=tuple(names),
                references=tuple(_loaded(each, kinds) for each in references),
                fresh=fresh,
            )
            for index, (label, key, text, shown, parent, names, references, fresh) in enumerate(pieces)
        ],
        skip=skip,
    )


def text_hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).hexdigest()


def _piece(part: Part, index: int, file: str) -> Piece:
    shown = [part.name, part.start_line, part.end_line, *(f"{key}={part.properties[key]}" for key in part.properties)]
    return Piece(
        label=part.label,
        key=part.key,
        uuid=part_uuid(file, part.label, part.key),
        text=text_hash(part.content),
        shown=text_hash(json.dumps(shown)),
        index=index,
        parent=part.parent,
        names=part.names,
        references=part.references,
    )


def _reference(reference: Reference, kinds: tuple[ReferenceKind, ...]) -> list[object]:
    return [kinds.index(reference.kind), list(reference.wants), reference.shown, reference.line]


def _loaded(row: Sequence[object], kinds: tuple[ReferenceKind, ...]) -> Reference:
    kind, wants, shown, line = row
    assert isinstance(kind, int) and isinstance(wants, list) and isinstance(shown, str) and isinstance(line, int)
    return Reference(kind=kinds[kind], wants=tuple(wants), shown=shown, line=line)
