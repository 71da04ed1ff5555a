"""`graphmill ingest` and `worker`: from a folder to a graph, what is told on the way, and what goes wrong."""

import re
from pathlib import Path

import pytest

from .conftest import Cli
from .embedding_server import EmbeddingServer

STATUS = {"store", "projectId", "total", "states", "labels", "errors", "in_flight", "stuck", "rate_per_second"}
DEEDS = {"read", "parsed", "embedded", "unchanged", "deleted", "seconds"}
MAKE = """
import kuzu
kuzu.Connection(kuzu.Database("graph.kuzu")).execute("CREATE NODE TABLE Thing(id INT64 PRIMARY KEY)")
"""
LOWER = "MATCH (m:GraphmillMeta {key: 'schema'}) SET m.number = 1"


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.fixture
def notes(cli: Cli) -> Cli:
    """`graphmill` beside a folder of notes."""
    write(
        cli.folder,
        {
            "notes/mill.md": "# Mill\n\nThe stone turns grain into flour.\n\n## Wind\n\nSails turn the shaft.\n",
            "notes/bake.md": "# Bakery\n\nFlour becomes bread, see [the mill](mill.md#wind).\n",
            "notes/stone.bin": b"\x00\x01\xff",
        },
    )
    return cli


def test_a_folder_becomes_a_graph_and_the_second_time_nothing_is_done(notes: Cli) -> None:
    first = notes("ingest", "notes")
    assert first.code == 0, first.err
    lines = first.out.splitlines()
    assert re.fullmatch(r"3 files read; 3 texts embedded in \d+\.\d s", lines[0])
    assert lines[1] == "1 file without text (see: graphmill query --name skipped):"
    assert lines[2].startswith("  1  binary")
    assert re.fullmatch(r'\d nodes ready; next: graphmill search "…"', lines[3])
    again = notes("ingest", "notes", "--json")
    assert again.code == 0, again.err
    assert again.json.keys() >= STATUS | DEEDS
    assert {deed: again.json[deed] for deed in DEEDS - {"seconds"}} == {
        "read": 3,
        "parsed": 0,
        "embedded": 0,
        "unchanged": 3,
        "deleted": 0,
    }
    assert again.json["labels"]["MarkdownSection"] == {"ready": 3}


@pytest.mark.long
def test_what_the_file_of_settings_says_is_read_and_a_flag_beats_it(notes: Cli) -> None:
    write(notes.folder, {"graphmill.toml": 'roots = ["notes"]\nexclude = ["*.bin"]\nembedder = "none"\n'})
    document = notes("ingest", "--json").json
    assert (document["read"], document["embedded"]) == (2, 0)
    assert document["labels"]["MarkdownSection"] == {"skip": 3}
    assert notes("ingest", "--json", "--embedder", "wordllama").json["embedded"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to read: give a PATH, or roots in graphmill.toml"),
        (["notes", "other", "--as", "x"], "--as names one PATH, and there are 2"),
        (["notes", "--workers", "0"], "0 is not in the range"),
        (["notes", "--embedder", "wordlama"], "wordlama"),
        (["elsewhere"], "there is no file or folder"),
    ],
    ids=["nothing", "as", "workers", "embedder", "missing"],
)
def test_misuse_is_told_before_anything_is_read(notes: Cli, arguments: list[str], message: str) -> None:
    outcome = notes("ingest", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_a_database_of_somebody_else_is_left_as_it_is(notes: Cli) -> None:
    notes.python(MAKE)
    assert "graphmill --store kuzu:./graph.kuzu init" in notes.refused("ingest", "notes", code="schema_missing").err


@pytest.mark.long
def test_a_graph_that_was_killed_while_it_was_made_is_finished_and_an_older_one_left_as_it_is(notes: Cli) -> None:
    assert notes("init").code == 0
    notes("query", "--write", LOWER)
    assert notes("ingest", "notes", "--embedder", "none").code == 0, "there is nothing in it yet"
    notes("query", "--write", LOWER)
    assert "bring it up to date with: graphmill" in notes.refused("ingest", "notes", code="schema_older").err


@pytest.mark.long
def test_a_text_that_fails_is_told_with_its_place_and_retried_when_asked(notes: Cli) -> None:
    with EmbeddingServer(refuses=("Sails",)) as server:
        choice = ["--embedder", "openai:tiny", "--embedder-url", server.url]
        outcome = notes("ingest", "notes", *choice)
        assert outcome.code == 1, outcome.err
        assert "in error; see: graphmill errors" in outcome.out
        (error,) = notes("errors", "--json", "--label", "MarkdownSection").json
        assert set(error) >= {"uuid", "label", "name", "errorType", "message", "retryCount", "class", "source"}
        assert (error["path"], error["line"]) == (str(notes.folder / "notes/mill.md"), 5)
        assert (error["label"], error["errorType"], error["class"]) == ("MarkdownSection", "embed", "permanent")
        assert error["source"] == "notes/mill.md:5"
        listed = notes("errors").out
        assert re.search(r"^1 +embed +permanent +MarkdownSection +", listed, re.MULTILINE)
        assert "\nnotes/mill.md:5 " in listed, "as it can be opened from here"
        assert notes("errors", "--type", "parse").out == "no nodes in error\n"
        assert notes("retry", "--class", "transient", "--json").json == {"retried": 0}
        server.refuses = ()
        assert notes("retry", "--uuid", error["uuid"]).out.startswith("1 node goes back to the stage that failed")
        drained = notes("worker", "--drain", "--json", *choice)
        assert (drained.code, drained.json["embedded"]) == (0, 1), drained.out
        assert "error" not in drained.json["states"] and drained.json["eta_seconds"] == 0


def test_a_search_before_any_text_is_ready_says_so(notes: Cli) -> None:
    assert notes("ingest", "notes").code == 0
    assert notes("query", "--write", "MATCH (n:MarkdownSection) SET n._state = 'linked'").code == 0
    found = notes("search", "grain")
    assert (found.code, found.out) == (0, "no text is ready yet; see: graphmill status\n")


def test_an_empty_folder_has_no_files(notes: Cli) -> None:
    (notes.folder / "empty").mkdir()
    assert notes("ingest", "empty", "--embedder", "none").out.startswith("no files found in ")


@pytest.mark.long
def test_search_shows_the_score_the_place_and_a_snippet_in_the_space_of_the_graph(notes: Cli) -> None:
    assert notes("ingest", "notes").code == 0
    outcome = notes("search", "grain and stone", "--limit", "1", "--hops", "1")
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    assert re.fullmatch(r"0\.\d{3}  Mill  MarkdownSection  notes/mill.md:1", lines[0])
    assert lines[1].strip() == "# Mill The stone turns grain into flour."
    assert "       <-[HAS_SECTION]- File mill.md" in lines
    found = notes("search", "grain and stone", "--json").json
    assert notes("search", "grain", "and", "stone", "--json").json == found
    assert [set(each) >= {"uuid", "label", "name", "score", "source", "text"} for each in found] == [True] * 3
    assert [each["score"] for each in found] == sorted((each["score"] for each in found), reverse=True)
    assert notes("search", "grain", "--min-score", "0.99").out == "no text is near enough\n"
    refused = notes.refused("search", "x", "--embedder", "none", code="misuse", exit_code=2)
    assert "the embedder none makes no vectors to search with" in refused.err


def test_a_summary_is_about_the_folders_that_were_read(notes: Cli) -> None:
    write(notes.folder, {"other/a.txt": "Something else altogether."})
    assert "1 file without text" in notes("ingest", "notes", "--embedder", "none").out
    assert "without text" not in notes("ingest", "other", "--embedder", "none").out


@pytest.mark.long
def test_forget_takes_a_source_out_of_the_graph_and_leaves_its_files(notes: Cli) -> None:
    write(notes.folder, {"other/a.txt": "Something else altogether."})
    assert notes("ingest", "notes", "other", "--embedder", "none").code == 0
    assert "notes, other" in notes.refused("forget", "nowhere", code="not_in_graph", exit_code=2).err
    gone = {"root": "notes", "files": 1, "whole": False, "freed_bytes": 0}
    assert notes("forget", "notes/bake.md", "--yes", "--json").json == gone
    before = (notes.folder / "graph.kuzu").stat().st_size
    refused = notes.refused("forget", "notes", code="misuse", exit_code=2).err
    assert "2 files of notes, and the root itself, would be removed" in refused
    assert "to do so: graphmill forget notes --yes" in refused
    told = notes("forget", "notes", "--yes").out
    assert re.fullmatch(r"forgot 2 files of notes, and the root itself; \d+ MB of disk space given back\n", told)
    assert (notes.folder / "graph.kuzu").stat().st_size < before / 2
    assert (notes.folder / "notes/mill.md").exists()
    assert notes("status", "--json").json["labels"].keys() == {"Directory", "File", "TextSection"}
    assert notes("reclaim", "--json").json == {"reclaimed": 0}


def test_a_dry_run_makes_no_graph_and_a_rule_that_is_refused_is_not_remembered(notes: Cli) -> None:
    write(notes.folder, {f"notes/more/{number}.txt": f"Page {number}{' more' * number}" for number in range(11)})
    write(notes.folder, {"notes/.env": "API_KEY=a", "notes/yarn.lock": "x"})
    before = sorted(path.name for path in notes.folder.iterdir())
    told = notes("ingest", "notes", "--dry-run", "--json")
    assert told.code == 0, told.err
    assert told.json.keys() >= {"new", "changed", "deleted", "unchanged", "skipped"}
    assert (len(told.json["new"]), told.json["unchanged"]) == (13, 0)
    assert {"path": "yarn.lock", "reason": "lock file (yarn.lock)"} in told.json["skipped"]
    assert sorted(path.name for path in notes.folder.iterdir()) == before
    done = notes("ingest", "notes", "--embedder", "none", "--json")
    assert done.json["default_excludes"] == {"files": 2, "folders": 0}
    refused = notes("ingest", "notes", "--exclude", "more/", "--embedder", "none")
    assert refused.code == 1 and "11 of the 14 files of notes are excluded now" in refused.err, refused.err
    again = "graphmill ingest notes --exclude more/ --embedder none --allow-deletes"
    assert refused.err.endswith(f"leaves them out; to delete them from the graph: {again}\n")
    (rule,) = notes("query", "MATCH (d:Directory) WHERE d.path = '.' RETURN d.rules AS rules", "--json").json
    assert '"exclude": []' in rule["rules"]
    misuse = notes("ingest", "notes/.env", "--dry-run")
    assert misuse.code == 2 and "notes/.env is left out by default: secret (.env)" in misuse.err
