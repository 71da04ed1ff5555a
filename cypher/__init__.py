"""Every query, by name: `<dialect>/<name>.cypher`, read from the files beside this loader.

In a file `%label%` stands for an identifier and `%[SET |n.%property% = $%property%]%` for one such text per property
(or `%column%` for one per column to return), joined by commas, after what stands before the bar; all of it vanishes
where there is none. In the queries of a migration `%any dirty|n.@ = true%` stands for one such text per name of a mark,
of which one must hold; `%first …%` for the first that has a value, `%each …%` for all of them, and `%part rules%` for
another file. Only names that are plain identifiers get in; values are always parameters.

`Adopted` at the end of a list of labels, `(n:File|Adopted)`, stands for the labels that a migration brought.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).parent
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_QUOTABLE = re.compile(r"[^`'\"\\\x00-\x1f]+")
_NUMBER = re.compile(r"[0-9]{1,9}")
# As an engine itself names them, which may be long: STRUCT(a INT64, b MAP(STRING, DOUBLE[3])).
_TYPE = re.compile(r"[A-Z][A-Za-z0-9_(), \[\]]{0,4000}")
_REPEATED = re.compile(r"%\[(?:([^|\]]*)\|)?(.+?)\]%", re.DOTALL)
_OF_MARKS = re.compile(r"%(any|first|each) (\w+)\|(.+?)%")
_PART = re.compile(r"%part (\w+)%")
_WITH_ADOPTED = re.compile(r"\((\w*):(?:(\w+(?:[:|]\w+)*)([:|]))?Adopted\)")
_ALTERED = re.compile(r"ALTER TABLE (\w+)")
_CREATED = re.compile(r"CREATE\s+(?:CONSTRAINT|INDEX|NODE TABLE|REL TABLE)\s+(?:IF NOT EXISTS\s+)?(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedQuery:
    """A query of the catalogue that people run by name; its first comment lines say what it answers."""

    name: str
    about: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    number: int
    name: str
    statements: tuple[str, ...]

    @property
    def creates(self) -> tuple[str, ...]:
        """The names of the tables, constraints and indexes it makes."""
        return tuple(name for statement in self.statements for name in _CREATED.findall(statement))

    @property
    def alters(self) -> frozenset[str]:
        """The names of the tables that it adds to."""
        return frozenset(name for statement in self.statements for name in _ALTERED.findall(statement))


def is_identifier(name: str) -> bool:
    return _IDENTIFIER.fullmatch(name) is not None


@cache
def load(dialect: str, name: str) -> str:
    return _without_comments((_ROOT / dialect / f"{name}.cypher").read_text(encoding="utf-8"))


@cache
def render(
    dialect: str, name: str, properties: tuple[str, ...] = (), columns: tuple[str, ...] = (), **identifiers: str
) -> str:
    """Fill in the names of a query, or a size; ValueError where one is not a plain identifier or number."""
    for identifier in (*properties, *columns, *identifiers.values()):
        if not is_identifier(identifier) and not _NUMBER.fullmatch(identifier):
            raise ValueError(f"{identifier[:60]!r} is not a name of letters, digits and underscores")
    text = _REPEATED.sub(
        lambda match: _repeat(match.group(1) or "", match.group(2), properties, columns), load(dialect, name)
    )
    return _fill(text, identifiers)


def render_quoted(dialect: str, name: str, columns: tuple[str, ...] = (), **names: str) -> str:
    """Fill in names that stand in quotes in the query; ValueError where one holds a quote or ends the text early."""
    for each in (*columns, *names.values()):
        if not _QUOTABLE.fullmatch(each):
            raise ValueError(f"{each[:60]!r} holds a quote, a backslash or a control character")
    text = _REPEATED.sub(lambda match: _repeat(match.group(1) or "", match.group(2), (), columns), load(dialect, name))
    return _fill(text, names)


def of_marks(dialect: str, name: str, names: Mapping[str, Sequence[str]]) -> str:
    """A query of a migration, with what the marks are called in the graph."""
    text = _PART.sub(lambda match: load(dialect, f"migration/{match[1]}"), load(dialect, f"migration/{name}"))
    return _OF_MARKS.sub(lambda match: _of_names(match[1], match[3], names[match[2]]), text)


def add_column(table: str, column: str, kind: str) -> str:
    """A column of a type as the engine itself names it."""
    return with_type(render("kuzu", "migration/add_column", label=table, column=column), kind)


def add_table(table: str, key: str, kind: str) -> str:
    """A table of nodes with nothing but its key."""
    return with_type(render("kuzu", "migration/add_table", label=table, column=key), kind)


def with_type(text: str, kind: str) -> str:
    """Fill in a type as the engine itself names it."""
    if not _TYPE.fullmatch(kind):
        raise ValueError(f"{kind[:60]!r} is not the name of a type")
    return text.replace("%kind%", kind)


@cache
def with_adopted(text: str, dialect: str, adopted: tuple[str, ...]) -> str:
    """Put the labels that a migration brought into a query.

    A node on a server may have several labels: it goes by the first in the alphabet of those that graphmill knows.
    """
    if "Adopted" not in text:
        return text
    for label in adopted:
        if not is_identifier(label):
            raise ValueError(f"{label[:60]!r} is not a name of letters, digits and underscores")
    separator = "|" if dialect == "neo4j" else ":"
    renamed: dict[str, str] = {}

    def listed(match: re.Match[str]) -> str:
        variable, own = match[1], match[2].split(match[3]) if match[2] else []
        if adopted and dialect == "neo4j" and variable:
            known = ", ".join(f"'{label}'" for label in sorted({*own, *adopted}))
            renamed[f"head(labels({variable}))"] = f"head([each IN [{known}] WHERE each IN labels({variable})])"
        return f"({variable}:{separator.join([*own, *adopted])})"

    if not adopted and re.search(r"\(\w*:Adopted\)", text):
        raise ValueError("the query is about labels that a migration brought, and there are none")
    text = _WITH_ADOPTED.sub(listed, text)
    for plain, several in renamed.items():
        text = text.replace(plain, several)
    return text


def migrations(dialect: str) -> list[Migration]:
    """The numbered schema files in order."""
    return [_migration(path) for path in sorted((_ROOT / dialect / "schema").glob("[0-9]*.cypher"))]


@cache
def asked(dialect: str) -> dict[str, str]:
    """The questions that the program asks, by name."""
    return {
        path.stem: load(dialect, f"asked/{path.stem}") for path in sorted((_ROOT / dialect / "asked").glob("*.cypher"))
    }


def catalogue(dialect: str, adopted: tuple[str, ...] = ()) -> list[NamedQuery]:
    """The queries that people run by name, over graphmill's own labels and those that a migration brought."""
    return [_named(path, dialect, adopted) for path in sorted((_ROOT / dialect / "named").glob("*.cypher"))]


def _repeat(before: str, template: str, properties: Sequence[str], columns: Sequence[str]) -> str:
    placeholder, names = ("%column%", columns) if "%column%" in template else ("%property%", properties)
    return before + ", ".join(template.replace(placeholder, name) for name in names) if names else ""


def _of_names(joined: str, template: str, names: Sequence[str]) -> str:
    for name in names:
        if not is_identifier(name):
            raise ValueError(f"{name[:60]!r} is not a name of letters, digits and underscores")
    texts = [template.replace("@", name) for name in names]
    match joined:
        case "any":
            return f"({' OR '.join(texts) or 'false'})"
        case "first":
            return f"coalesce({', '.join(texts)})" if len(texts) > 1 else "".join(texts) or "null"
    return ", ".join(texts)


def _fill(text: str, identifiers: Mapping[str, str]) -> str:
    for name, identifier in identifiers.items():
        text = text.replace(f"%{name}%", identifier)
    return text


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//")).strip()


def _migration(path: Path) -> Migration:
    number, _, name = path.stem.partition("_")
    text = _without_comments(path.read_text(encoding="utf-8"))
    for include in re.findall(r"%(\w+)%", text):
        text = text.replace(f"%{include}%", _without_comments((path.parent / f"{include}.columns").read_text("utf-8")))
    statements = tuple(statement.strip() for statement in text.split(";") if statement.strip())
    return Migration(number=int(number), name=name, statements=statements)


def _named(path: Path, dialect: str, adopted: tuple[str, ...]) -> NamedQuery:
    text = path.read_text(encoding="utf-8")
    about = " ".join(line.lstrip()[2:].strip() for line in text.splitlines() if line.lstrip().startswith("//"))
    return NamedQuery(name=path.stem, about=about, text=with_adopted(_without_comments(text), dialect, adopted))
