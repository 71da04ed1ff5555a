"""`graphmill verify`: says that all is well, or what is not and what to do, to people and to scripts."""

import pytest

from orchestrator.states import State

from .conftest import Cli
from .corpus import write_corpus
from .jobs import DEADLINE, Mill

_WITHOUT_VECTORS = "MATCH (n:MarkdownSection) WHERE n.projectId = $project SET n.embedding = NULL"


@pytest.mark.long
def test_a_problem_is_told_to_people_and_scripts_until_it_is_mended_as_the_hint_says(mill: Mill) -> None:
    write_corpus(mill.root, pages=3, modules=1)
    total = mill.ingest("--json").end().json["total"]
    mill.change(_WITHOUT_VECTORS)
    [[sections]] = mill.ask("MATCH (n:MarkdownSection) WHERE n.projectId = $project RETURN count(*)")
    told, document = mill.cli("verify"), mill.cli("verify", "--json")
    assert (told.code, document.code) == (1, 1)
    assert (told.err, document.err) == ("", "")

    [problem] = document.json["problems"]
    assert document.json["checked"] == total
    assert set(document.json) == {"checked", "problems", "stuck", "notes"}
    assert set(problem) == {"check", "count", "examples", "hint"}
    assert (problem["check"], problem["count"]) == ("missing-vector", sections)
    assert {tuple(example) for example in problem["examples"]} == {("label", "uuid", "found")}

    checked, line, hint = told.out.splitlines()
    assert checked.endswith(" nodes checked, 1 problem")
    assert line.startswith(f"missing-vector: {sections} are ready without a vector: MarkdownSection ")
    assert line.endswith("…")
    assert hint == f"  hint: {problem['hint']}"
    assert "graphmill worker --drain" in hint

    assert "graphmill verify --repair" in hint
    mended = mill.cli("verify", "--repair")
    assert mended.code == 0, mended.out
    did, *_, checked, following = mended.out.splitlines()
    assert did == f"missing-vector: {sections} sent back to linked, to be embedded again"
    assert checked.endswith(" nodes checked, no problem left")
    assert following == "next: graphmill worker --drain"
    mill.start("worker", "--drain").end()
    assert mill.cli("verify", "--repair", "--json").json["repaired"] == []
    assert mill.standing().states == {State.READY: total}


@pytest.mark.long
def test_hints_name_what_the_graph_knows(mill: Mill) -> None:
    """All but the new place of a folder that moved, which nobody knows."""

    def hints() -> dict[str, str]:
        return {each["check"]: each["hint"] for each in mill.cli("verify", "--json").json["problems"]}

    root = mill.root.rename(mill.root.with_name("my corpus"))
    write_corpus(root, pages=2, modules=0)
    mill.start("ingest", str(root)).end()
    ingest = f"graphmill ingest '{root}'"
    first = min(root.rglob("*.md"))
    first.write_text(first.read_text(encoding="utf-8") + "\nAnd one line more.\n", encoding="utf-8")
    (root / "new.md").write_text("# New\n")
    read = f"read them: {ingest}, or graphmill verify --repair and then graphmill worker --drain"
    assert hints() == {"changed-file": read, "unread-file": read}
    mill.start("ingest", str(root)).end()
    mill.change("MATCH (r:IngestionRun) WHERE r.projectId = $project SET r._state = 'error', r.outcome = 'failed'")
    assert hints()["early-watermark"] == f"graphmill verify --repair, then {ingest}"
    assert mill.cli("verify", "--repair").code == 0
    other = mill.start("worker", "--drain", "--embedder", "openai:another").end(2)
    assert other.err.endswith(f"have all texts embedded again: {ingest} --embedder openai:another\n")
    root.rename(root.with_name("away"))
    moved = "graphmill ingest NEW-PLACE --as 'my corpus'"
    assert hints() == {"gone-root": f"if my corpus moved: {moved}; to remove it: graphmill forget 'my corpus'"}


@pytest.mark.long
def test_what_was_changed_on_disk_is_told_and_a_job_that_runs_keeps_the_graph_from_being_mended(mill: Mill) -> None:
    write_corpus(mill.root, pages=2, modules=0)
    mill.ingest().end()
    first = min(mill.root.rglob("*.md"))
    first.write_text(first.read_text(encoding="utf-8") + "\nAnd one line more.\n", encoding="utf-8")
    outcome = mill.cli("verify", "--json")
    assert (outcome.code, [each["check"] for each in outcome.json["problems"]]) == (1, ["changed-file"])
    assert mill.cli("verify", "--no-sources").code == 0
    mill.embedder.allow(0)
    job = mill.ingest()
    assert mill.embedder.holding.wait(DEADLINE)
    assert mill.cli("verify").out.splitlines()[1] == "not looked at: files and wikis, because a job is reading them"
    mill.cli.refused("verify", "--repair", code="store_owned")
    mill.embedder.allow(None)
    job.end()
    assert mill.cli("verify").code == 0


@pytest.mark.parametrize("mill_on", ["kuzu", "neo4j"], indirect=True)
def test_a_job_in_the_middle_of_its_work_is_no_problem(mill_on: Mill) -> None:
    mill = mill_on
    write_corpus(mill.root, pages=3, modules=1)
    mill.embedder.allow(0)
    job = mill.ingest()
    assert mill.embedder.holding.wait(DEADLINE)
    outcome = mill.cli("verify", "--json")
    assert outcome.code == 0, outcome.out
    assert outcome.json["problems"] == []
    mill.embedder.allow(None)
    job.end()


def test_a_graph_that_is_not_there_is_a_clear_error(cli: Cli) -> None:
    cli.refused("verify", code="store_not_found")
