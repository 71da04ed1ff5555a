"""What must hold in every graph: a healthy one has no problem, and each kind of damage is called by its name."""

from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from graph_stores.model import Batch, Edge, Node, Ref, Value, Vector, VectorSpace
from graph_stores.protocol import Store
from orchestrator.checks import CHECKS, problems, verify
from orchestrator.lifecycle import Lifecycle
from orchestrator.runs.course import PLANNED_ANEW
from orchestrator.states import RECORDS
from pipelines.embedding import text_hash
from pipelines.files.manifest import dump, manifest_of
from pipelines.files.model import Document, Part
from tests.conformance.examples import HOUR, claim
from tests.conformance.expansions import Crawler, quicken_expansions
from tests.conformance.folders import WORD_LLAMA, Folder, Mill
from tests.conformance.place import HERE, HERE_AND_ON_A_SERVER, Place
from tests.conformance.wikis import Link, Text, To, Wiki
from tests.conformance.wrapped import wrapped

SPACE = VectorSpace(provider="letters", model="vowels", dimension=3)
TEXTS = ("MarkdownSection", "TextSection", "Scope", "Section", "Chunk")
EMBEDDED: dict[str, Any] = {
    "_embeddingProvider": SPACE.provider,
    "_embeddingModel": SPACE.model,
    "_embeddingHash": text_hash(""),
}


def manifest(parts: int) -> str:
    """What is remembered of a file with so many parts."""
    pieces = [
        Part(label="TextSection", key=str(each), name="", content="", start_line=1, end_line=1) for each in range(parts)
    ]
    return dump(manifest_of(Document(mime_type="text/plain", parts=pieces), "file"))


ONE_PART, TWO_PARTS = manifest(1), manifest(2)


def day(number: int) -> datetime:
    return datetime(2024, 3, number, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Nodes of every label, each as it is when all work is done. Several of them share a project, by their names."""

    project: str
    name: str = "whole"

    def ref(self, label: str, number: int = 1) -> Ref:
        # One server holds every project: a uuid is there once.
        return Ref(label=label, uuid=f"{self.project} {self.name}: {label} {number}")

    def node(self, label: str, number: int = 1, *, state: str = "ready", **properties: Value) -> Node:
        ref = self.ref(label, number)
        made = {"_runId": self.ref("IngestionRun").uuid} if label in ("File", "Chunk", *TEXTS) else {}
        return Node(
            label=label, uuid=ref.uuid, name=f"{label} {number}", state=state, properties={**made, **properties}
        )

    def run(self, number: int, *, before: datetime | None, after: datetime) -> Node:
        return self.node(
            "IngestionRun",
            number,
            type="incremental" if before else "full",
            source=self.name,
            outcome="completed",
            startedAt=after,
            finishedAt=after.replace(hour=1),
            readAt=after,
            watermarkBefore=before,
            watermarkAfter=after,
        )

    def edge(self, type: str, source: Ref, label: str, number: int = 1) -> Edge:
        return Edge(type=type, source=source, target=self.ref(label, number))

    @property
    def nodes(self) -> list[Node]:
        return [
            self.node("Directory", root=self.name, path="."),
            *(
                self.node("File", number, root=self.name, path=f"{number}.md", _manifest=ONE_PART)
                for number in (1, 2, 3)
            ),
            *(self.node(label, **EMBEDDED | ({"_chunks": 1} if label == "MarkdownSection" else {})) for label in TEXTS),
            self.node("Article", wiki=self.name, title="Mill", expansion_state="processed", _sections='[["0", true]]'),
            self.node("Article", 2, state="skip", wiki=self.name, title="Wheel"),
            self.node("Category", wiki=self.name, title="Mills"),
            self.node("Wiki", lang="en"),
            self.run(1, before=None, after=day(1)),
            self.run(2, before=day(1), after=day(2)),
            *(self.node("Partition", number, kind="folder", outcome="completed") for number in (1, 2)),
            self.node("Worker", state="skip", host="here", process=1),
        ]

    @property
    def edges(self) -> list[Edge]:
        return [
            *(self.edge("IN_DIRECTORY", self.ref("File", number), "Directory") for number in (1, 2, 3)),
            self.edge("HAS_SECTION", self.ref("File", 1), "MarkdownSection"),
            self.edge("HAS_SECTION", self.ref("File", 2), "TextSection"),
            self.edge("DEFINED_IN", self.ref("Scope"), "File", 3),
            self.edge("HAS_CHUNK", self.ref("MarkdownSection"), "Chunk"),
            self.edge("HAS_SECTION", self.ref("Article"), "Section"),
            self.edge("IN_CATEGORY", self.ref("Article"), "Category"),
            *(self.edge("HAS_PARTITION", self.ref("IngestionRun", run), "Partition", run) for run in (1, 2)),
        ]

    @property
    def vectors(self) -> list[Vector]:
        return [Vector(node=self.ref(label), values=[1.0, 0.0, 0.0]) for label in TEXTS]


async def grow(store: Store, *wholes: Whole) -> None:
    await store.use_vector_space(SPACE)
    await store.commit(
        Batch(
            nodes=[node for whole in wholes for node in whole.nodes],
            edges=[edge for whole in wholes for edge in whole.edges],
            vectors=[vector for whole in wholes for vector in whole.vectors],
        )
    )


@pytest.fixture
async def whole(store: Store) -> Whole:
    whole = Whole(project=store.project)
    await grow(store, whole)
    return whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """What is done to one node of a healthy graph, and the one check that sees it; `seen` is the node that it names."""

    label: str
    number: int = 1
    statement: str
    check: str
    seen: tuple[str, int] | None = None
    also: tuple[str, str, int] | None = None
    """Another check that sees it too, and the node that it names."""

    async def do(self, store: Store, whole: Whole) -> None:
        given: dict[str, Value] = {
            "uuid": whole.ref(self.label, self.number).uuid,
            "twin": f"{whole.project} {whole.name}: twin",
        }
        given |= {"project": whole.project, "name": whole.name, "late": day(5), "two": TWO_PARTS}
        given |= {"far": datetime(2099, 1, 1, tzinfo=UTC)}
        given |= {"zero": [0.0, 0.0, 0.0], "nan": [float("nan"), 0.0, 0.0]}
        used = {name: value for name, value in given.items() if f"${name}" in self.statement}
        await store.query(self.statement, used, write=True)


def change(
    label: str,
    change: str,
    *,
    check: str,
    number: int = 1,
    seen: tuple[str, int] | None = None,
    also: tuple[str, str, int] | None = None,
) -> Damage:
    statement = f"MATCH (n:{label}) WHERE n.uuid = $uuid SET {change}"
    return Damage(label=label, number=number, statement=statement, check=check, seen=seen, also=also)


def cut(label: str, pattern: str, *, check: str = "lone-part", also: tuple[str, str, int] | None = None) -> Damage:
    statement = f"MATCH (n:{label}){pattern} WHERE n.uuid = $uuid DELETE e"
    return Damage(label=label, statement=statement, check=check, also=also)


def double(label: str, properties: str, number: int = 1) -> Damage:
    node = f"(:{label} {{uuid: $twin, projectId: $project, name: 'twin', {properties}}})"
    return Damage(label=label, number=number, statement=f"CREATE {node}", check="twin")


TWIN_FILE = """MATCH (:File {uuid: $uuid})-[:IN_DIRECTORY]->(d:Directory)
CREATE (:File {uuid: $twin, projectId: $project, name: 'twin', _state: 'skip', root: $name, path: '1.md'})
    -[:IN_DIRECTORY]->(d)"""

DAMAGE = {
    "a word of its own": change("Directory", "n._state = 'polished'", check="state"),
    "no state": change("Worker", "n._state = NULL", check="state"),
    "an owner": change("Category", "n._leaseOwner = 'somebody'", check="idle-lease"),
    "a token": change("Article", "n._leaseToken = 't'", check="idle-lease"),
    "an end": change("Wiki", "n._leaseUntil = n._stateChangedAt", check="idle-lease"),
    "nobody at work": change("Category", "n._state = 'parsing'", check="missing-lease"),
    "half a lease": change(
        "Category", "n._state = 'embedding', n._leaseOwner = 'me', n._leaseToken = 't'", check="missing-lease"
    ),
    "a lease until 2099": change(
        "Category",
        "n._state = 'parsing', n._leaseOwner = 'me', n._leaseToken = 't', n._leaseUntil = $far",
        check="endless-lease",
    ),
    "a delay until 2099": change("Directory", "n._notBefore = $far", check="endless-lease"),
    "a lone heading": cut("MarkdownSection", "<-[e:HAS_SECTION]-(:File)", also=("lost-part", "File", 1)),
    "a lone text": cut("TextSection", "<-[e:HAS_SECTION]-(:File)", also=("lost-part", "File", 2)),
    "a lone scope": cut("Scope", "-[e:DEFINED_IN]->(:File)", also=("lost-part", "File", 3)),
    "a lone section": cut("Section", "<-[e:HAS_SECTION]-(:Article)", also=("lost-part", "Article", 1)),
    "a lone piece": cut("Chunk", "<-[e:HAS_CHUNK]-(:MarkdownSection)", also=("lost-piece", "MarkdownSection", 1)),
    "a lone file": cut("File", "-[e:IN_DIRECTORY]->(:Directory)", check="lone-file"),
    "no vector": change("Section", "n.embedding = NULL", check="missing-vector"),
    "no vector of a piece": change("Chunk", "n.embedding = NULL", check="missing-vector"),
    "another provider": change("Scope", "n._embeddingProvider = 'numbers'", check="foreign-vector"),
    "no model": change("TextSection", "n._embeddingModel = NULL", check="foreign-vector"),
    "a vector without a direction": change("Scope", "n.embedding = $zero", check="odd-vector"),
    "a vector of no numbers": change("Section", "n.embedding = $nan", check="odd-vector"),
    "the vector of another text": change("TextSection", "n.content = 'edited by hand'", check="stale-vector"),
    "a piece too few": change("MarkdownSection", "n._chunks = 2", check="lost-piece"),
    "a piece too much": change("MarkdownSection", "n._chunks = NULL", check="lost-piece"),
    "a part too few": change("File", "n._manifest = $two", check="lost-part"),
    "what cannot be read back": change("File", "n._manifest = '{'", check="lost-part"),
    "a section too few": change("Article", "n._sections = '[]'", check="lost-part"),
    "no hash": change("Section", "n._embeddingHash = NULL", check="missing-hash"),
    "a heading to do": change("MarkdownSection", "n._state = 'linked'", check="unsettled", seen=("File", 1)),
    "a text to do": change("TextSection", "n._state = 'linked'", check="unsettled", seen=("File", 2)),
    "a scope that nobody links": change("Scope", "n._state = 'parsed'", check="stray", also=("unsettled", "File", 3)),
    "a heading that nobody parses": change(
        "MarkdownSection", "n._state = 'pending'", check="stray", also=("unsettled", "File", 1)
    ),
    "a text that nobody links": change(
        "TextSection", "n._state = 'parsed'", check="stray", also=("unsettled", "File", 2)
    ),
    "a section that nobody parses": change(
        "Section", "n._state = 'pending'", check="stray", also=("unsettled", "Article", 1)
    ),
    "a piece that nobody embeds": change("Chunk", "n._state = 'linked'", check="stray"),
    "a folder that nobody reads": change("Directory", "n._state = 'pending'", check="stray"),
    "a category that nobody embeds": change("Category", "n._state = 'linked'", check="stray"),
    "a scope to do": change("Scope", "n._state = 'linked'", check="unsettled", seen=("File", 3)),
    "a section to do": change("Section", "n._state = 'linked'", check="unsettled", seen=("Article", 1)),
    "a file twice": Damage(label="File", statement=TWIN_FILE, check="twin"),
    "a folder twice": double("Directory", "_state: 'skip', root: $name, path: '.'"),
    "an article twice": double("Article", "_state: 'skip', wiki: $name, title: 'Wheel'", number=2),
    "a category twice": double("Category", "_state: 'ready', wiki: $name, title: 'Mills'"),
    "another word": change("Article", "n.expansion_state = 'claimed'", check="expansion-state"),
    "no word": change("Article", "n.expansion_state = NULL", check="expansion-state"),
    "a word too much": change("Article", "n.expansion_state = 'failed'", number=2, check="expansion-state"),
    "the outcome of a run": change("IngestionRun", "n.outcome = 'running'", check="outcome"),
    "the outcome of a partition": change("Partition", "n.outcome = NULL", check="outcome"),
    "a failed partition": change(
        "Partition", "n._state = 'error', n.outcome = 'failed'", check="early-run", seen=("IngestionRun", 1)
    ),
    "a lone partition": cut("Partition", "<-[e:HAS_PARTITION]-(:IngestionRun)", check="lone-partition"),
    "a mark of a failed run": change(
        "IngestionRun", "n._state = 'error', n.outcome = 'failed'", number=2, check="early-watermark"
    ),
    "a mark before the one it began from": change(
        "IngestionRun", "n.watermarkBefore = $late", number=2, check="watermark-gone-back"
    ),
    "a mark before that of an earlier run": change(
        "IngestionRun", "n.watermarkAfter = $late", check="watermark-gone-back", seen=("IngestionRun", 2)
    ),
}


def test_every_check_is_seen_to_fail() -> None:
    assert {damage.check for damage in DAMAGE.values()} == {check.name for check in CHECKS}


async def test_each_damage_is_called_by_its_name_and_nothing_else_is(store: Store) -> None:
    """Each in a whole of its own beside all others, so that one look tells what is seen of each."""
    wholes = {name: Whole(project=store.project, name=name) for name in DAMAGE}
    await grow(store, *wholes.values())
    verdict = await verify(store)
    counted = [node for whole in wholes.values() for node in whole.nodes if node.label not in RECORDS]
    assert (verdict.problems, verdict.checked) == ([], len(counted))
    for name, damage in DAMAGE.items():
        await damage.do(store, wholes[name])
    found = await problems(store, examples=100)
    seen = {(each.check, example.label, example.uuid) for each in found for example in each.examples}
    wanted = {
        (damage.check, *astuple(wholes[name].ref(*(damage.seen or (damage.label, damage.number)))))
        for name, damage in DAMAGE.items()
    }
    wanted |= {(each.also[0], *astuple(wholes[name].ref(*each.also[1:]))) for name, each in DAMAGE.items() if each.also}
    assert seen == wanted
    assert (
        sum(each.count for each in found)
        == len(wanted)
        == len(DAMAGE) + sum(bool(each.also) for each in DAMAGE.values())
    )
    assert all(example.found for each in found for example in each.examples)


@HERE_AND_ON_A_SERVER
async def test_a_partition_that_was_planned_anew_is_not_waited_for(store: Store, whole: Whole) -> None:
    given_up = f"n._state = 'skip', n.outcome = 'cancelled', n._errorMessage = '{PLANNED_ANEW}'"
    await change("Partition", given_up, check="").do(store, whole)
    assert await problems(store) == []
    await change("Partition", "n._errorMessage = 'somebody cancelled it'", check="").do(store, whole)
    assert [problem.check for problem in await problems(store)] == ["early-run"]


@HERE
async def test_of_many_nodes_a_few_are_named_and_all_are_counted(store: Store) -> None:
    many = [Whole(project=store.project, name=f"whole {number}") for number in range(7)]
    await grow(store, *many)
    for whole in many:
        await DAMAGE["no hash"].do(store, whole)
    [problem] = await problems(store)
    assert (problem.count, len(problem.examples)) == (7, 3)


async def test_an_empty_graph_has_no_problem(store: Store) -> None:
    assert await problems(store) == []


@HERE_AND_ON_A_SERVER
async def test_a_text_that_is_ready_where_nothing_was_ever_embedded_is_a_problem(store: Store) -> None:
    whole = Whole(project=store.project)
    await store.commit(Batch(nodes=whole.nodes, edges=whole.edges))
    [problem] = await problems(store)
    assert (problem.check, problem.count) == ("missing-vector", 5)


@HERE_AND_ON_A_SERVER
async def test_another_project_is_not_looked_at(store: Store, place: Place, whole: Whole) -> None:
    await DAMAGE["a word of its own"].do(store, whole)
    await place.close()
    other = await place.open(project=f"{place.project} beside")
    assert (await verify(other)).document() == {"checked": 0, "problems": [], "stuck": 0, "notes": []}


@HERE_AND_ON_A_SERVER
async def test_work_in_flight_is_no_problem(store: Store, lifecycle: Lifecycle, whole: Whole) -> None:
    waiting = [whole.node("Article", 7, state="pending", wiki="w", title="New", expansion_state="discovered")]
    await store.commit(Batch(nodes=waiting))
    assert await claim(lifecycle, labels=["Article"], seconds=HOUR)
    assert await problems(store) == []


@HERE
async def test_what_is_so_only_for_a_moment_is_no_problem(store: Store, whole: Whole) -> None:
    """As a server may show it: half of a node before somebody's commit, and half after it."""

    async def ask(real: Any, question: str, *arguments: Any) -> Any:
        answer = await real(question, *arguments)
        if question == "check-unheld" and answer.rows:
            await change("Wiki", "n._state = 'ready'", check="").do(store, whole)
            await DAMAGE["nobody at work"].do(store, whole)
        return answer

    await change("Wiki", "n._state = 'parsing'", check="missing-lease").do(store, whole)
    torn, _ = wrapped(store, ask=ask)
    assert await problems(torn) == []
    assert [problem.check for problem in await problems(store)] == ["missing-lease"]


@pytest.mark.long
async def test_what_jobs_make_of_files_and_articles_is_without_a_problem(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicken_expansions(monkeypatch, tmp_path / "cache")
    folder = Folder(tmp_path / "notes")
    folder.write("guide.md", "# Guide\n\nWhere it begins.\n\n## Use\n\nTurn [it](mill.py).\n")
    folder.write("code/mill.py", 'def turn():\n    """Grind the grain."""\n    return turn\n')
    folder.write("plain.txt", "There is nothing here but words.\n")
    folder.write("long.md", "# Long\n\n" + "Grain is ground between stones. " * 3000)
    folder.write("signs.md", "---\n")
    folder.write("image.png", b"\x89PNG\r\n\x1a\n\x00")
    await Mill(store=store, roots=[folder]).run()
    wiki = Wiki.of(
        {
            "Mill": Text(paragraphs=[("Use", [Link(to="Wheel"), Link(to="Grinder"), Link(to="Nowhere")])]),
            "Wheel": Text(paragraphs=[("Parts", [Link(to="Axle")])], categories=["Parts"]),
            "Grinder": To(target="Mill"),
        }
    )
    crawler = Crawler(store=store, dump=tmp_path / "wiki.xml")
    crawler.publish(wiki)
    await crawler.expand(["Mill", "Missing"], depth=1, embedder=WORD_LLAMA)
    verdict = await verify(store)
    assert verdict.problems == []
    labels = {node.label async for node in store.export_nodes()}
    assert labels >= {"File", "MarkdownSection", "Scope", "TextSection", "Chunk", "Article", "Section", "Category"}
    folder.edit("guide.md", "begins", "ends")
    folder.delete("plain.txt")
    wiki.write("Wheel", To(target="Mill"))
    crawler.publish(wiki)
    await Mill(store=store, roots=[folder]).run()
    await crawler.expand(["Mill", "Missing"], depth=1, embedder=WORD_LLAMA)
    assert await problems(store) == []
