"""Mends what `verify` finds, by sending nodes back to where the work on them goes on from. Does none of that work.

Where the table of states has a move, that move is taken. A node in no legal state is put where its kind begins. What
was made of a damaged file or article is removed, and the source waits to be read again.

Nothing is removed that cannot be made again right now (`Mender.rebuilds`). Where it cannot, the smallest step is taken
that removes nothing, or the node is left as it is, and told.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from graph_stores.model import Edge, ExportedNode, Node, Ref, Value
from graph_stores.protocol import Store
from orchestrator.checking import Check, Example, Mend, Repaired, against
from orchestrator.copying.idle import check_idle
from orchestrator.files.link import LinkFiles
from orchestrator.files.scan import folder_of, new_directory
from orchestrator.leases import owner_name
from orchestrator.lifecycle import Lifecycle
from orchestrator.moves import left_alone, new_node, put, shown_right, transition
from orchestrator.readable_sources import (
    ReadableSources,
    Rule,
    can_all_sources_be_read,
    can_be_read,
    can_its_source_be_read,
    can_wait_to_be_read,
    has_its_words,
    is_known,
)
from orchestrator.removal import rows_of
from orchestrator.settle import unsettle
from orchestrator.states import ErrorClass, ErrorType, State
from orchestrator.stray import send_on
from orchestrator.tally import Tally
from pipelines.files.identity import chunk_uuid, directory_uuid, file_uuid
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mender:
    """How what one check finds is mended.

    `rebuilds` says whether what `mend` removes of a node can be made again right now; None where it removes nothing.
    Where it cannot, the node is left until it can. If its source is not known at all, as after a migration, `otherwise`
    is done, which removes nothing.
    """

    mend: Mend
    rebuilds: Rule | None = None
    otherwise: Mend | None = None


async def repair(store: Store, checks: Sequence[Check], more: Mapping[str, Mend] | None = None) -> list[Repaired]:
    """Mend what can be; refuses while a job runs. `more` are menders of checks that others brought."""
    await check_idle(store)
    menders = {**MENDERS, **{name: Mender(mend=mend) for name, mend in (more or {}).items()}}
    done: dict[str, Repaired] = {}
    for _ in range(_ROUNDS):
        sources = ReadableSources(store)
        mended = 0
        for check in checks:
            if check.name in menders and (found := await against(store, check)):
                now = await _mended(store, check.name, menders[check.name], found, sources)
                mended += now.count
                done[check.name] = _together(done.get(check.name), now)
        if not mended:
            break
    return list(done.values())


async def _mended(
    store: Store, name: str, mender: Mender, found: Sequence[Example], sources: ReadableSources
) -> Repaired:
    able, unable = await _parted(found, mender.rebuilds, sources)
    did = [await mender.mend(store, able)] if able else []
    count = len(able)
    if unable and mender.otherwise:
        unable, sourceless = await _parted(unable, is_known, sources)
        did += [await mender.otherwise(store, sourceless)] if sourceless else []
        count += len(sourceless)
    return Repaired(check=name, count=count, did="; ".join(dict.fromkeys(did)), left=len(unable))


def _together(before: Repaired | None, now: Repaired) -> Repaired:
    return replace(now, count=before.count + now.count, did=now.did or before.did) if before else now


async def _parted(
    found: Sequence[Example], holds: Rule | None, sources: ReadableSources
) -> tuple[Sequence[Example], Sequence[Example]]:
    """Those of which the rule holds, and the others."""
    if holds is None:
        return found, []
    await sources.look_at([each.ref for each in found])
    answers = [(each, await holds(sources, each)) for each in found]
    return [each for each, does in answers if does], [each for each, does in answers if not does]


async def _put_home(store: Store, found: Sequence[Example]) -> str:
    kept = await _remove_pieces(store, [each for each in found if each.label == "Chunk"])
    homes = {each.ref: await _home(store, each.ref) for each in found if each.label != "Chunk"}
    homes |= {ref: State.READY if await _has_vector(store, ref) else State.SKIP for ref in kept}
    await _rewrite(store, list(homes), lambda node: put(node.label, node.properties, homes[_ref(node)], _end(node)))
    return "put where nodes of their kind begin, or are embedded again"


async def _put_to_linked(store: Store, found: Sequence[Example]) -> str:
    """They hold what they held, and are ready when that is at rest."""
    refs = [each.ref for each in found]
    await _rewrite(store, refs, lambda node: put(node.label, node.properties, State.LINKED))
    return "put to linked, because they cannot be read again"


async def _has_vector(store: Store, ref: Ref) -> bool:
    return any(node.properties.get("embedding") is not None for node in await _exported(store, [ref]))


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
    """From the text, which is in the graph."""
    pieces = [piece for each in found for piece in await _pieces(store, each.ref)]
    await Lifecycle(store=store).delete(pieces)
    await _rewrite(store, [each.ref for each in found], lambda node: {**node.properties, "_chunks": None})
    return await _embed_again(store, found)


async def _send_to_be_embedded(store: Store, texts: Sequence[Ref]) -> None:
    """What they are in is then found to be unsettled, and mended for that."""
    rows = await rows_of(store, sorted(set(texts)))
    moves = [transition(row.ref, expected=State.READY, to=State.LINKED) for row in rows if row.state == State.READY]
    await Lifecycle(store=store).move_what_is_still_so(moves)


async def _remove_pieces(store: Store, found: Sequence[Example]) -> list[Ref]:
    """Their texts get new ones when they are embedded again. Returns those that graphmill did not cut from a text."""
    wholes = {each.ref: await _wholes(store, each.ref) for each in found}
    own = [ref for ref, texts in wholes.items() if any(_is_cut_from(text, ref, at) for text, at in texts.items())]
    await Lifecycle(store=store).delete(own)
    await _send_to_be_embedded(store, [text for ref in own for text in wholes[ref]])
    return [each.ref for each in found if each.ref not in own]


async def _send_on(store: Store, found: Sequence[Example]) -> str:
    pieces = [each for each in found if each.label == "Chunk"]
    await _remove_pieces(store, pieces)
    await send_on(Lifecycle(store=store), [each for each in found if each.label != "Chunk"])
    return "sent on to where the work on them goes on"


async def _wait_for_parts(store: Store, _: Sequence[Example]) -> str:
    await unsettle(Lifecycle(store=store))
    return "sent back to linked, to wait for their parts"


async def _put_into_folder(store: Store, found: Sequence[Example]) -> str:
    files = [node for node in await _exported(store, [each.ref for each in found]) if node.properties.get("path")]
    folders, edges = _folders_of(store, files)
    await Lifecycle(store=store).upsert(folders, edges)
    return "put into their folders again"


async def _remove(store: Store, found: Sequence[Example]) -> str:
    pieces = [piece for each in found if each.label != "Chunk" for piece in await _pieces(store, each.ref)]
    await Lifecycle(store=store).delete([*(each.ref for each in found), *pieces])
    return "removed"


async def _remove_twins(store: Store, found: Sequence[Example]) -> str:
    gone: list[Ref] = []
    meant = {each.uuid for each in found}
    for label, place, key, uuids in (await store.ask("twins")).rows:
        if not meant.intersection(uuids):
            continue
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
    nodes, edges = _folders_of(store, files)
    for file in files:
        kept = {name: value for name in _OF_A_FILE if (value := file.properties.get(name)) is not None}
        name = file.properties.get("name") or ""
        nodes.append(new_node(label="File", uuid=file.properties["uuid"], name=name, properties=kept))
    if nodes:
        await lifecycle.upsert(nodes, edges)


def _folders_of(store: Store, files: Sequence[ExportedNode]) -> tuple[list[Node], list[Edge]]:
    """The folders of files, and what puts the files into them."""
    places = {_ref(node): (node.properties.get("root") or "", folder_of(node.properties["path"])) for node in files}
    uuids = {place: directory_uuid(store.project, *place) for place in places.values()}
    nodes = [new_directory(uuids[place], *place, {}) for place in sorted(uuids)]
    edges = [
        Edge(type="IN_DIRECTORY", source=file, target=Ref(label="Directory", uuid=uuids[place]))
        for file, place in places.items()
    ]
    return nodes, edges


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
        changed = [
            replace(node, properties={name: value for name, value in change(node).items() if value is not None})
            for node in nodes
        ]
        if changed:
            await store.restore(changed)


async def _exported(store: Store, refs: Sequence[Ref]) -> list[ExportedNode]:
    by_label: dict[str, list[str]] = defaultdict(list)
    for ref in refs:
        by_label[ref.label].append(ref.uuid)
    return [node for label, uuids in by_label.items() for node in await store.exported(label, uuids)]


async def _wholes(store: Store, piece: Ref) -> dict[Ref, int | None]:
    """The text that a piece is of, and which of its pieces it is."""
    rows = await _asked(store, "wholes", piece)
    return {Ref(label=label, uuid=uuid): index for label, uuid, index in rows}


async def _pieces(store: Store, text: Ref) -> list[Ref]:
    """Those that graphmill has cut from the text: others are somebody's own."""
    found = {Ref(label="Chunk", uuid=uuid): index for uuid, index in await _asked(store, "chunks-of", text)}
    return [piece for piece, index in found.items() if _is_cut_from(text, piece, index)]


def _is_cut_from(text: Ref, piece: Ref, index: int | None) -> bool:
    return index is not None and chunk_uuid(text.uuid, index) == piece.uuid


async def _asked(store: Store, question: str, ref: Ref) -> Sequence[Sequence[Value]]:
    return (await store.ask(question, {"uuid": ref.uuid})).rows


def _ref(node: ExportedNode) -> Ref:
    return Ref(label=node.label, uuid=node.properties["uuid"])


MENDERS: Mapping[str, Mender] = {
    "state": Mender(mend=_put_home, rebuilds=can_wait_to_be_read, otherwise=_put_to_linked),
    "idle-lease": Mender(mend=_leave_alone),
    "missing-lease": Mender(mend=_leave_alone),
    "endless-lease": Mender(mend=_leave_alone),
    "lone-part": Mender(mend=_remove, rebuilds=can_all_sources_be_read),
    "lone-file": Mender(mend=_read_again, rebuilds=can_be_read, otherwise=_put_into_folder),
    "missing-vector": Mender(mend=_embed_again),
    "foreign-vector": Mender(mend=_embed_again, rebuilds=has_its_words),
    "missing-hash": Mender(mend=_embed_again, rebuilds=has_its_words),
    "odd-vector": Mender(mend=_embed_again, rebuilds=has_its_words),
    "stale-vector": Mender(mend=_read_sources_again, rebuilds=can_its_source_be_read, otherwise=_embed_again),
    "lost-piece": Mender(mend=_cut_again, rebuilds=has_its_words),
    "stray": Mender(mend=_send_on),
    "unsettled": Mender(mend=_wait_for_parts),
    "twin": Mender(mend=_remove_twins, rebuilds=can_be_read),
    "expansion-state": Mender(mend=_show_right),
    "outcome": Mender(mend=_show_right),
    "early-run": Mender(mend=_fail_runs),
    "lone-partition": Mender(mend=_remove),
    "early-watermark": Mender(mend=_unmark),
    "watermark-gone-back": Mender(mend=_unmark_source),
    "lost-part": Mender(mend=_read_again, rebuilds=can_be_read),
}
