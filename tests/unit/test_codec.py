"""What crosses the owner's socket comes out as it went in, and what is not of its type never comes out."""

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_stores.kuzu.codec import Malformed, decode, encode
from graph_stores.model import (
    Batch,
    Edge,
    Fence,
    Lease,
    Marks,
    Node,
    NodeRow,
    Progress,
    Ref,
    Select,
    StateCount,
    Transition,
    Unlink,
    Update,
    Vector,
    VectorSpace,
)
from graph_stores.protocol import SchemaStatus

NOON = datetime(2026, 3, 4, 12, 0, 0, 123456, tzinfo=UTC)
FILE = Ref(label="File", uuid="a")
BATCH = Batch(
    transitions=[
        Transition(
            node=FILE, expected="pending", to="parsing", token="t", delay=0.5,
            marks=Marks(set={"size": 3, "at": NOON, "tags": ["a", "b"], "none": None}, stamp=("_parsedAt",)),
        )
    ],
    deletions=[FILE],
    unlinks=[Unlink(source=FILE, type="LINKS_TO")],
    nodes=[Node(label="File", uuid="b", name='quo"te\n\ud800', state="pending", depth=2, initial={"x": 1.5})],
    updates=[Update(node=FILE, properties={"size": 2**63 - 1}), Update(node=FILE, name="other")],
    edges=[Edge(type="LINKS_TO", source=FILE, target=FILE, properties={"count": 1})],
    vectors=[Vector(node=FILE, values=[1.0, 0.1]), Vector(node=FILE, values=None)],
    fence=Fence(name="root", token="t"),
)  # fmt: skip
ROW = NodeRow(
    label="File", uuid="a", project="p", name="n", state="parsing", depth=0, retry_count=1, detected_at=NOON,
    state_changed_at=NOON, not_before=None, error_type=None, error_class=None, error_message=None,
    lease=Lease(owner="w", token="t", until=NOON), properties={"path": "x/y", "when": NOON},
)  # fmt: skip
PROGRESS = Progress(counts=[StateCount(label="File", state="ready", count=2)], errors=[], finished=1)


def over_the_wire(value: object, hint: Any) -> Any:
    return decode(json.loads(json.dumps(encode(value, hint))), hint)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (BATCH, Batch),
        (Batch(), Batch),
        ([ROW], list[NodeRow]),
        (Select(labels=["File"], after=FILE, expired=True), Select),
        (PROGRESS, Progress),
        (SchemaStatus(found=None, newest=4), SchemaStatus),
        (None, VectorSpace | None),
        (VectorSpace(provider="a", model="b", dimension=3), VectorSpace | None),
    ],
)
def test_rows_come_out_as_they_went_in(value: object, hint: Any) -> None:
    assert over_the_wire(value, hint) == value


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]))
    | st.datetimes()
    | st.dates()
    | st.timedeltas()
    | st.binary()
    | st.uuids()
    | st.decimals(allow_nan=False),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.just("$"), inner)
        | st.dictionaries(st.integers() | st.dates(), inner)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_any_value_of_a_graph_comes_out_as_it_went_in(value: object) -> None:
    out = over_the_wire(value, Any)
    assert out == value
    assert type(out) is type(value)


def test_numbers_of_an_array_can_be_sent() -> None:
    vector = Vector(node=FILE, values=np.array([0.5, 0.25], dtype=np.float32))  # type: ignore[arg-type]
    assert over_the_wire(vector, Vector).values == [0.5, 0.25]


def test_a_value_that_json_cannot_hold_is_refused_by_its_type() -> None:
    with pytest.raises(TypeError, match="complex"):
        encode({"x": 1j}, Any)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strict:
    number: int
    word: str = ""


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (None, Batch),
        ([], Batch),
        ("x", Batch),
        ({"word": "x"}, Strict),
        ({"number": 1, "other": 2}, Strict),
        ({"number": True}, Strict),
        ({"number": "1"}, Strict),
        ({"number": 1.5}, Strict),
        ({"number": 1, "word": None}, Strict),
        ({"transitions": {}}, Batch),
        ({"transitions": [1]}, Batch),
        ({"nodes": [{"label": "File", "uuid": ["a"], "name": "", "state": ""}]}, Batch),
        ({"provider": "a", "model": "b", "dimension": []}, VectorSpace),
        ([1, "x"], list[float]),
        ([True], list[float]),
        (3, datetime),
        ("yesterday", datetime),
        ({"$": "datetime", "of": "yesterday"}, Any),
        ({"$": "datetime"}, Any),
        ({"$": "duration", "of": {}}, Any),
        ({"$": "duration", "of": [1]}, Any),
        ({"$": "duration", "of": [10**30, 0, 0]}, Any),
        ({"$": "bytes", "of": "***"}, Any),
        ({"$": "decimal", "of": "x"}, Any),
        ({"$": "uuid", "of": 5}, Any),
        ({"$": "map", "of": [[1]]}, Any),
        ({"$": "map", "of": [[[], 1]]}, Any),
        ({"$": "type", "of": "os.system"}, Any),
        ({"$": ["map"], "of": []}, Any),
    ],
)
def test_what_is_not_of_its_type_is_malformed(data: object, hint: Any) -> None:
    with pytest.raises(Malformed):
        decode(data, hint)


def test_kinds_that_look_alike_stay_apart() -> None:
    values = [date(2026, 1, 1), datetime(2026, 1, 1), "2026-01-01", UUID(int=1), str(UUID(int=1)), Decimal(1), 1, True]
    assert [type(each) for each in over_the_wire(values, Any)] == [type(each) for each in values]
