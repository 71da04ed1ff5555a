"""`graphmill ingest --dry-run`: what a run would do, in counts and short lists, or as one document."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import click

from graph_stores import check_schema, path_of
from graph_stores.errors import StoreNotFound
from graph_stores.protocol import Store
from orchestrator.cli import stopping
from orchestrator.cli.options import GlobalOptions
from orchestrator.cli.running import is_to_be_made
from orchestrator.cli.session import Session
from orchestrator.cli.text import dumps, printable
from orchestrator.files.preview import Preview, preview
from orchestrator.files.roots import Source
from orchestrator.runs.sources import ALLOW, listed

_SHOWN = 20


def run_dry(
    options: GlobalOptions, session: Session, sources: Sequence[Source], *, rehash: bool, allow_deletes: bool
) -> int:
    """Tell what the run would do; returns the exit code. Writes nothing, and makes no graph where there is none."""
    own = path_of(session.settings.store)

    async def look(store: Store | None) -> Preview:
        return await preview(store, sources, own=own, rehash=rehash, allow_deletes=allow_deletes)

    async def ask() -> Preview:
        try:
            store = await session.open(share=True)
        except StoreNotFound:
            return await look(None)
        try:
            status = await store.schema()
            if await is_to_be_made(store, status):
                return await look(None)
            check_schema(status, store.url)
            return await look(store)
        except StoreNotFound:
            return await look(None)
        finally:
            await store.close()

    found = stopping.run(ask(), as_json=options.json)
    if options.json:
        click.echo(dumps(document(found)))
    else:
        click.echo("\n".join(sentences(found, options)))
    return 0


def document(found: Preview) -> dict[str, Any]:  # Any: JSON
    return {
        "new": found.new,
        "changed": found.changed,
        "deleted": found.deleted,
        "unchanged": found.unchanged,
        "skipped": [{"path": each.path, "reason": each.reason} for each in found.skipped],
        "refused": [each.message for each in found.refusals],
    }


def sentences(found: Preview, options: GlobalOptions) -> list[str]:
    counts = {
        "new": len(found.new),
        "changed": len(found.changed),
        "deleted": len(found.deleted),
        "unchanged": found.unchanged,
        "skipped": len(found.skipped),
    }
    most = None if options.verbose else _SHOWN
    lines = [f"{', '.join(f'{count:,} {what}' for what, count in counts.items())} (dry run: nothing was written)"]
    for what, paths in (("new", found.new), ("changed", found.changed), ("deleted", found.deleted)):
        lines += _listed(what, [printable(path) for path in paths], most)
    lines += _listed("skipped", list(_reasons(found, verbose=options.verbose)), most)
    for refusal in found.refusals:
        lines.append(f"the run would be refused: {printable(refusal.message)}")
        lines.append(f"  {refusal.instead}; to delete them from the graph: {_without_dry_run(options)}")
    return lines


def _listed(title: str, lines: Sequence[str], most: int | None) -> list[str]:
    if not lines:
        return []
    more = [f"  … and {len(lines) - most:,} more (all: -v or --json)"] if most and len(lines) > most else []
    return [f"{title}:", *(f"  {line}" for line in lines[:most]), *more]


def _reasons(found: Preview, *, verbose: bool) -> Iterator[str]:
    """Most frequent first: what is skipped, by reason."""
    paths: dict[str, list[str]] = defaultdict(list)
    for each in found.skipped:
        paths[each.reason].append(each.path)
    for reason, some in sorted(paths.items(), key=lambda item: (-len(item[1]), item[0])):
        if verbose:
            yield from (printable(f"{path}  {reason}") for path in some)
        else:
            yield printable(f"{len(some):,}  {reason}: {listed(some)}")


def _without_dry_run(options: GlobalOptions) -> str:
    return options.again(ALLOW).replace(" --dry-run", "")
