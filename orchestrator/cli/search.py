"""`graphmill search`: the nodes whose text is nearest to what is asked."""

from typing import TYPE_CHECKING

import click

from orchestrator.cli.completion import text_labels
from orchestrator.cli.options import Command, GlobalOptions, embedder_options, label_option

if TYPE_CHECKING:
    from graph_stores.protocol import Store
    from orchestrator.search import Found


@click.command(cls=Command)
@click.argument("words", metavar="TEXT", nargs=-1, required=True)
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), default=10, show_default=True, help="Show at most N results."
)
@label_option(text_labels)
@click.option(
    "--min-score",
    metavar="X",
    type=click.FloatRange(-1, 1),
    help="Only results with at least this score; 1 is identical.",
)
@click.option(
    "--hops", metavar="N", type=click.IntRange(0, 3), default=0, help="Also show what is connected, up to N steps away."
)
@embedder_options
@click.pass_obj
def search(
    options: GlobalOptions,
    words: tuple[str, ...],
    limit: int,
    labels: tuple[str, ...],
    min_score: float | None,
    hops: int,
    embedder: str | None,
    embedder_url: str | None,
) -> None:
    """Find texts by what they mean.

    Shows the texts nearest to TEXT, best first, each with its score, place and a snippet. Works while a job runs, and
    finds what is ready. TEXT is embedded with the graph's own model unless --embedder says otherwise.
    """
    text = " ".join(words)
    if not text.strip():
        raise click.UsageError("there is nothing to search for: TEXT is empty")
    from orchestrator.cli.session import Session
    from orchestrator.cli.text import dumps
    from orchestrator.search import search as nearest

    session = Session.begin(options, embedder=embedder, embedder_url=embedder_url)

    async def answer(store: "Store") -> "tuple[list[Found], bool]":
        from pipelines.embedding import open_embedder

        model = await open_embedder(await session.embedder_of(store))
        if model is None:
            raise click.UsageError("the embedder none makes no vectors to search with; name another with --embedder")
        try:
            found = await nearest(store, model, text, limit=limit, labels=labels, min_score=min_score, hops=hops)
            return found, bool(found) or await _is_any_text_ready(store)
        finally:
            await model.close()

    found, is_any_ready = session.run(answer)
    if options.json:
        click.echo(dumps([each.document() for each in found]))
        return
    from orchestrator.cli.listings import print_found

    nothing = "no text is near enough" if is_any_ready else f"no text is ready yet; see: {options.graphmill} status"
    print_found(found, nothing=nothing)


async def _is_any_text_ready(store: "Store") -> bool:
    from graph_stores.model import Select
    from orchestrator.stages import TEXTS
    from orchestrator.states import State

    return bool(await store.nodes(Select(labels=TEXTS, states=[State.READY.value], limit=1)))
