"""What a file is read into: its parts, the names they go by, and what they refer to.

Pure data, the same for every format. Which node a name means is found elsewhere (`pipelines.files.links`), because it
depends on every other file; here a file only says what it is called and whom it calls.

An alias is a name of a file in its root, with the space it belongs to before a colon: `file:docs/guide.md` for links,
`python:pkg.module` for code. A local name is a name of a part inside its file: the slug `install` of a section, the
qualified name `Store.commit` of a scope. A want is an alias, `alias#local`, or `#local` for the file itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pipelines.sending import quickly_sent


class ReferenceKind(StrEnum):
    """The relationship that a reference becomes."""

    LINK = "LINKS_TO"
    USE = "CONSUMES"


@quickly_sent
@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """`wants` are the names it may mean, best first. One that no name fulfils is broken: `shown` is kept of a link."""

    kind: ReferenceKind
    wants: tuple[str, ...]
    shown: str
    line: int


@quickly_sent
@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a file that becomes a node. `key` names it among those of its label, whatever else changes.

    `parent` is the key of the part of the same label that it stands in.
    """

    label: str
    key: str
    name: str
    content: str
    start_line: int
    end_line: int
    parent: str | None = None
    properties: Mapping[str, str | int | None] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """`forwards` are local names that stand for something of another file: what a module imports, others can import."""

    mime_type: str
    language: str | None = None
    parts: Sequence[Part] = ()
    aliases: tuple[str, ...] = ()
    references: tuple[Reference, ...] = ()
    forwards: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def file_alias(path: str) -> str:
    """The alias under which links find a file; in a want the first `#` is where the local name begins."""
    return f"file:{path.replace('#', '%23')}"


class CannotRead(Exception):
    """The file is left out, and this is why: it is binary, too large, or encrypted."""
