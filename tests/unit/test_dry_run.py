"""What a dry run tells a person: counts first, and short lists however many files there are."""

from orchestrator.cli.dry_run import document, sentences
from orchestrator.cli.options import GlobalOptions
from orchestrator.files.preview import Preview, Skipped
from orchestrator.runs.sources import MassDeletion

MANY = [f"{number}.md" for number in range(10_000)]
OPTIONS = GlobalOptions(project="p", arguments=("ingest", "notes", "--dry-run", "--project", "p"))


def test_counts_come_first_and_lists_are_short_unless_all_is_asked_for() -> None:
    maps = [Skipped(path=f"{number}.js.map", reason="source map (*.js.map)") for number in range(981)]
    found = Preview(new=MANY, unchanged=3, skipped=[Skipped(path=".env", reason="secret (.env)"), *maps])
    lines = sentences(found, OPTIONS)
    assert lines[0] == "10,000 new, 0 changed, 0 deleted, 3 unchanged, 982 skipped (dry run: nothing was written)"
    assert lines[1:3] == ["new:", "  0.md"] and lines[22] == "  … and 9,980 more (all: -v or --json)"
    assert lines[23:] == [
        "skipped:",
        "  981  source map (*.js.map): 0.js.map, 1.js.map, 2.js.map and 978 more",
        "  1  secret (.env): .env",
    ]
    everything = sentences(found, GlobalOptions(verbose=True))
    assert len(everything) == 1 + 1 + 10_000 + 1 + 982
    assert "  .env  secret (.env)" in everything


def test_a_refusal_is_told_with_the_command_that_allows_it() -> None:
    refusal = MassDeletion("11 files are gone", command=("ingest", "/notes"))
    found = Preview(deleted=["a.md"], refusals=[refusal])
    assert sentences(found, OPTIONS)[-2:] == [
        "the run would be refused: 11 files are gone",
        "  bring them back and run it again; to delete them from the graph:"
        " graphmill --project p ingest notes --allow-deletes",
    ]
    assert document(found)["refused"] == ["11 files are gone"]
