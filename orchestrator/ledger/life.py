"""One node's life, and nodes whose life has come to a halt."""

from collections.abc import Iterator, Sequence

from graph_stores.errors import GraphmillError
from orchestrator.ledger.files import File
from orchestrator.ledger.holes import step_before
from orchestrator.ledger.latest import Latest
from orchestrator.ledger.lines import Record, decode_record
from orchestrator.ledger.reading import Reading, opened
from orchestrator.ledger.record import time_text
from orchestrator.states import RECORDS, WORKING
from pipelines.files.identity import directory_uuid, file_uuid
from pipelines.wikipedia.identity import article_uuid

_MOST_NAMED = 5


class UnknownNode(GraphmillError):
    code = "unknown_node"


class AmbiguousNode(GraphmillError):
    code = "ambiguous_node"


def life_of(files: Sequence[File], start: str, *, project: str = "") -> list[Record]:
    """Every change of the one node whose id begins so, the first one first; or of what the project calls that."""
    found = list(_beginning_with(files, [start]))
    nodes = sorted({record.node for record in found})
    if start in nodes:
        nodes = [start]
    if not nodes:
        called = _called(project, start)
        found = list(_beginning_with(files, called))
        nodes = [uuid for uuid in called if any(record.node == uuid for record in found)][:1]
    if not nodes:
        raise UnknownNode(
            f"the ledger has nothing about a node {start}",
            hint="expected the uuid of a node or how it begins, the path of a file in its root such as notes/todo.md, "
            "or a title with its wiki such as enwiki:Mill",
        )
    if len(nodes) > 1:
        more = f" and {len(nodes) - _MOST_NAMED:,} more" if len(nodes) > _MOST_NAMED else ""
        raise AmbiguousNode(
            f"{len(nodes):,} nodes begin with {start}: {', '.join(nodes[:_MOST_NAMED])}{more}", hint="give more of it"
        )
    return in_order([record for record in found if record.node == nodes[0]])


def in_order(records: Sequence[Record]) -> list[Record]:
    """By time, and within one moment each behind the one that it follows from; what was heard twice is told once.

    What a killed process could not write down is there, marked as reconciled, where the next change tells it.
    """
    heard = {(record.at, record.after) for record in records if not record.reconciled}
    left = sorted(
        (record for record in records if not record.reconciled or (record.at, record.after) not in heard),
        key=lambda record: record.at,
    )
    ordered: list[Record] = []
    while left:
        moment = [record for record in left if record.at == left[0].at]
        state = ordered[-1].after if ordered else None
        chosen = next((record for record in moment if record.before == state), None) or _source(moment)
        left.remove(chosen)
        if ordered and chosen.before != state and (missing := step_before(chosen, known=state, since=ordered[-1].at)):
            ordered.append(missing)
        ordered.append(chosen)
    return ordered


def stuck(reading: Reading, *, before: int) -> list[Latest]:
    """Nodes that somebody began to work on before a time, and that nothing was heard of since; the oldest first."""
    limit = time_text(before)
    found = [
        each for each in reading.latest() if each.state in WORKING and each.at < limit and each.label not in RECORDS
    ]
    return sorted(found, key=lambda each: each.at)


def _source(moment: Sequence[Record]) -> Record:
    """The one that follows from none of the others."""
    reached = {record.after for record in moment}
    return next((record for record in moment if record.before not in reached), moment[0])


def _called(project: str, name: str) -> list[str]:
    """The ids of what may be called so, which follow from the name; the one with the longest path first."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    places = [(root, "/".join(parts[place + 1 :])) for place, root in enumerate(parts)]
    wiki, _, title = name.partition(":")
    return [
        *(file_uuid(project, root, path) for root, path in places),
        *(directory_uuid(project, root, path) for root, path in places),
        article_uuid(project, wiki, title.replace("_", " ")),
    ]


def _beginning_with(files: Sequence[File], starts: Sequence[str]) -> Iterator[Record]:
    wanted = [start.encode() for start in starts]
    for file in files:
        for line in opened(file).lines():
            # Most lines are of others: those are not decoded.
            if any(each in line for each in wanted) and (record := decode_record(line)).node.startswith(tuple(starts)):
                yield record
