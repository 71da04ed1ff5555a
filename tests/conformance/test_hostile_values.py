"""Names that try to break out of a query are refused; values of any kind come back as they went in (row S1)."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from graph_stores.errors import GraphmillError, InvalidIdentifier, Misuse, UnknownLabel
from graph_stores.model import Claim, Edge, Marks, Node, Select, Transition, Unlink, VectorSpace
from graph_stores.protocol import Store
from orchestrator.lifecycle import Lifecycle, Result
from orchestrator.states import ErrorClass
from tests.conformance.examples import article, claim, claim_one, file, link, picture, read, ref, states_of, write
from tests.conformance.place import IN_EVERY_FORM, Place

pytestmark = IN_EVERY_FORM

NAIVE = datetime(2026, 1, 1)
HOSTILE_NAMES = ["File) DETACH DELETE n //", "File`", "a b", "x: 1}) DETACH DELETE n //", "", "File|Article", "Fïle"]
HOSTILE_VALUES = {
    "quote": "it's",
    "double quotes": 'say "hi"',
    "backslash": "C:\\new\\table\\",
    "trailing backslash": "\\",
    "backtick": "`n`",
    "newlines": "a\nb\r\nc\rd",
    "tab": "a\tb",
    "brace": "}) DETACH DELETE n //",
    "parameter": "$uuid",
    "placeholder": "%label% %[n.%property%]%",
    "comment": "/* */ // --",
    "semicolon": "; DROP TABLE File;",
    "escape": "\\u0027 \\n \\x00",
    "emoji": "👩‍👩‍👧‍👦 🌍",
    "right to left": "\u202eمرحبا\u202c עברית",
    "combining": "e\u0301 vs é",
    "spaces": "  padded  ",
    "zero width": "a\u200bb\ufeff",
    "control": "\x01\x1b[31m\x7f",
    "nul": "before\x00after",
    "beyond the plane": "𝔘𐍈\U0010ffff",
    "null word": "null",
    "number": "0123",
    "long": "ab'\"\\`" * 2000,
    "empty": "",
}


async def test_hostile_text_comes_back_as_it_went_in_as_a_property_a_name_and_a_key(store: Store) -> None:
    nodes = [
        Node(label="TextSection", uuid=f"u {kind}", name=text, state="pending", properties={"content": text})
        for kind, text in HOSTILE_VALUES.items()
    ]
    await write(store, nodes=nodes)
    found = {row.uuid: (row.name, row.properties["content"]) for row in await store.nodes(Select())}
    assert found == {f"u {kind}": (text, text) for kind, text in HOSTILE_VALUES.items()}


async def test_hostile_text_goes_through_every_verb(store: Store, lifecycle: Lifecycle) -> None:
    keys = {f"u {text[:1000]}": text for text in HOSTILE_VALUES.values()}
    for _ in ("new", "there already"):
        nodes = [file(uuid, path=text, language=text) for uuid, text in keys.items()]
        await write(store, nodes=nodes, edges=[link(uuid, uuid, count=2) for uuid in keys])
    assert {row.uuid: row.properties["language"] for row in await store.nodes(Select(uuids=list(keys)))} == keys
    owner = "".join(keys)
    rows = await claim(lifecycle, owner=owner)
    assert {row.lease.owner for row in rows if row.lease} == {owner}
    await lifecycle.heartbeat(rows, seconds=60)
    for row in rows:
        await lifecycle.fail(row, message=keys[row.uuid], error_class=ErrorClass.PERMANENT)
    assert {row.uuid: row.error_message for row in await store.nodes(Select(states=["error"]))} == keys
    assert await lifecycle.retry_errors(uuids=list(keys)) == len(keys)
    again = await claim(lifecycle)
    await lifecycle.complete([Result(node=row, properties={"_contentHash": keys[row.uuid]}) for row in again])
    exported, edges = await picture(store)
    assert {uuid: properties["_contentHash"] for (_, uuid), properties in exported.items()} == keys
    assert edges == {("LINKS_TO", uuid, uuid): {"count": 2} for uuid in keys}
    await lifecycle.delete([ref(uuid) for uuid in keys])
    assert await picture(store) == ({}, {})


async def test_empty_text_is_not_nothing(store: Store) -> None:
    await write(store, nodes=[file("a", path="", language=None)])
    assert (await read(store, "a")).properties == {"path": ""}


async def test_whole_numbers_keep_every_digit(store: Store) -> None:
    numbers = {"zero": 0, "minus": -1, "wide": 2**53 + 1, "most": 2**63 - 1, "least": -(2**63)}
    for _ in ("new", "there already"):
        await write(store, nodes=[file(uuid, size=number) for uuid, number in numbers.items()])
        assert {row.uuid: row.properties["size"] for row in await store.nodes(Select())} == numbers


@pytest.mark.parametrize("value", [2**63, object(), "\ud800"], ids=["beyond 64 bits", "an object", "half a character"])
async def test_a_value_that_no_engine_can_hold_is_refused_by_our_own_error(store: Store, value: object) -> None:
    await write(store, nodes=[file("a")])
    before = await picture(store)
    broken = file("a", size=value) if isinstance(value, int) else file("a", path=value)
    with pytest.raises(GraphmillError) as refusal:
        await write(store, nodes=[broken, file("b")])
    assert not refusal.value.transient
    assert await picture(store) == before
    await write(store, nodes=[file("b")])


@pytest.mark.parametrize("hours", [-11, 0, 5.5, 14])
async def test_a_time_keeps_its_instant_and_comes_back_in_utc(store: Store, hours: float) -> None:
    moment = datetime(2024, 2, 29, 23, 59, 59, 123456, timezone(timedelta(hours=hours)))
    for _ in ("new", "there already"):
        await write(store, nodes=[article("a", revisionTimestamp=moment)])
        back = (await read(store, "a", "Article")).properties["revisionTimestamp"]
        assert back == moment
        assert back.utcoffset() == timedelta(0)
    [exported] = [each async for each in store.export_nodes()]
    assert exported.properties["revisionTimestamp"] == moment
    assert exported.properties["revisionTimestamp"].utcoffset() == timedelta(0)


async def test_times_far_from_now_are_kept(store: Store) -> None:
    moments = {f"in {year}": datetime(year, 6, 1, 12, tzinfo=UTC) for year in (1, 1900, 1969, 2038, 9999)}
    await write(store, nodes=[article(uuid, revisionTimestamp=moment) for uuid, moment in moments.items()])
    assert {row.uuid: row.properties["revisionTimestamp"] for row in await store.nodes(Select())} == moments


async def test_a_time_without_a_zone_is_refused_and_nothing_is_written(store: Store) -> None:
    with pytest.raises(Misuse, match="time zone"):
        await write(store, nodes=[article("a"), article("b", revisionTimestamp=NAIVE)])
    assert await states_of(store) == {}


async def test_times_survive_close_and_open(store: Store, lifecycle: Lifecycle, place: Place) -> None:
    await write(store, nodes=[article("a", revisionTimestamp=datetime(2026, 1, 1, tzinfo=UTC))])
    await claim_one(lifecycle, labels=["Article"])
    before = await picture(store)
    assert await picture(await place.reopen()) == before


def batches_with_the_name(name: str) -> list[dict[str, object]]:
    there, wholly_new = ref("x", name), [file("b")]
    return [
        {"nodes": [file("b"), Node(label=name, uuid="x", name="x", state="pending")]},
        {"nodes": [file("b"), Node(label="File", uuid="c", name="c", state="pending", properties={name: 1})]},
        {"nodes": wholly_new, "edges": [Edge(type=name, source=ref("a"), target=ref("b"))]},
        {"nodes": wholly_new, "edges": [Edge(type="LINKS_TO", source=there, target=ref("a"))]},
        {"nodes": wholly_new, "edges": [Edge(type="LINKS_TO", source=ref("a"), target=ref("b"), properties={name: 1})]},
        {"nodes": wholly_new, "unlinks": [Unlink(source=ref("a"), type=name)]},
        {"nodes": wholly_new, "deletions": [there]},
        {"nodes": wholly_new, "transitions": [Transition(node=there, expected="pending", to="skip")]},
        {"nodes": wholly_new, "transitions": [moved("a", Marks(set={name: 1}))]},
        {"nodes": wholly_new, "transitions": [moved("a", Marks(stamp=(name,)))]},
    ]


def moved(uuid: str, marks: Marks) -> Transition:
    return Transition(node=ref(uuid), expected="pending", to="skip", marks=marks)


def wish(*labels: str, marks: Marks | None = None) -> Claim:
    return Claim(
        labels=labels,
        waiting="pending",
        working="parsing",
        owner="w",
        limit=1,
        seconds=60.0,
        marks={"File": marks} if marks else {},
    )


async def test_a_hostile_name_is_refused_wherever_a_batch_can_hold_it_and_nothing_is_written(store: Store) -> None:
    await write(store, nodes=[file("a")])
    before = await picture(store)
    for name in HOSTILE_NAMES:
        for batch in batches_with_the_name(name):
            with pytest.raises(InvalidIdentifier):
                await write(store, **batch)
    assert await picture(store) == before


async def test_a_hostile_name_is_refused_by_every_other_verb_and_nothing_is_written(store: Store) -> None:
    await write(store, nodes=[file("a")])
    await store.use_vector_space(VectorSpace(provider="p", model="m", dimension=1))
    before = await picture(store)
    verbs: list[Callable[[str], Awaitable[object]]] = [
        lambda name: store.claim(wish("File", name)),
        lambda name: store.claim(wish("File", marks=Marks(set={name: 1}))),
        lambda name: store.claim(wish("File", marks=Marks(stamp=(name,)))),
        lambda name: store.heartbeat([ref("a", name)], token="t", seconds=60.0),
        lambda name: store.nodes(Select(labels=[name])),
        lambda name: store.search([1.0], limit=1, labels=[name]),
    ]
    for name in HOSTILE_NAMES:
        for verb in verbs:
            with pytest.raises((InvalidIdentifier, UnknownLabel)):
                await verb(name)
    assert await picture(store) == before


async def test_any_text_can_be_a_projects_name(place: Place, store: Store) -> None:
    project = place.project + "".join(text[:100] for text in HOSTILE_VALUES.values())
    await write(store, nodes=[file("mine")])
    theirs = await place.reopen(project=project)
    await write(theirs, nodes=[file("theirs")])
    assert (await read(theirs, "theirs")).project == project
    assert await states_of(theirs) == {"theirs": "pending"}
