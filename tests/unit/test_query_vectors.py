"""A person who asks for nodes does not get their vectors."""

from typing import Any

import pytest

from graph_stores.model import Table
from orchestrator.cli.query import without_vectors

VECTOR, OTHER = [0.5, 0.25, 1.0], [0.5, 0.25]
WORD = "<3 numbers>"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"_label": "Scope", "embedding": VECTOR, "name": "a"}, {"_label": "Scope", "embedding": WORD, "name": "a"}),
        ({"_label": "Mine", "embedding": OTHER}, {"_label": "Mine", "embedding": "<2 numbers>"}),
        ({"_label": "Mine", "embedding": None, "tags": OTHER}, {"_label": "Mine", "embedding": None, "tags": OTHER}),
        ({"_label": "Mine", "embedding": ["a", "b", "c"]}, {"_label": "Mine", "embedding": ["a", "b", "c"]}),
        ([{"_label": "Scope", "embedding": VECTOR}], [{"_label": "Scope", "embedding": WORD}]),
        (VECTOR, WORD),
        ([VECTOR, VECTOR], [WORD, WORD]),
        (OTHER, OTHER),
        ([1, 2, 3], [1, 2, 3]),
        ("text", "text"),
        (None, None),
    ],
)
def test_vectors_are_elided_and_nothing_else(value: Any, shown: Any) -> None:
    table = without_vectors(Table(columns=["a"], rows=[[value]]), dimension=3)
    assert table.rows == [[shown]]


def test_where_there_is_no_vector_a_list_is_a_list() -> None:
    table = Table(columns=["a"], rows=[[VECTOR]])
    assert without_vectors(table, dimension=None).rows == [[VECTOR]]
