"""Values as a person writes them into Cypher."""

import json
from collections.abc import Mapping, Sequence

from graph_stores.model import Value


class Written(str):
    """Already as it is written."""

    __slots__ = ()


def literal(value: Value) -> str:
    match value:
        case Written():
            return str(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Mapping():
            return "{" + ", ".join(f"`{key}`: {literal(item)}" for key, item in value.items()) + "}"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Sequence():
            return "[" + ", ".join(map(literal, value)) + "]"
    return str(value)
