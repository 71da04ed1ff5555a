"""Tables with marks in their columns: which they are, what the rules rest on, and what becomes of each of their rows.

Every column stays under its own name; what graphmill itself writes under that name makes it `_former_…`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from graph_stores.legacy import Held, MigrationRefused, TableGraph
from graph_stores.model import Value, VectorSpace
from orchestrator.migration.columns import not_as_expected
from orchestrator.migration.mapping import MappingFile
from orchestrator.migration.marks import CONTENT, SHORTEST, Marks, is_stale
from orchestrator.migration.rules import Basis, Signs, moment, rule_of
from orchestrator.migration.survey import Model, Models, dimension_of, most_told
from orchestrator.stages import TEXTS
from orchestrator.states import State
from pipelines.embedding.texts import text_hash

_NAMESPACE = uuid5(NAMESPACE_URL, "graphmill:migration")
_TRUE = (True, 1, "true")


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedTables:
    graph: TableGraph
    marks: Marks
    labels: Sequence[str]
    project: str
    mapping: MappingFile | None = None
    given: Model | None = None
    configured: Model | None = None
    dimension: int | None = None
    """Of the vectors that the graph has elsewhere: an embedded one holds vectors of one length."""
    _made: dict[str, Basis] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        graph: TableGraph,
        mapping: MappingFile | None,
        *,
        but: Sequence[str],
        project: str,
        given: Model | None,
        configured: Model | None,
        dimension: int | None,
    ) -> "MappedTables":
        """Those that the mapping names; without its word those of which a column is a mark."""
        marks = mapping.marks if mapping else Marks()
        there = [label for label in graph.tables.nodes if label not in but]
        named = mapping.names.get("labels", ()) if mapping else ()
        labels = [
            label
            for label in there
            if label in named or (not named and any(mark in graph.tables.nodes[label] for mark in marks.telling))
        ]
        if labels and not named:  # as on a server: where others have marks, none is not the same as done
            labels += [
                label
                for label in there
                if label not in labels and (label in marks.labels or "uuid" in graph.tables.nodes[label])
            ]
        return cls(
            graph=graph,
            marks=marks,
            labels=sorted(labels),
            project=project,
            mapping=mapping,
            given=given,
            configured=configured,
            dimension=dimension,
        )

    def check(self) -> None:
        """Refuse a mapping that does not fit the tables, with its line, and ids that are not of one node each."""
        if self.mapping:
            for label in self.mapping.names.get("labels", ()):
                if label not in self.graph.tables.nodes:
                    there = ", ".join(sorted(self.graph.tables.nodes))
                    raise self.mapping.wrong("labels", f"there is no table {label}", f"there are {there}")
            for key, names in self.mapping.names.items():
                if key not in ("labels", "wholes", "never_embedded"):
                    self._check_columns(self.mapping, key, names)
        for label in self.labels:
            for name in self._there(label, self.marks.id):
                self._check_unique(label, name)
        self._check_apart()

    def _check_columns(self, mapping: MappingFile, key: str, names: Sequence[str]) -> None:
        for name in names:
            if not any(name in self.graph.tables.nodes[label] for label in self.labels):
                there = sorted({column for label in self.labels for column in self.graph.tables.nodes[label]})
                raise mapping.wrong(
                    key,
                    f"no table of {', '.join(self.labels) or 'the graph'} has a column {name}",
                    f"there are {', '.join(there)}",
                )

            for label in self.labels:
                kind = self.graph.tables.nodes[label].get(name, "")
                if kind and (wanted := not_as_expected(key, kind)):
                    raise mapping.wrong(key, f"{label}.{name} is of the type {kind}", f"expected {wanted}")

    def _check_unique(self, label: str, name: str) -> None:
        if self.graph.keys[label] == name:
            return
        if rows := self.graph.rows("twins", {}, label=label, column=name):
            raise self._wrong_id(
                f"{label}.{name} is not of one node each: {rows[0][0]!r} is there {rows[0][1]:,} times"
            )

    def _check_apart(self) -> None:
        known = [(label, name) for label in self.labels for name in self._there(label, self.marks.id)[:1]]
        kinds = {label: self.graph.tables.nodes[label][name] for label, name in known}
        for number, (label, name) in enumerate(known):
            for other, column in known[:number]:
                if kinds[label] != kinds[other]:
                    continue
                asked = {"label": label, "column": name, "other": other, "otherColumn": column}
                if rows := self.graph.rows("same_ids", {}, **asked):
                    raise self._wrong_id(f"the id {rows[0][0]!r} is in {other} and in {label}")

    def _wrong_id(self, message: str) -> Exception:
        hint = "name another column, or leave id out: uuids are then made of the table and its key"
        if self.mapping and "id" in self.mapping.names:
            return self.mapping.wrong("id", message, hint)
        return MigrationRefused(message, hint=hint)

    @property
    def basis(self) -> Basis:
        if "" not in self._made:
            self._made[""] = self._settle()
        return self._made[""]

    def _settle(self) -> Basis:
        needs: dict[str, list[str]] = {}
        for label in self.labels:
            for slot in self.marks.slots:
                for name in self._vectors(label, slot.vectors):
                    if self.graph.rows("lengths", {}, label=label, column=name):
                        needs.setdefault(label, []).append(slot.name)
            if label in TEXTS and CONTENT not in needs.get(label, ()):
                needs.setdefault(label, []).append(CONTENT)
        models = self.models()
        model = self.given or self.configured or most_told(models)
        dimension = self.dimension if self.dimension is not None else dimension_of(models, model)
        fits = model is not None and dimension is not None and model.dimension in (None, dimension)
        space = (
            VectorSpace(provider=model.provider, model=model.model, dimension=dimension)
            if model and dimension and fits
            else None
        )
        return Basis(needs=needs, space=space, assumed=bool(model and model.assumed))

    def models(self) -> Models:
        """Which models the rows name for their vectors."""
        found: Models = Counter()
        for label in self.labels:
            found += self.models_of(
                label, [name for slot in self.marks.slots for name in self._vectors(label, slot.vectors)]
            )
        return found

    def models_of(self, label: str, columns: Sequence[str]) -> Models:
        """The same for one table with vectors in these columns. A row counts once, with the first vector it has."""
        found: Models = Counter()
        if not columns:
            return found
        providers, models = self._there(label, self.marks.provider), self._there(label, self.marks.model)
        names = list(dict.fromkeys([*providers, *models]))
        for *values, count in self.graph.rows("vectors_told", {}, columns, names, label=label):
            told = dict(zip(names, values[len(columns) :], strict=True))
            length = _first_of(values[: len(columns)])
            if length is not None:
                provider, model = (_first_of([told[name] for name in each]) for each in (providers, models))
                found[_text(provider), _text(model), int(length)] += count
        return found

    def text_columns(self, label: str) -> list[str]:
        """Where its text may be, the likeliest first."""
        names = [*self.marks.content.texts, *(text for slot in self.marks.slots for text in slot.texts)]
        of_names = [text for slot in self.marks.slots if slot.name == "name" for text in slot.texts]
        return [name for name in self._there(label, names) if name not in of_names or name in self.marks.content.texts]

    def has_texts(self, label: str) -> bool:
        return bool(self.text_columns(label))

    def main_vector(self, label: str) -> str | None:
        """The column whose vectors become those that are searched."""
        return next(
            (name for name in self.vector_columns(label) if self.graph.rows("lengths", {}, label=label, column=name)),
            None,
        )

    def vector_columns(self, label: str) -> list[str]:
        slots = sorted(self.marks.slots, key=lambda slot: slot.name != CONTENT)
        return [name for slot in slots for name in self._vectors(label, slot.vectors)]

    def id_columns(self, label: str) -> list[str]:
        return self._there(label, self.marks.id)

    def uuid_of(self, label: str, ids: Sequence[Value], key: Value) -> str:
        """The id that a row has, or one that is the same every time."""
        given = next((each for each in ids if each is not None and each != ""), None)
        return str(given) if given is not None else str(uuid5(_NAMESPACE, "\0".join((self.project, label, str(key)))))

    def rows(self, label: str, held: Held, connected: Callable[[], set[int]]) -> "MappedRows":
        return MappedRows(tables=self, label=label, held=held, connected=connected)

    def _there(self, label: str, names: Sequence[str]) -> list[str]:
        return [name for name in dict.fromkeys(names) if name in self.graph.tables.nodes[label]]

    def _vectors(self, label: str, names: Sequence[str]) -> list[str]:
        columns = self.graph.tables.nodes[label]
        return [name for name in self._there(label, names) if columns[name].startswith(("FLOAT[", "DOUBLE["))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    rule: str
    state: State
    unknown: str | None
    text: str | None
    keeps_vector: bool


class MappedRows:
    """A page of one table."""

    def __init__(self, *, tables: MappedTables, label: str, held: Held, connected: Callable[[], set[int]]) -> None:
        self._tables = tables
        self._marks = tables.marks
        self._label = label
        self.held = held
        self._count = len(held)
        self._connected = connected
        self._columns: dict[str, list[Any]] = {}

    def decided(self) -> list[Decided]:
        return list(self._decide())

    def _decide(self) -> Iterator[Decided]:
        marks, basis, label = self._marks, self._tables.basis, self._label
        words = [None if word is None else str(word).lower() for word in self._first(self._state_columns())]
        own_words = self._first(marks.state)
        flags = [self._any_true(names) for names in (marks.placeholder, marks.unread, marks.dirty)]
        trusted = self._first(marks.trusted_by)
        provider, model = self._first(marks.provider), self._first(marks.model)
        texts = {name: self.values(name) for name in self._tables.text_columns(label)}
        lengths = {name: self.held.lengths(name) for name in self._tables.vector_columns(label)}
        places = self.values("_place")
        main = self._tables.main_vector(label)
        connected = self._connected()
        chunks = self._first(marks.chunk_count)
        for row in range(self._count):
            there = {name: length[row] for name, length in lengths.items() if length[row] is not None}
            found = next((str(own[row]) for own in texts.values() if own[row] is not None), None)
            goal = marks.words.get(words[row] or "")
            rule, state = rule_of(
                Signs(
                    word=words[row],
                    goal=goal,
                    is_placeholder=flags[0][row],
                    is_unread=flags[1][row],
                    is_dirty=flags[2][row],
                    is_trusted=trusted[row] is not None and own_words[row] is not None,
                    has_vector=bool(there),
                    is_incomplete=self._is_incomplete(row, there)
                    or (label in TEXTS and bool(there) and main not in there)
                    or (isinstance(chunks[row], int) and chunks[row] > 0),
                    is_of_other_length=basis.space is not None
                    and any(length != basis.space.dimension for length in there.values()),
                    is_of_other_model=self._is_of_other_model(provider[row], model[row]),
                    is_stale=bool(there) and self._is_stale(row),
                    is_searched=label in TEXTS,
                    is_whole=label in marks.wholes,
                    is_never_embedded=label in marks.never_embedded,
                    has_text=any(len(str(own[row] or "")) >= SHORTEST for own in texts.values()),
                    is_connected=places[row] in connected,
                )
            )
            kept = state is State.READY and basis.space is not None
            yield Decided(
                rule=rule,
                state=state,
                unknown=words[row] if rule == "10-unknown-word" else None,
                text=found,
                keeps_vector=kept and main in there,
            )

    def written(self, decided: Sequence[Decided], now: datetime) -> dict[str, Value]:
        """What graphmill says of the rows, by column; the vectors are carried over."""
        marks, basis, label = self._marks, self._tables.basis, self._label
        key = self._tables.graph.keys[label]
        ids = [self.values(name) for name in self._tables.id_columns(label)]
        keys = self.values(key)
        uuids = [self._tables.uuid_of(label, [own[row] for own in ids], keys[row]) for row in range(self._count)]
        names = self._first(("name", *marks.name))
        projects = self._first(("projectId",))
        detected, changed = (list(map(moment, self._first(each))) for each in (marks.detected, marks.changed))
        failed = [each.state is State.ERROR for each in decided]
        known = marks.parameters()["errorTypes"]
        types = [known.get(str(each).lower(), "parse") for each in self._first(marks.error_type)]
        messages = self._first(marks.error_message)
        tries = [each if isinstance(each, int) else 0 for each in self._first(marks.retries)]
        kept = [each.keeps_vector for each in decided]
        space = basis.space
        columns: dict[str, Value] = {
            "uuid": uuids,
            "projectId": [str(each or self._tables.project) for each in projects],
            "name": [str(own) if own is not None else uuid for own, uuid in zip(names, uuids, strict=True)],
            "_migratedBy": [each.rule for each in decided],
            "_state": [each.state.value for each in decided],
            "_depth": 0,
            "_retryCount": tries,
            "_detectedAt": [a or b or now for a, b in zip(detected, changed, strict=True)],
            "_stateChangedAt": [b or a or now for a, b in zip(detected, changed, strict=True)],
            "_errorType": [each if bad else None for each, bad in zip(types, failed, strict=True)],
            "_errorClass": ["transient" if bad else None for bad in failed],
            "_errorMessage": [_reason(each, message) for each, message in zip(decided, messages, strict=True)],
            "_contentHash": [None if each is None else str(each) for each in self._first(marks.content_hash)],
        }
        if self._tables.has_texts(label):
            columns |= {
                "content": [each.text for each in decided],
                "_embeddingProvider": [space.provider if space and each else None for each in kept],
                "_embeddingModel": [space.model if space and each else None for each in kept],
                "_embeddingHash": [text_hash(each.text or "") if each.keeps_vector else None for each in decided],
            }
        return columns

    def values(self, name: str) -> list[Any]:
        if name not in self._columns:
            self._columns[name] = self.held.column(name)
        return self._columns[name]

    def _state_columns(self) -> tuple[str, ...]:
        is_file = self._label == "File" or "stateUpdatedAt" in self._tables.graph.tables.nodes[self._label]
        return (*self._marks.state, *(self._marks.file_state if is_file else ()))

    def _first(self, names: Sequence[str]) -> list[Any]:
        """Of several columns the first that has something."""
        there = self._tables.graph.tables.nodes[self._label]
        found: list[Any] = [None] * self._count
        for name in reversed([name for name in names if name in there]):
            found = [own if own is not None else other for own, other in zip(self.values(name), found, strict=True)]
        return found

    def _any_true(self, names: Sequence[str]) -> list[bool]:
        there = self._tables.graph.tables.nodes[self._label]
        found = [False] * self._count
        for name in names:
            if name in there:
                found = [
                    before or (own.lower() if isinstance(own, str) else own) in _TRUE
                    for own, before in zip(self.values(name), found, strict=True)
                ]
        return found

    def _is_incomplete(self, row: int, there: Mapping[str, int | None]) -> bool:
        columns = self._tables.graph.tables.nodes[self._label]
        for slot in self._marks.slots:
            if slot.name not in self._tables.basis.needs.get(self._label, ()) or any(
                name in there for name in slot.vectors
            ):
                continue
            texts = [self.values(name)[row] for name in slot.texts if name in columns]
            hashes = [self.values(name)[row] for name in slot.hashes if name in columns]
            if any(len(str(text or "")) >= SHORTEST for text in texts) or any(each is not None for each in hashes):
                return True
        return False

    def _is_of_other_model(self, provider: Value, model: Value) -> bool:
        basis = self._tables.basis
        if basis.space is None:
            return True
        assumed = (basis.space.provider, basis.space.model) if basis.assumed else ("", "")
        return (provider or assumed[0], model or assumed[1]) != (basis.space.provider, basis.space.model)

    def _is_stale(self, row: int) -> bool:
        columns = self._tables.graph.tables.nodes[self._label]
        hashed = []
        for slot in self._marks.slots:
            stored = [self.values(name)[row] for name in slot.hashes if name in columns]
            texts = [self.values(name)[row] for name in slot.texts if name in columns]
            given = next((each for each in stored if each), None)
            if given:
                hashed.append({"hash": str(given), "texts": [str(text) for text in texts if text is not None]})
        return is_stale(hashed)


def _first_of(values: Sequence[Value]) -> Value:
    return next((each for each in values if each is not None), None)


def _text(value: Value) -> str | None:
    return None if value is None else str(value)


def _reason(decided: Decided, message: Value) -> str | None:
    if decided.rule == "8-nothing-to-embed":
        return "there is nothing to embed in it"
    return str(message) if decided.state in (State.ERROR, State.SKIP) and message is not None else None
