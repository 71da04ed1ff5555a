"""What README and docs show is what happens: their console sessions are run, and their output compared."""

import doctest
import re
import shlex

import pytest

from .conftest import ROOT, Cli

SESSION = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ graphmill (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md"])
def test_the_sessions_of_the_page_run_as_shown(cli: Cli, page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = [match for session in SESSION.findall(text) for match in COMMAND.finditer(session)]
    assert commands
    for match in commands:
        outcome = cli(*shlex.split(match[1]))
        _compare(expected=match[2], happened=outcome.out + outcome.err)
        # The pages show a graph that is being worked on; here the work is done as soon as there is a graph.
        if outcome.out.startswith("created "):
            cli.seed("kuzu:./graph.kuzu")


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md"])
def test_the_links_of_the_page_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert ((ROOT / page).parent / target).exists(), target


def _compare(*, expected: str, happened: str) -> None:
    """Equal but for blanks, and `...` stands for what differs from run to run."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(expected, happened, flags), f"shown:\n{expected}\nhappened:\n{happened}"
