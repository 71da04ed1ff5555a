"""`graphmill forget`: takes a source out of the graph again."""

import shlex
from typing import TYPE_CHECKING

import click

from graph_stores.errors import Misuse
from orchestrator.cli.options import Command, GlobalOptions
from orchestrator.cli.process import can_ask

if TYPE_CHECKING:
    from graph_stores.protocol import Store
    from orchestrator.files.forget import Forgotten, NotInGraph
    from orchestrator.wikipedia.forget import ForgottenArticles


@click.command(cls=Command)
@click.argument("what", metavar="PATH|ROOT|TITLE")
@click.option("--yes", is_flag=True, help="Do not ask. Needed where there is no terminal to ask on.")
@click.pass_obj
def forget(options: GlobalOptions, what: str, yes: bool) -> None:
    """Remove a source from the graph, with all that came from it.

    A folder or file by its path, or by its name in the graph: ROOT, or ROOT/PATH. The files themselves stay. Of a wiki
    the TITLE of a seed, with all that only it leads to, or the name of the wiki.
    """
    from dataclasses import asdict

    from orchestrator.cli.session import Session
    from orchestrator.cli.text import dumps

    session = Session.begin(options)
    if not yes:
        _confirm(what, session.run(lambda store: _describe(store, what)), options)
    gone, freed = session.run(lambda store: _forget(store, what))
    if options.json:
        click.echo(dumps({**asdict(gone), "freed_bytes": freed}))
    else:
        click.echo(_told(gone) + (f"; {freed / 1e6:,.0f} MB of disk space given back" if freed >= 1e6 else ""))


def _confirm(what: str, described: str, options: GlobalOptions) -> None:
    if options.json or not can_ask():
        command = f"{options.graphmill} forget {shlex.quote(what)} --yes"
        raise Misuse(f"{described} would be removed from the graph", hint=f"to do so: {command}")
    click.confirm(f"remove {described} from the graph?", abort=True, err=True)


async def _describe(store: "Store", what: str) -> str:
    """What would be removed. NotInGraph where there is no such source."""
    from orchestrator.cli.text import printable
    from orchestrator.files.forget import NotInGraph, find
    from orchestrator.wikipedia.forget import is_known

    try:
        found = await find(store, what)
    except NotInGraph as error:
        if not await is_known(store, what):
            raise await _with_wikis(store, error) from None
        return f"{printable(what)}, with all articles that only it leads to,"
    files = f"{len(found.files):,} file{'' if len(found.files) == 1 else 's'} of {printable(found.root.name)}"
    return f"{files}, and the root itself," if found.is_whole else files


async def _forget(store: "Store", what: str) -> "tuple[Forgotten | ForgottenArticles, int]":
    """Where at least half of the graph is gone, its file is made smaller: that costs less than the rest is worth."""
    before = await _count(store)
    gone = await _take_out(store, what)
    left = await _count(store)
    return gone, await store.give_space_back() if before - left >= left else 0


async def _count(store: "Store") -> int:
    return sum(each.count for each in (await store.progress(finished=[], window=0.0)).counts)


async def _take_out(store: "Store", what: str) -> "Forgotten | ForgottenArticles":
    from orchestrator.files.forget import NotInGraph, forget
    from orchestrator.wikipedia.forget import forget_articles

    try:
        return await forget(store, what)
    except NotInGraph as error:
        if (gone := await forget_articles(store, what)) is None:
            raise await _with_wikis(store, error) from None
        return gone


async def _with_wikis(store: "Store", error: "NotInGraph") -> "NotInGraph":
    """The error also about titles, where the project has articles."""
    from orchestrator.files.forget import NotInGraph
    from orchestrator.wikipedia.wikis import read_wikis

    if not (wikis := await read_wikis(store)):
        return error
    return NotInGraph(
        f"{error.message}, and is no title that was expanded from",
        hint=f"{error.hint}; its wikis are: {', '.join(sorted(wikis))}",
    )


def _told(gone: "Forgotten | ForgottenArticles") -> str:
    from orchestrator.cli.text import printable
    from orchestrator.files.forget import Forgotten

    if isinstance(gone, Forgotten):
        files = f"{gone.files:,} file{'' if gone.files == 1 else 's'}"
        return f"forgot {files} of {printable(gone.root)}{', and the root itself' if gone.whole else ''}"
    articles = f"{gone.articles:,} article{'' if gone.articles == 1 else 's'}"
    return f"forgot {articles} of {printable(gone.wiki)}{', and the wiki itself' if gone.whole else ''}"
