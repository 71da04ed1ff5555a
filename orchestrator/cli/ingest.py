"""`graphmill ingest`: from files and folders to a graph with vectors."""

from collections.abc import Sequence
from pathlib import Path

import click

from orchestrator.cli.options import (
    Command,
    GlobalOptions,
    allow_deletes_option,
    embedder_options,
    ledger_options,
    workers_option,
)


@click.command(cls=Command)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--as", "name", metavar="NAME", help="What the one PATH is called in the graph; else its own name.")
@click.option(
    "--include", metavar="PATTERN", multiple=True, help="Only files that match, as in .gitignore. Repeatable."
)
@click.option("--exclude", metavar="PATTERN", multiple=True, help="No files that match, as in .gitignore. Repeatable.")
@click.option(
    "--default-excludes/--no-default-excludes",
    default=None,
    help="Leave out secrets, dependencies, caches, build output and the like; on by default. Remembered.",
)
@click.option(
    "--allow-secrets/--no-allow-secrets",
    default=None,
    help="Read files that hold a private key or a token; off by default. Remembered.",
)
@embedder_options
@workers_option
@click.option(
    "--store-content/--no-store-content",
    default=None,
    help="Keep files in the graph until they are parsed, so that workers on other machines can. Remembered.",
)
@click.option("--rehash", is_flag=True, help="Read every file, also where size and time are unchanged.")
@allow_deletes_option
@click.option("--dry-run", is_flag=True, help="Only tell what would be read, skipped and deleted, and why.")
@click.option("--watch", is_flag=True, help="Go on following changes until stopped.")
@ledger_options
@click.pass_obj
def ingest(
    options: GlobalOptions,
    paths: tuple[Path, ...],
    name: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    default_excludes: bool | None,
    allow_secrets: bool | None,
    embedder: str | None,
    embedder_url: str | None,
    workers: int | None,
    store_content: bool | None,
    rehash: bool,
    allow_deletes: bool,
    dry_run: bool,
    watch: bool,
) -> int:
    """Read files and folders into the graph.

    Only what is new or changed costs anything. What is gone from a folder is deleted from the graph; if that is most of
    the folder, you are asked first. Makes the graph if there is none. Without PATH: the roots of graphmill.toml.
    Stopped or killed, the same command goes on.
    """
    from graph_stores import path_of
    from orchestrator.cli.running import run
    from orchestrator.cli.session import Session
    from orchestrator.files.roots import Source, refuse_graph_itself
    from orchestrator.job import Plan

    session = Session.begin(
        options,
        roots=paths,
        include=include,
        exclude=exclude,
        default_excludes=default_excludes,
        embedder=embedder,
        embedder_url=embedder_url,
        workers=workers,
    )
    settings = session.settings
    _check(settings.roots, name)
    if dry_run and watch:
        raise click.UsageError("--dry-run looks once, --watch goes on: give one of them")
    refuse_graph_itself(settings.roots, path_of(settings.store))
    sources = [
        Source(
            path=path,
            name=name,
            include=settings.include,
            exclude=settings.exclude,
            default_excludes=settings.default_excludes,
            allow_secrets=allow_secrets,
            store_content=store_content,
        )
        for path in settings.roots
    ]
    if dry_run:
        from orchestrator.cli.dry_run import run_dry

        return run_dry(options, session, sources, rehash=rehash, allow_deletes=allow_deletes)
    plan = Plan(
        sources=sources,
        embedder=session.embedder(),
        workers=settings.workers,
        rehash=rehash,
        allow_deletes=allow_deletes,
        watch=watch,
    )
    return run(options, session, plan, create=True, until_stopped=watch)


def _check(roots: Sequence[Path], name: str | None) -> None:
    if not roots:
        raise click.UsageError("there is nothing to read: give a PATH, or roots in graphmill.toml")
    if name is not None and len(roots) > 1:
        raise click.UsageError(f"--as names one PATH, and there are {len(roots)}")
