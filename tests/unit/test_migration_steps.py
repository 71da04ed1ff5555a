"""What `migrate` prints as the next step can be typed as it is: with every option that the step depends on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graph_stores.legacy import Moved
from orchestrator.cli.migration_tables import NextSteps, print_outcome
from orchestrator.migration.marks import Marks
from orchestrator.migration.report import Outcome

GRAPHMILL = "graphmill --store bolt://host:7687 --project 'a b'"
STEPS = NextSteps(
    graphmill=GRAPHMILL,
    given={"--mapping": Path("my marks.toml"), "--embedding-model": "openai:fake", "--retry-empty": True},
)
OUTCOME = Outcome(
    store="bolt://host:7687",
    moved=[Moved(rule="7-vectors-complete", label="Scope", to="ready", count=23)],
    model="openai:fake",
    dimension=8,
    kept=23,
    projects={"a b": 20, "other": 3},
    home="a b",
)


def test_a_step_repeats_the_options_that_it_depends_on() -> None:
    assert STEPS.migrate("apply") == (
        f"{GRAPHMILL} migrate apply --mapping 'my marks.toml' --embedding-model openai:fake --retry-empty"
    )
    assert STEPS.migrate("validate") == f"{GRAPHMILL} migrate validate --mapping 'my marks.toml'"
    assert STEPS.migrate("rollback") == f"{GRAPHMILL} migrate rollback"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see: graphmill migrate detect", f"see: {STEPS.migrate('detect')}"),
        ("go back with migrate rollback", f"go back with {GRAPHMILL} migrate rollback"),
        (
            "put back the others: graphmill migrate rollback --accept-losses",
            f"put back the others: {GRAPHMILL} migrate rollback --accept-losses",
        ),
        ("name it for migrate plan --mapping FILE.toml", f"name it for {GRAPHMILL} migrate plan --mapping FILE.toml"),
        ("what you migrate is yours", "what you migrate is yours"),
    ],
)
def test_commands_in_a_hint_become_those_to_be_typed(text: str, shown: str) -> None:
    assert STEPS.in_text(text) == shown


def test_what_is_printed_says_what_is_kept_where_the_nodes_are_and_what_to_do_next(capsys: Any) -> None:
    print_outcome("apply", OUTCOME, STEPS)
    said = capsys.readouterr().out
    assert "23 vectors kept: openai:fake, 8 numbers" in said
    assert f"23 nodes moved, into the projects a b (20), other (3); next: {STEPS.migrate('validate')}" in said
    assert f"see them: {GRAPHMILL} --project other status" in said
    print_outcome("plan", replace(OUTCOME, model=None, kept=0, would_keep=[(None, 23), ("gemini:m", 4)]), STEPS)
    said = capsys.readouterr().out
    assert "23 vectors would be kept with --embedding-model PROVIDER:MODEL" in said
    assert "4 vectors would be kept with --embedding-model gemini:m" in said
    print_outcome("validate", OUTCOME, STEPS)
    assert (
        f"next: {GRAPHMILL} worker --drain, {GRAPHMILL} --project other worker --drain, then" in capsys.readouterr().out
    )


def test_marks_come_back_from_what_is_remembered_of_them() -> None:
    marks = replace(Marks(), state=("status",), words={"todo": "pending"})
    assert Marks.load(marks.dump()) == marks
