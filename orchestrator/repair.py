"""Mends what `verify` finds, by sending nodes back to where the work on them goes on from. Does none of that work.

Where the table of states has a move, that move is taken. A node in no legal state is put where its kind begins. What
was made of a damaged file or article is removed, and the source waits to be read again.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from graph_stores.model import Edge, ExportedNode, Ref, Value
from graph_stores.protocol import Store
from orchestrator.checking import Check, Example, Mend, Repaired, against
from orchestrator.copying.idle import check_idle
from orchestrator.files.link import LinkFiles
from orchestrator.files.scan import folder_of, new_directory
from orchestrator.leases import owner_name
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import left_alone, new_node, put, shown_right, transition
from orchestrator.removal import rows_of
from orchestrator.settle import unsettle
from orchestrator.states import ErrorClass, ErrorType, State
from orchestrator.stray import send_on
from orchestrator.tally import Tally
from pipelines.files.identity import directory_uuid, file_uuid
from pipelines.wikipedia.identity import article_uuid, category_uuid

_PAGE = 1000
# One repair may bring another damage to light: a part whose file is gone, a file whose part is.
_ROUNDS = 4
_HOME = {
    **dict.fromkeys(("File", "Article"), State.PENDING),
    **dict.fromkeys(("Directory", "Category", "Wiki"), State.PARSED),
    **dict.fromkeys(("IngestionRun", "Partition"), State.ERROR),
    "Worker": State.SKIP,
}
_UNLINKED = frozenset({State.PARSED, State.LINKING})
_OF_A_FILE = ("root", "path", "extension", "size", "_runId")
_FAILED: Mapping[str, Value] = {
    "_errorType": ErrorType.LINK.value,
    "_errorClass": ErrorClass.PERMANENT.value,
    "_errorMessage": "verify --repair found that it was not what it claimed to be",
}
_IDENTITIES: Mapping[str, Callable[[str, str, str], str]] = {
    "File": file_uuid,
    "Directory": directory_uuid,
    "Article": article_uuid,
    "Category": category_uuid,
}

Change = Callable[[ExportedNode], Mapping[str, Value]]


async def repair(store: Store, checks: Sequence[Check], more: Mapping[str, Mend] | None = None) -> list[Repaired]:
    """Mend what can be; refuses while anybody works on the graph. `more` are menders of checks that others brought."""
    await check_idle(store)
    menders = {**MENDERS, **(more or {})}
    done: dict[str, Repaired] = {}
    for _ in range(_ROUNDS):
        before = sum(each.count for each in done.values())
        for check in checks:
            if check.name in menders and (found := await against(store, check)):
                did = await menders[check.name](store, found)
                count = len(found) + (done[check.name].count if check.name in done else 0)
                done[check.name] = Repaired(check=check.name, count=count, did=did)
        if before == sum(each.count for each in done.values()):
            break
    return list(done.values())


async def _put_home(store: Store, found: Sequence[Example]) -> str:
    pieces = [each for each in found if each.label == "Chunk"]
    await _remove_pieces(store, pieces)
    homes = {each.ref: await _home(store, each.ref) for each in found if each.label != "Chunk"}
    await _rewrite(store, list(homes), lambda node: put(node.label, node.properties, homes[_ref(node)], _end(node)))
    return "put where nodes of their kind begin, or are embedded again"


async def _home(store: Store, ref: Ref) -> State:
    """A text waits for its vector, unless what it is in is still to be linked."""
    if ref.label in _HOME:
        return _HOME[ref.label]
    sources = await _asked(store, "sources-of-text", ref)
    return State.PARSED if any(state in _UNLINKED for *_, state in sources) else State.LINKED


def _end(node: ExportedNode) -> Mapping[str, Value]:
    return _FAILED if _HOME.get(node.label) is State.ERROR else {}


async def _leave_alone(store: Store, found: Sequence[Example]) -> str:
    await _rewrite(store, [each.ref for each in found], lambda node: left_alone(node.label, node.properties))
    return "left without a lease; what was being worked on waits again"


async def _embed_again(store: Store, found: Sequence[Example]) -> str:
    texts = [each.ref for each in found if each.label != "Chunk"]
    texts += [whole for each in found if each.label == "Chunk" for whole in await _wholes(store, each.ref)]
    await _send_to_be_embedded(store, texts)
    return "sent back to linked, to be embedded again"


async def _cut_again(store: Store, found: Sequence[Example]) -> str:
    pieces = [piece for each in found for piece in await _pieces(store, each.ref)]
    await Lifecycle(store=store).delete(pieces)
    await _rewrite(store, [each.ref for each in found], lambda node: {**node.properties, "_chunks": None})
    return await _embed_again(store, found)


async def _send_to_be_embedded(store: Store, texts: Sequence[Ref]) -> None:
    """What they are in is then found to be unsettled, and mended for that."""
    rows = await rows_of(store, sorted(set(texts)))
    moves = [transition(row.ref, expected=State.READY, to=State.LINKED) for row in rows if row.state == State.READY]
    await Lifecycle(store=store).move_what_is_still_so(moves)


async def _remove_pieces(store: Store, found: Sequence[Example]) -> None:
    """Their texts get new ones when they are embedded again."""
    texts = [whole for each in found for whole in await _wholes(store, each.ref)]
    await Lifecycle(store=store).delete([each.ref for each in found])
    await _send_to_be_embedded(store, texts)


async def _send_on(store: Store, found: Sequence[Example]) -> str:
    pieces = [each for each in found if each.label == "Chunk"]
    await _remove_pieces(store, pieces)
    await send_on(Lifecycle(store=store), [each for each in found if each.label != "Chunk"])
    return "sent on to where the work on them goes on"


async def _wait_for_parts(store: Store, _: Sequence[Example]) -> str:
    await unsettle(Lifecycle(store=store))
    return "sent back to linked, to wait for their parts"


async def _remove(store: Store, found: Sequence[Example]) -> str:
    pieces = [piece for each in found if each.label != "Chunk" for piece in await _pieces(store, each.ref)]
    await Lifecycle(store=store).delete([*(each.ref for each in found), *pieces])
    return "removed"


async def _remove_twins(store: Store, _: Sequence[Example]) -> str:
    gone: list[Ref] = []
    for label, place, key, uuids in (await store.ask("twins")).rows:
        right = _IDENTITIES[label](store.project, place or "", key)
        kept = right if right in uuids else min(uuids)
        gone += [Ref(label=label, uuid=uuid) for uuid in uuids if uuid != kept]
    await Lifecycle(store=store).delete(gone)
    return "removed all but the one that its name belongs to"


async def _read_again(store: Store, found: Sequence[Example]) -> str:
    await _read_files_again(store, [each.ref for each in found if each.label == "File"])
    await _read_articles_again(store, [each.ref for each in found if each.label == "Article"])
    return "emptied and sent back to pending, to be read again"


async def _read_files_again(store: Store, refs: Sequence[Ref]) -> None:
    """As if they had been removed and had come back: so all who refer to them are linked anew."""
    files = [node for node in await _exported(store, refs) if node.properties.get("path")]
    lifecycle = Lifecycle(store=store)
    linker = LinkFiles(lifecycle, owner_name(), Tally())
    try:
        await linker.delete([_ref(node) for node in files])
    finally:
        await linker.close()
    folders = {(node.properties.get("root") or "", folder_of(node.properties["path"])) for node in files}
    uuids = {folder: directory_uuid(store.project, *folder) for folder in folders}
    nodes = [new_directory(uuids[folder], *folder, {}) for folder in sorted(folders)]
    edges: list[Edge] = []
    for file in files:
        kept = {name: value for name in _OF_A_FILE if (value := file.properties.get(name)) is not None}
        name = file.properties.get("name") or ""
        node = new_node(label="File", uuid=file.properties["uuid"], name=name, properties=kept)
        folder = (file.properties.get("root") or "", folder_of(file.properties["path"]))
        edges.append(Edge(type="IN_DIRECTORY", source=node.ref, target=Ref(label="Directory", uuid=uuids[folder])))
        nodes.append(node)
    if nodes:
        await lifecycle.upsert(nodes, edges)


async def _read_articles_again(store: Store, refs: Sequence[Ref]) -> None:
    sections = [
        Ref(label="Section", uuid=uuid) for ref in refs for (uuid,) in (await _asked(store, "sections-of", ref))
    ]
    pieces = [piece for section in sections for piece in await _pieces(store, section)]
    await Lifecycle(store=store).delete([*sections, *pieces])
    unread = {"_sections": None, "_contentHash": None}
    await _rewrite(store, refs, lambda node: put(node.label, node.properties, State.PENDING, unread))


async def _read_sources_again(store: Store, found: Sequence[Example]) -> str:
    """Whether it is the text or its hash that is wrong, only the source knows."""
    sources = {
        Example(label=label, uuid=uuid, found="")
        for each in found
        if each.label != "Chunk"
        for label, uuid, _ in await _asked(store, "sources-of-text", each.ref)
    }
    await _embed_again(store, [each for each in found if each.label == "Chunk"])
    return await _read_again(store, sorted(sources, key=lambda each: each.uuid))


async def _show_right(store: Store, found: Sequence[Example]) -> str:
    await _rewrite(store, [each.ref for each in found], lambda node: shown_right(node.label, node.properties))
    return "given the word that belongs to their state"


async def _fail_runs(store: Store, found: Sequence[Example]) -> str:
    failed = {**_FAILED, "watermarkAfter": None}
    await _rewrite(
        store, [each.ref for each in found], lambda node: put(node.label, node.properties, State.ERROR, failed)
    )
    return "marked as failed, without their watermark: the next run reads everything"


async def _unmark(store: Store, found: Sequence[Example]) -> str:
    await _rewrite(store, [each.ref for each in found], lambda node: {**node.properties, "watermarkAfter": None})
    return "left without a watermark"


async def _unmark_source(store: Store, found: Sequence[Example]) -> str:
    """Which of its watermarks is wrong nobody can tell."""
    sources = {node.properties.get("source") or "" for node in await _exported(store, [each.ref for each in found])}
    runs = [
        Ref(label="IngestionRun", uuid=uuid)
        for source in sorted(sources)
        for (uuid,) in (await store.ask("marks-of-source", {"source": source})).rows
    ]
    await _rewrite(store, runs, lambda node: {**node.properties, "watermarkAfter": None})
    return "all runs of the source left without a watermark: the next run reads everything"


async def _rewrite(store: Store, refs: Sequence[Ref], change: Change) -> None:
    for start in range(0, len(refs), _PAGE):
        nodes = await _exported(store, refs[start : start + _PAGE])
        changed = [replace(node, properties=_without_nothing(change(node))) for node in nodes]
        if changed:
            await store.restore(changed)


def _without_nothing(properties: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in properties.items() if value is not None}


async def _exported(store: Store, refs: Sequence[Ref]) -> list[ExportedNode]:
    by_label: dict[str, list[str]] = defaultdict(list)
    for ref in refs:
        by_label[ref.label].append(ref.uuid)
    return [node for label, uuids in by_label.items() for node in await store.exported(label, uuids)]


async def _wholes(store: Store, piece: Ref) -> list[Ref]:
    rows = (await store.ask("wholes", {"uuid": piece.uuid})).rows
    return [Ref(label=label, uuid=uuid) for label, uuid in rows]


async def _pieces(store: Store, text: Ref) -> list[Ref]:
    return [Ref(label="Chunk", uuid=uuid) for (uuid,) in await _asked(store, "chunks-of", text)]


async def _asked(store: Store, question: str, ref: Ref) -> Sequence[Sequence[Value]]:
    return (await store.ask(question, {"uuid": ref.uuid})).rows


def _ref(node: ExportedNode) -> Ref:
    return Ref(label=node.label, uuid=node.properties["uuid"])


MENDERS: Mapping[str, Mend] = {
    "state": _put_home,
    "idle-lease": _leave_alone,
    "missing-lease": _leave_alone,
    "endless-lease": _leave_alone,
    "lone-part": _remove,
    "lone-file": _read_again,
    "missing-vector": _embed_again,
    "foreign-vector": _embed_again,
    "missing-hash": _embed_again,
    "odd-vector": _embed_again,
    "stale-vector": _read_sources_again,
    "lost-piece": _cut_again,
    "stray": _send_on,
    "unsettled": _wait_for_parts,
    "twin": _remove_twins,
    "expansion-state": _show_right,
    "outcome": _show_right,
    "early-run": _fail_runs,
    "lone-partition": _remove,
    "early-watermark": _unmark,
    "watermark-gone-back": _unmark_source,
    "lost-part": _read_again,
}
