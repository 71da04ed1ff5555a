"""A mapping file: what the marks of a graph that nobody knows are called, and what its words mean.

Adds to what is recognised unasked. Whatever is wrong in it is refused with its line, before anything is read.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import cypher
from graph_stores.errors import Misuse
from orchestrator.migration.marks import CONTENT, Marks
from orchestrator.states import WORKING, State

_STATES = tuple(state.value for state in State if state not in WORKING)
# By key of the file: the field of Marks that the names are put before.
_NAMES = {
    "state": "state",
    "dirty": "dirty",
    "unread": "unread",
    "placeholder": "placeholder",
    "id": "id",
    "name": "name",
    "provider": "provider",
    "model": "model",
    "content_hash": "content_hash",
    "error_type": "error_type",
    "error_message": "error_message",
    "retries": "retries",
    "labels": "labels",
    "wholes": "wholes",
    "never_embedded": "never_embedded",
}
_OF_TEXT = {"text": "texts", "vector": "vectors", "vector_hash": "hashes"}
_KEYS = (*_NAMES, *_OF_TEXT, "words")


class InvalidMapping(Misuse):
    code = "invalid_mapping"


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingFile:
    """The marks of a file, before those that are known anyway; `names` are those that it gives itself, by its keys."""

    marks: Marks
    names: Mapping[str, tuple[str, ...]]
    wrong: Callable[[str, str, str], InvalidMapping]
    """What is wrong about a key, and what to do about it, with the line of the key."""


def read_mapping(path: Path) -> Marks:
    """The marks of the file, before those that are known anyway."""
    return read_mapping_file(path).marks


def read_mapping_file(path: Path) -> MappingFile:
    try:
        text = path.read_text(encoding="utf-8")
        written = tomllib.loads(text)
    except OSError as error:
        raise InvalidMapping(f"cannot read {path}: {error.strerror}", hint="check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidMapping(
            f"{path} is not a TOML file: {error}", hint='write key = "value", and names in quotes'
        ) from error
    file = _File(path=path, lines=text.splitlines())
    marks = file.marks(written)
    names = {key: file.names(key, value) for key, value in written.items() if key != "words"}
    return MappingFile(marks=marks, names=names, wrong=file.wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    path: Path
    lines: Sequence[str]

    def marks(self, written: Mapping[str, Any]) -> Marks:
        for key in written:
            if key not in _KEYS:
                near = get_close_matches(key, _KEYS, n=1)
                hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(_KEYS)}"
                raise self.wrong(key, f"{key!r} is nothing that a mapping says", hint)
        marks = Marks()
        names = {key: self.names(key, value) for key, value in written.items() if key != "words"}
        changes: dict[str, Any] = {
            field: _before(names[key], getattr(marks, field)) for key, field in _NAMES.items() if key in names
        }
        if "id" in names:
            changes["id"] = (*names["id"], "uuid")
        of_text: dict[str, Any] = {
            field: _before(names[key], getattr(marks.content, field)) for key, field in _OF_TEXT.items() if key in names
        }
        content = replace(marks.content, **of_text)
        changes["slots"] = tuple(content if slot.name == CONTENT else slot for slot in marks.slots)
        changes["words"] = {**marks.words, **self._words(written.get("words", {}))}
        return replace(marks, **changes)

    def names(self, key: str, value: object) -> tuple[str, ...]:
        given = [value] if isinstance(value, str) else value
        if not isinstance(given, list) or not given or not all(isinstance(each, str) for each in given):
            raise self.wrong(key, f"{key} is {value!r}, expected a name or a list of names", f'write {key} = "name"')
        for name in given:
            if not cypher.is_identifier(name):
                hint = "use letters, digits and underscores"
                raise self.wrong(key, f"{name[:60]!r} in {key} cannot be the name of a property or label", hint)
        return tuple(given)

    def _words(self, words: object) -> dict[str, str]:
        if not isinstance(words, dict):
            raise self.wrong(
                "words", f"words is {words!r}, expected a table of words", 'write [words] and then word = "ready"'
            )
        for word, state in words.items():
            if state not in _STATES:
                hint = f"expected one of {', '.join(_STATES)}"
                raise self.wrong(word, f"the word {word!r} means {state!r}, which is no state to come to rest in", hint)
        return {word.lower(): state for word, state in words.items()}

    def wrong(self, key: str, message: str, hint: str) -> InvalidMapping:
        return InvalidMapping(f"{self.path}, line {self._line(key)}: {message}", hint=hint)

    def _line(self, key: str) -> int:
        pattern = re.compile(rf"""\s*\[?\s*["']?{re.escape(key)}["']?\s*[=\].]""")
        return next((number for number, line in enumerate(self.lines, 1) if pattern.match(line)), 1)


def _before(names: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*names, *known)))
