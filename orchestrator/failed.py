"""The nodes that are in error: how many of each kind, and which, with the place in the source that each came from."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph_stores.model import NodeRow, Ref, Select
from graph_stores.protocol import Store
from orchestrator.files.located import FilesHere
from orchestrator.states import RECORDS, ErrorClass, ErrorType, State

_PAGE = 500
_Origin = tuple[str | None, str | None, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """An empty one lets everything through."""

    error_type: ErrorType | None = None
    error_class: ErrorClass | None = None
    labels: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Failures that are told apart by nothing but the node."""

    label: str
    error_type: str
    error_class: str
    message: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A node in error; `source` is `root/path:line`, as far as it is known, and `path` the file on this machine."""

    uuid: str
    label: str
    name: str
    error_type: str
    error_class: str
    message: str
    retry_count: int
    source: str | None
    path: str | None = None
    line: int | None = None

    def document(self) -> dict[str, Any]:
        """The shape that `errors --json` promises."""
        return {
            "uuid": self.uuid,
            "label": self.label,
            "name": self.name,
            "errorType": self.error_type,
            "message": self.message,
            "retryCount": self.retry_count,
            "class": self.error_class,
            "source": self.source,
            "path": self.path,
            "line": self.line,
        }


async def kinds(store: Store, which: Filter) -> list[Kind]:
    """What went wrong, most frequent first."""
    answer = await store.ask(
        "failures",
        {"type": which.error_type or "", "class": which.error_class or "", "labels": list(which.labels) or [""]},
    )
    found = [
        Kind(label=label, error_type=kind or "", error_class=grade or "", message=message or "", count=count)
        for label, kind, grade, message, count in answer.rows
    ]
    return sorted(found, key=lambda each: (-each.count, each.label))


async def failed(store: Store, which: Filter, *, limit: int | None) -> list[Failed]:
    """The nodes themselves, by label and uuid; all of them without a limit."""
    found: list[Failed] = []
    here: FilesHere | None = None
    async for page in _pages(store, which):
        rows = [row for row in page if row.label not in RECORDS]  # of runs tells `runs`
        here = here or await FilesHere.of(store)
        origins = await _origins(store, rows)
        found += [_failed(row, origins.get(row.uuid), here) for row in rows]
        if limit is not None and len(found) >= limit:
            return found[:limit]
    return found


async def overview(store: Store, which: Filter, *, limit: int) -> tuple[list[Kind], list[Failed]]:
    return await kinds(store, which), await failed(store, which, limit=limit)


async def _pages(store: Store, which: Filter) -> AsyncIterator[list[NodeRow]]:
    after: Ref | None = None
    while rows := await store.nodes(
        Select(
            labels=which.labels,
            states=[State.ERROR.value],
            error_type=which.error_type,
            error_class=which.error_class,
            after=after,
            limit=_PAGE,
        )
    ):
        yield rows
        after = rows[-1].ref


async def _origins(store: Store, rows: Sequence[NodeRow]) -> Mapping[str, _Origin]:
    answer = await store.ask("origins", {"uuids": [row.uuid for row in rows]})
    return {uuid: (root, path, line) for uuid, root, path, line in answer.rows}


def _failed(row: NodeRow, origin: _Origin | None, here: FilesHere) -> Failed:
    root, path, line = origin or (None, None, None)
    return Failed(
        uuid=row.uuid,
        label=row.label,
        name=row.name,
        error_type=row.error_type or "",
        error_class=row.error_class or "",
        message=row.error_message or "",
        retry_count=row.retry_count,
        source="/".join(filter(None, [root, path])) + (f":{line}" if line else "") if origin else None,
        path=here.path_of(root, path),
        line=line or None,
    )
