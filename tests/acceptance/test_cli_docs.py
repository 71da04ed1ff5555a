"""What README and docs show is what happens: their console sessions are run, and their output compared."""

import doctest
import re
import shlex
import shutil
from xml.etree import ElementTree

import pytest

from .conftest import ROOT, Cli

SESSION = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ graphmill (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
BUSY = "--project busy"
# A file that a page shows in full: its name on a line of its own, then its text.
FILE = re.compile(r"^`([\w./-]+)`:\n\n````?\w*\n(.*?)^````?$", re.DOTALL | re.MULTILINE)
PAGES = ["README.md", "docs/ingest.md", "docs/ledger.md", "docs/runbook.md"]
LONG_PAGES = ["docs/cli.md", "docs/runs.md", "docs/wikipedia.md"]
FENCED = re.compile(r"^(```+).*?^\1$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [*PAGES, *(pytest.param(page, marks=pytest.mark.long) for page in LONG_PAGES)])
def test_the_sessions_of_the_page_run_as_shown(cli: Cli, page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = [match for session in SESSION.findall(text) for match in COMMAND.finditer(session)]
    assert commands
    shutil.copytree(ROOT / "examples", cli.folder, dirs_exist_ok=True)
    shutil.copy(ROOT / "pipelines" / "wikipedia" / "demo" / "mills.xml", cli.folder)
    _write_files(cli, text)
    seeded = False
    for match in commands:
        # The pages show a project that is being worked on; here it is, as soon as it is asked for.
        if BUSY in match[1] and not seeded:
            cli.seed("kuzu:./graph.kuzu", project="busy")
            seeded = True
        outcome = cli(*shlex.split(match[1]))
        _compare(expected=match[2], happened=outcome.out + _without_progress(outcome.err))


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))])
def test_the_links_of_the_page_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", FENCED.sub("", text)):
        assert ((ROOT / page).parent / target).exists(), target


def test_the_picture_shows_the_whole_session_without_animation_and_needs_nothing_from_outside() -> None:
    text = (ROOT / "examples" / "terminal.svg").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\"' )]+", text)) == {"http://www.w3.org/2000/svg"}
    frames = [frame for frame in ElementTree.fromstring(text) if "frame" in frame.get("class", "")]
    assert [frame for frame in frames if "last" in frame.get("class", "").split()] == [frames[-1]]
    shown = "\n".join(frames[-1].itertext())
    for words in ("kill -9", "Killed", "graphmill query", "embedded", "graphmill search"):
        assert words in shown, words


def _write_files(cli: Cli, text: str) -> None:
    for name, content in FILE.findall(text):
        file = cli.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")


def _without_progress(told: str) -> str:
    """A job tells how far it is every few seconds: a slow machine sees lines that a fast one does not."""
    return "".join(line for line in told.splitlines(keepends=True) if not line.startswith("read "))


def _compare(*, expected: str, happened: str) -> None:
    """Equal but for blanks, and `...` stands for what differs from run to run."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(expected, happened, flags), f"shown:\n{expected}\nhappened:\n{happened}"
