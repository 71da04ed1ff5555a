"""`graphmill init`: make the graph, or bring it up to date."""

from typing import TYPE_CHECKING, Any

import click

from graph_stores.protocol import SchemaStatus
from orchestrator.cli.options import Command, GlobalOptions

if TYPE_CHECKING:
    from orchestrator.cli.session import Session


@click.command(cls=Command)
@click.option("--recover", is_flag=True, help="First go back to the last commit that can be read; keeps a backup.")
@click.pass_obj
def init(options: GlobalOptions, recover: bool) -> None:
    """Create the graph, or bring an older one up to date.

    Creates schema, constraints and indexes, and repairs what is missing. Safe to repeat.
    """
    import graph_stores
    from orchestrator.cli import stopping
    from orchestrator.cli.session import Session
    from orchestrator.cli.text import dumps

    session = Session.begin(options)
    recovered: dict[str, Any] = {}
    if recover:
        lost, backup = graph_stores.recover(session.settings.store)
        recovered = {"lost_commits": lost, "before_recovery": str(backup) if backup else None}
    document = {**stopping.run(_migrate(session), as_json=options.json), **recovered}
    if options.json:
        click.echo(dumps(document))
        return
    click.echo(f"{_sentence(document)}\nnext: {options.graphmill} ingest PATH")


async def _migrate(session: "Session") -> dict[str, Any]:
    async with session.store(create=True) as store:
        before = await store.schema()
        after = await store.migrate()
    return {
        "store": store.url,
        "projectId": store.project,
        "did": _deed(before),
        "schema_before": before.found,
        "schema": after.found,
        "backup": after.backup,
        "repaired": list(before.missing) if before.found == before.newest else [],
    }


def _deed(before: SchemaStatus) -> str:
    if before.found is None:
        return "created"
    if before.found < before.newest:
        return "upgraded"
    return "repaired" if before.missing else "nothing"


def _sentence(document: dict[str, Any]) -> str:
    store, version = document["store"], document["schema"]
    backup = f"\nthe graph as it was before: {document['backup']}" if document["backup"] else ""
    if before := document.get("before_recovery"):
        lost = document["lost_commits"]
        commits = "the last commit" if lost == 1 else f"the last {lost:,} commits"
        without = f" without {commits}, which could not be read" if lost else ""
        return f"recovered {store}{without}\nthe files as they were: {before}" + backup
    told = {
        "created": f"created {store} (schema {version})",
        "upgraded": f"upgraded {store} from schema {document['schema_before']} to {version}" + backup,
        "repaired": f"repaired {store}: {', '.join(document['repaired'])}" + backup,
        "nothing": f"{store} is up to date (schema {version}): nothing to do" + backup,
    }
    return told[document["did"]]
