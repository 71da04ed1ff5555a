"""`graphmill query`: a person's own Cypher, or a query of the catalogue by name."""

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import click

from cypher import NamedQuery, catalogue
from graph_stores.errors import Misuse
from graph_stores.model import LONGEST_LEASE, Table, Value
from graph_stores.protocol import Store
from orchestrator.cli.completion import offered, query_names
from orchestrator.cli.failures import did_you_mean
from orchestrator.cli.options import Command, GlobalOptions
from orchestrator.cli.process import is_terminal

# Without a zone it is text: nobody could tell which moment is meant.
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:\d\d)")
_USES_PROJECT = re.compile(r"\$project\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A query of the catalogue, `name`, is also about the labels that a migration brought into the graph."""

    text: str
    name: str | None
    parameters: dict[str, Value]
    write: bool
    timeout: float
    vectors: bool

    async def answer(self, store: Store) -> Table:
        table = await self._answer(store)
        if self.vectors or not table.rows:
            return table
        space = await store.vector_space()
        return without_vectors(table, dimension=space.dimension if space else None)

    async def _answer(self, store: Store) -> Table:
        parameters = dict(self.parameters)
        if _USES_PROJECT.search(self.text):
            parameters.setdefault("project", store.project)
        text = self.text if self.name is None else await named_query(store, self.name)
        if self.name is not None and "$gone" in text:
            parameters = {**await _of_stuck_nodes(store), **parameters}
        return await store.query(text, parameters, write=self.write, timeout=self.timeout)


def without_vectors(table: Table, *, dimension: int | None) -> Table:
    """With a word in place of each vector: the `embedding` of a node, or a list of so many floating-point numbers."""

    def elided(value: Value) -> Value:
        if isinstance(value, Mapping):
            is_node = "_label" in value
            return {
                key: _word(item) if is_node and key == "embedding" and _is_vector(item) else elided(item)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            is_one = len(value) == dimension and _is_vector(value)
            return _word(value) if is_one else [elided(item) for item in value]
        return value

    return replace(table, rows=[[elided(value) for value in row] for row in table.rows])


def _is_vector(value: Value) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(each, float) for each in value)


def _word(vector: Value) -> str:
    return f"<{len(vector):,} numbers>"


async def _of_stuck_nodes(store: Store) -> dict[str, Value]:
    """What the queries about stuck nodes need to know that is not in the graph."""
    from orchestrator.workers import list_gone_owners

    # An embedded engine cannot tell the type of an empty list.
    return {"gone": await list_gone_owners(store) or [""], "longest": int(LONGEST_LEASE)}


def _seconds(_: click.Context, __: click.Parameter, value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise click.BadParameter(f"{value} is not a time above 0 seconds")
    return value


def _pairs(_: click.Context, __: click.Parameter, values: Sequence[str]) -> dict[str, Value]:
    pairs: dict[str, Value] = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not equals or not key.isidentifier():
            raise click.BadParameter(f"{value!r} is not of the form name=value")
        pairs[key] = parse_parameter(text)
    return pairs


@click.command(cls=Command)
@click.argument("cypher", required=False)
@click.option("--name", metavar="NAME", help="Run a query of the catalogue.", shell_complete=offered(query_names))
@click.option("--list", "list_all", is_flag=True, help="Show the catalogue; with -v also the text of each query.")
@click.option("--param", "parameters", metavar="K=V", multiple=True, callback=_pairs, help="Fill in $K. Repeatable.")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@click.option("--vectors", is_flag=True, help="Print vectors in full, and not as <256 numbers>.")
@click.option("--write", is_flag=True, help="Let the query change the graph.")
@click.option(
    "--timeout",
    type=float,
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    callback=_seconds,
    help="Give up after that.",
)
@click.pass_obj
def query(
    options: GlobalOptions,
    cypher: str | None,
    name: str | None,
    list_all: bool,
    parameters: dict[str, Value],
    as_csv: bool,
    vectors: bool,
    write: bool,
    timeout: float,
) -> None:
    """Ask the graph in Cypher.

    Read-only unless --write. With - or nothing, CYPHER is read from standard input. $project is the project's name. A
    value of --param is a time if it looks like 2026-01-01T00:00:00Z, else JSON if it can be, else text; in double
    quotes it is always text.
    """
    if sum((cypher is not None, name is not None, list_all)) > 1:
        raise click.UsageError("give either a query, or --name, or --list")
    if as_csv and options.json:
        raise click.UsageError("choose --json or --csv, not both")
    if list_all:
        _print_catalogue(options)
        return
    from orchestrator.cli.session import with_store

    text = _named(options, name) if name is not None else _given(cypher)
    request = _Request(text=text, name=name, parameters=parameters, write=write, timeout=timeout, vectors=vectors)
    _print(with_store(options, request.answer), as_json=options.json, as_csv=as_csv)


def _print(table: Table, *, as_json: bool, as_csv: bool) -> None:
    if as_json:
        from orchestrator.cli.text import dumps

        click.echo(dumps([dict(zip(table.columns, row, strict=True)) for row in table.rows]))
    elif as_csv:
        from orchestrator.cli.tables import write_csv

        write_csv(table)
    else:
        from orchestrator.cli.tables import print_table

        print_table(table)


def _print_catalogue(options: GlobalOptions) -> None:
    queries = _catalogue(options)
    if options.json:
        from dataclasses import asdict

        from orchestrator.cli.text import dumps

        click.echo(dumps([asdict(each) for each in queries]))
        return
    from orchestrator.cli.tables import print_catalogue

    print_catalogue(queries, options.graphmill, with_texts=options.verbose)


def _catalogue(options: GlobalOptions) -> Sequence[NamedQuery]:
    import graph_stores
    from orchestrator.cli.session import read_settings

    return catalogue(graph_stores.dialect_of(read_settings(options).store))


def _named(options: GlobalOptions, name: str) -> str:
    texts = {each.name: each.text for each in _catalogue(options)}
    if name not in texts:
        near = did_you_mean(name, texts)
        raise Misuse(f"there is no query named {name!r}{near}", hint="see them all with: graphmill query --list")
    return texts[name]


async def named_query(store: Store, name: str) -> str:
    import graph_stores
    from orchestrator.stages import adopted_labels

    queries = catalogue(graph_stores.dialect_of(store.url), tuple(await adopted_labels(store)))
    return next(each.text for each in queries if each.name == name)


def _given(cypher: str | None) -> str:
    if (cypher is None and is_terminal(sys.stdin)) or (cypher in (None, "-") and sys.stdin is None):
        raise click.UsageError("there is no query: give it as an argument, by --name, or on standard input")
    try:
        text = sys.stdin.read() if cypher in (None, "-") else cypher
    except UnicodeDecodeError as cause:
        raise click.UsageError("what came on standard input is not text") from cause
    if not text or not text.strip():
        raise click.UsageError("the query is empty")
    return text


def parse_parameter(text: str) -> Value:
    """A time with its zone, or JSON, or else text."""
    if _TIME.fullmatch(text):
        return _time(text)
    try:
        return json.loads(text, parse_constant=_refused, parse_float=_finite)
    except ValueError:
        return text


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{text} is not a time: {error}; as text it is written '\"{text}\"'") from error


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text)


def _refused(text: str) -> float:
    raise ValueError(f"{text} is not a number that JSON has")
