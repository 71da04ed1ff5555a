"""Names and values are checked before any engine sees them, for every place of a batch in which they can stand."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_stores.errors import InvalidIdentifier, InvalidVector, Misuse
from graph_stores.model import OWNED, Batch, Edge, Marks, Node, Ref, Transition, Unlink, Value, Vector
from graph_stores.values import as_utc, check_batch, check_vector

HERE = Ref(label="File", uuid="f")
HOSTILE_NAMES = [
    "",
    " ",
    "1st",
    "na me",
    "File) DETACH DELETE n //",
    "a`b",
    "``",
    "a'b",
    'a"b',
    "a\\b",
    "a\nb",
    "File\n",
    "a;b",
    "a-b",
    "a.b",
    "a:b",
    "$a",
    "a}b",
    "naïve",
    "\uff26\uff49\uff4c\uff45",
    "a\u200bb",
    "a\x00b",
    "\U0001d4d5ile",
    "٣",
    "%label%",
    "a" * 129,
]


NAIVE = datetime(2026, 1, 1)


def node(
    label: str = "File", properties: dict[str, Value] | None = None, initial: dict[str, Value] | None = None
) -> Node:
    return Node(label=label, uuid="u", name="n", state="pending", properties=properties or {}, initial=initial or {})


def edge(
    kind: str = "LINKS_TO", *, source: Ref = HERE, target: Ref = HERE, properties: dict[str, Value] | None = None
) -> Edge:
    return Edge(type=kind, source=source, target=target, properties=properties or {})


def move(node: Ref = HERE, marks: Marks | None = None) -> Transition:
    return Transition(node=node, expected="pending", to="parsing", marks=marks or Marks())


def batches_with_the_name(name: str) -> dict[str, Batch]:
    """The name in every place of a batch where it would become part of a query."""
    there = Ref(label=name, uuid="x")
    return {
        "label of a node": Batch(nodes=[node(name)]),
        "property of a node": Batch(nodes=[node(properties={name: 1})]),
        "initial property": Batch(nodes=[node(initial={name: 1})]),
        "type of an edge": Batch(edges=[edge(name)]),
        "property of an edge": Batch(edges=[edge(properties={name: 1})]),
        "source of an edge": Batch(edges=[edge(source=there)]),
        "target of an edge": Batch(edges=[edge(target=there)]),
        "source of an unlink": Batch(unlinks=[Unlink(source=there, type="LINKS_TO")]),
        "type of an unlink": Batch(unlinks=[Unlink(source=HERE, type=name)]),
        "deletion": Batch(deletions=[there]),
        "node of a transition": Batch(transitions=[move(there)]),
        "mark": Batch(transitions=[move(marks=Marks(set={name: 1}))]),
        "stamp": Batch(transitions=[move(marks=Marks(stamp=(name,)))]),
        "node of a vector": Batch(vectors=[Vector(node=there, values=[1.0])]),
    }


PLACES = sorted(batches_with_the_name("x"))


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("place", PLACES)
def test_a_hostile_name_is_refused_wherever_it_stands(place: str, name: str) -> None:
    with pytest.raises(InvalidIdentifier) as refusal:
        check_batch(batches_with_the_name(name)[place])
    assert refusal.value.exit_code == 2
    assert refusal.value.hint


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["x", "_x", "X9", "snake_case", "camelCase", "MATCH", "a" * 128])
def test_a_plain_name_passes_wherever_it_stands(place: str, name: str) -> None:
    check_batch(batches_with_the_name(name)[place])


@pytest.mark.parametrize("name", sorted(OWNED))
@pytest.mark.parametrize("place", ["property of a node", "initial property", "mark"])
def test_what_the_store_writes_itself_cannot_be_smuggled_in_as_a_property(place: str, name: str) -> None:
    with pytest.raises(Misuse, match=name):
        check_batch(batches_with_the_name(name)[place])


def test_what_the_store_writes_itself_cannot_be_stamped() -> None:
    with pytest.raises(Misuse, match="_leaseUntil"):
        check_batch(Batch(transitions=[move(marks=Marks(stamp=("_leaseUntil",)))]))


def test_an_empty_batch_is_nothing_wrong() -> None:
    check_batch(Batch())


@pytest.mark.parametrize("text", ["", "'", "`", "\\", "}", "// x", "%label%", "🌍", "a\nb"])
def test_any_text_can_be_a_value(text: str) -> None:
    check_batch(Batch(nodes=[node(properties={"content": text})], edges=[edge(properties={"content": text})]))


def test_a_naive_time_is_refused_as_a_property() -> None:
    with pytest.raises(Misuse, match="time zone"):
        check_batch(Batch(nodes=[node(properties={"revisionTimestamp": NAIVE})]))


OFFSETS = st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone)
TIMES = st.datetimes(NAIVE - timedelta(days=99_999), NAIVE + timedelta(days=99_999), timezones=OFFSETS)


@given(TIMES)
def test_an_aware_time_keeps_its_instant_and_becomes_utc(value: datetime) -> None:
    assert as_utc(value) == value
    assert as_utc(value).tzinfo is UTC


@given(st.datetimes())
def test_a_naive_time_is_never_guessed(value: datetime) -> None:
    with pytest.raises(Misuse, match="time zone"):
        as_utc(value)


DIRECTED = st.lists(st.floats(-1e6, 1e6), min_size=1).filter(lambda values: math.hypot(*values) > 1e-6)


@given(DIRECTED)
def test_numbers_with_a_direction_are_a_vector_of_their_own_length_only(values: list[float]) -> None:
    check_vector(values)
    check_vector(values, len(values))
    with pytest.raises(InvalidVector, match=f"{len(values)} numbers, expected {len(values) + 1}"):
        check_vector(values, len(values) + 1)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "values", [[], [NAN], [1.0, INF], [-INF, 0.0], [INF, -INF], [0.0, 0.0], [1e300], [1e39], [1e-39]], ids=str
)
def test_what_has_no_length_or_direction_in_single_precision_is_refused_also_inside_a_batch(
    values: list[float],
) -> None:
    with pytest.raises(InvalidVector):
        check_vector(values)
    with pytest.raises(InvalidVector):
        check_batch(Batch(vectors=[Vector(node=HERE, values=values)]))
