"""`graphmill demo`: the whole of graphmill on a small wiki that ships with it, offline."""

import shlex
import shutil
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path

import click

from graph_stores.errors import Misuse
from orchestrator.cli.options import Command, GlobalOptions

WIKI = "mills.xml"
DOCS = "docs"
STORE = "kuzu:./graph.kuzu"


@click.command(cls=Command)
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.pass_obj
def demo(options: GlobalOptions, folder: Path | None) -> int:
    """Show what graphmill does, on a small wiki that comes with it.

    Works offline and takes less than half a minute. Wiki, docs and graph are put into FOLDER, or else into a new
    folder for temporary files, and stay there.
    """
    if options.store or options.project or options.config:
        raise click.UsageError("the demo makes a graph of its own: leave out --store, --project and --config")
    from orchestrator.cli.show import Show, play
    from orchestrator.cli.text import dumps

    began = time.monotonic()
    place = _prepared(folder or Path(tempfile.mkdtemp(prefix="graphmill-demo-")))
    show = Show(folder=place, out=sys.stderr if options.json else sys.stdout)
    if code := play(show, wiki=WIKI, docs=DOCS, store=STORE):
        return code
    seconds = round(time.monotonic() - began, 1)
    if options.json:
        click.echo(dumps({"folder": str(place), "commands": show.ended, "seconds": seconds}))
    else:
        click.echo(_what_next(place, seconds))
    return 0


def _prepared(folder: Path) -> Path:
    """The folder, with everything in it that the demo reads."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not (folder / WIKI).exists():
            raise Misuse(f"there are other things in {folder}", hint="give the demo an empty folder, or a new one")
        _fill(folder.resolve())
    except OSError as cause:
        raise Misuse(
            f"the demo cannot use {folder}: {cause.strerror}", hint="give it a folder that you may write to"
        ) from cause
    return folder.resolve()


def _fill(folder: Path) -> None:
    from orchestrator.config import FILE_NAME

    # The nearest settings count: without these it would be those of a folder above.
    (folder / FILE_NAME).write_text(f'store = "{STORE}"\nembedder = "wordllama"\n', encoding="utf-8")
    with resources.as_file(resources.files("pipelines.wikipedia") / "demo" / WIKI) as wiki:
        shutil.copyfile(wiki, folder / WIKI)
    if docs := _docs():
        shutil.copytree(docs, folder / DOCS, dirs_exist_ok=True)


def _docs() -> Path | None:
    """A wheel has them inside the package, a checkout beside it."""
    package = Path(__file__).parents[1]
    if (package / DOCS).is_dir():
        return package / DOCS
    # What lies beside an installed package belongs to others.
    return package.parent / DOCS if (package.parent / "pyproject.toml").exists() else None


def _what_next(folder: Path, seconds: float) -> str:
    return f"""
That took {seconds} s. The graph is in {folder / "graph.kuzu"}. What to type next:
  cd {shlex.quote(str(folder))}
  graphmill search 'what turns the mill into the wind by itself'
  graphmill query --list                    # questions that come with graphmill
  graphmill expand --all --dump {WIKI}   # the same wiki from its file: only what is not there yet is read
  graphmill ingest A-FOLDER-OF-YOURS
  graphmill expand 'Machine learning' --max-articles 100 --contact YOUR-MAIL-ADDRESS"""
