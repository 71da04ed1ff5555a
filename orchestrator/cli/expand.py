"""`graphmill expand`: from titles outwards over a wiki, into the graph."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from graph_stores.errors import Misuse
from orchestrator.cli.options import (
    Command,
    GlobalOptions,
    allow_deletes_option,
    embedder_options,
    ledger_options,
    workers_option,
)

if TYPE_CHECKING:
    from orchestrator.config import Settings
    from orchestrator.wikipedia.wikis import PageSource

_DEPTH = 1
_BUDGET = 1000


@click.command(cls=Command)
@click.argument("titles", metavar="[TITLE]...", nargs=-1)
@click.option(
    "--titles-file",
    metavar="FILE",
    type=click.File(encoding="utf-8-sig"),
    help="Start from these titles, one a line; - is standard input.",
)
@click.option(
    "--category", "categories", metavar="NAME", multiple=True, help="Start from the members of a category. Repeatable."
)
@click.option(
    "--category-depth",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Also members of sub-categories, so many levels down.  [default: 0]",
)
@click.option("--all", "whole", is_flag=True, help="Read every article of the wiki, without a limit.")
@click.option(
    "--depth",
    metavar="N",
    type=click.IntRange(min=0),
    default=_DEPTH,
    help=f"How many links away from the titles.  [default: {_DEPTH}]",
)
@click.option(
    "--max-articles",
    "budget",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"Read at most N articles.  [default: {_BUDGET:,}]",
)
@click.option(
    "--stubs/--no-stubs",
    default=True,
    help="Keep a stub for each title that is linked to and not read.  [default: stubs]",
)
@click.option("--source", type=click.Choice(["api", "dump"]), help="Where pages come from; dump is implied by --dump.")
@click.option("--api-url", metavar="URL", help="The api.php of any MediaWiki; else that of Wikipedia.")
@click.option("--lang", metavar="LANG", help="Which Wikipedia.  [default: en]")
@click.option(
    "--contact", metavar="WHO", help="Your e-mail address or web page, told to the wiki; Wikimedia requires it."
)
@click.option("--rate", metavar="N", type=click.IntRange(min=1), help="Requests a minute; Wikimedia allows 200.")
@click.option("--dump", "dumps", metavar="FILE", multiple=True, help="A dump, or a pattern of several. Repeatable.")
@allow_deletes_option
@embedder_options
@workers_option
@ledger_options
@click.pass_obj
def expand(
    options: GlobalOptions,
    titles: tuple[str, ...],
    titles_file: TextIO | None,
    categories: tuple[str, ...],
    category_depth: int,
    whole: bool,
    depth: int,
    budget: int | None,
    stubs: bool,
    source: str | None,
    api_url: str | None,
    lang: str | None,
    contact: str | None,
    rate: int | None,
    dumps: tuple[str, ...],
    allow_deletes: bool,
    embedder: str | None,
    embedder_url: str | None,
    workers: int | None,
) -> int:
    """Read articles of Wikipedia, or of any MediaWiki, into the graph.

    Starts from the titles and follows links, level by level. Articles that are in the graph are read again only if they
    changed. Stopped or killed, the same command goes on.
    """
    from orchestrator.cli.running import run
    from orchestrator.cli.session import Session
    from orchestrator.job import Plan
    from orchestrator.wikipedia.order import Category, Order

    session = Session.begin(
        options,
        embedder=embedder,
        embedder_url=embedder_url,
        workers=workers,
        api_url=api_url,
        lang=lang,
        contact=contact,
        rate=rate,
    )
    wanted = [title for each in (*titles, *_lines(titles_file)) if (title := each.strip())]
    _check(wanted, categories, whole=whole, source=source, dumps=dumps)
    if dumps and (api_url or lang):
        raise click.UsageError("--api-url and --lang are not for --dump: a dump says itself of which wiki it is")
    order = Order(
        source=_source(session.settings, dumps),
        is_named=bool(dumps) or session.settings.is_given("api_url") or session.settings.is_given("lang"),
        titles=wanted,
        categories=[Category(name=name, depth=category_depth) for name in categories],
        depth=0 if whole else depth,
        budget=budget if whole else budget or _BUDGET,
        whole=whole,
        keep_stubs=stubs,
    )
    if order.is_named or _is_new(session.settings.store):
        order.source.check()
    plan = Plan(
        expansion=order,
        embedder=session.embedder(),
        workers=session.settings.workers,
        allow_deletes=allow_deletes,
    )
    return run(options, session, plan, create=True, until_stopped=False)


def _lines(file: TextIO | None) -> list[str]:
    try:
        return list(file) if file else []
    except UnicodeDecodeError as cause:
        raise Misuse("the file of titles is not a text file in UTF-8", hint="expected one title a line") from cause


def _check(
    titles: Sequence[str], categories: Sequence[str], *, whole: bool, source: str | None, dumps: Sequence[str]
) -> None:
    if source == "dump" and not dumps:
        raise click.UsageError("there is no dump to read: give --dump FILE")
    if source == "api" and dumps:
        raise click.UsageError("--dump is not for --source api: leave one of them out")
    for title in titles:
        if title.startswith(("http://", "https://")):
            raise click.UsageError(f"{title} is an address: give the title of the article")
        if dumps and Path(title).is_file():
            raise click.UsageError(f"{title} is a file and no title: put a pattern of dumps in quotes")
    if whole and (titles or categories):
        raise click.UsageError("--all takes every article: leave the titles out")
    if not whole and not titles and not categories:
        raise click.UsageError("there is nothing to begin with: give a TITLE, --titles-file, --category, or --all")


def _is_new(store: str) -> bool:
    from graph_stores import path_of

    path = path_of(store)
    return path is not None and not path.exists()


def _source(settings: "Settings", dumps: Sequence[str]) -> "PageSource":
    from orchestrator.wikipedia.wikis import PageSource, SourceKind

    if dumps:
        return PageSource(
            kind=SourceKind.DUMP, location=tuple(str(Path(each).expanduser().absolute()) for each in dumps)
        )
    from pipelines.wikipedia.api import api_url_of

    url = settings.api_url or api_url_of(settings.lang)
    return PageSource(kind=SourceKind.API, location=(url,), contact=settings.contact, rate=settings.rate)
