"""The questions that graphmill itself asks of a graph: a text of `cypher/<dialect>/asked/` and what goes into it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Self

import cypher
from graph_stores.errors import Misuse
from graph_stores.model import Value

_PARAMETER = re.compile(r"\$(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    name: str
    text: str
    parameters: Mapping[str, Value]

    @classmethod
    def of(cls, dialect: str, name: str, *, project: str, parameters: Mapping[str, Value]) -> Self:
        """An engine may take a parameter that is not given for null, so exactly those of the text must be there."""
        text = _text(dialect, name)
        wanted = set(_PARAMETER.findall(text)) - {"project"}
        if wanted != set(parameters):
            raise Misuse(
                f"the question {name} was given {_listed(parameters)}, expected {_listed(wanted)}",
                hint="give each of its parameters, and no other",
            )
        return cls(name=name, text=text, parameters={**parameters, "project": project})


def _text(dialect: str, name: str) -> str:
    texts = cypher.asked(dialect)
    if name not in texts:
        near = get_close_matches(name, texts, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(texts)}"
        raise Misuse(f"graphmill has no question {name[:60]!r}", hint=hint)
    return texts[name]


def _listed(names: Mapping[str, Value] | set[str]) -> str:
    return ", ".join(sorted(names)) or "no parameters"
