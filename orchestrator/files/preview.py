"""What a run over some roots would do, without doing it: `ingest --dry-run`. Reads files and the graph, writes nothing.

Uses the walk, the comparison and the checks of the run itself, so that the two agree.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from graph_stores.protocol import Store
from orchestrator.files.looks import UNREADABLE, reason_since, reason_to_skip
from orchestrator.files.roots import KIND, Root, Source, read_roots, resolve_all
from orchestrator.files.scan import Known, View, distrusted_since, known_files, portions
from orchestrator.runs.course import watermark_of
from orchestrator.runs.sources import MassDeletion
from orchestrator.states import ErrorType, State
from pipelines.files.content import hash_file
from pipelines.files.walk import Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file without text in the graph, or a folder that is not looked into."""

    path: str
    reason: str


@dataclass(slots=True)
class Preview:
    """`unchanged` counts files with text; those without are in `skipped`, whether the graph has them or not."""

    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    refusals: list[MassDeletion] = field(default_factory=list)
    """Why the run would fail and delete nothing."""

    def add(self, other: "Preview", *, prefix: str) -> None:
        self.new += [prefix + path for path in other.new]
        self.changed += [prefix + path for path in other.changed]
        self.deleted += [prefix + path for path in other.deleted]
        self.unchanged += other.unchanged
        self.skipped += [replace(each, path=prefix + each.path) for each in other.skipped]
        self.refusals += other.refusals


async def preview(
    store: Store | None, sources: Sequence[Source], *, own: Path | None, rehash: bool, allow_deletes: bool
) -> Preview:
    """Without a store there is no graph yet. RootMissing and Misuse as from the run."""
    roots = resolve_all(sources, await read_roots(store) if store else {})
    whole = Preview()
    for root in roots.values():
        known = await known_files(store, root) if store else {}
        last = await watermark_of(store, f"{KIND}:{root.name}") if store else None
        since = distrusted_since(last.watermark_after if last else None)
        one = await _preview_of(_Comparison(root, known, rehash, since), own, allow_deletes=allow_deletes)
        # Where there are several roots, paths are as search results show them.
        whole.add(one, prefix=f"{root.name}/" if len(roots) > 1 else "")
    return whole


@dataclass(frozen=True, slots=True)
class _Comparison:
    root: Root
    known: dict[str, Known]
    rehash: bool
    distrusted: float

    def compare(self, files: Sequence[Found], into: Preview) -> None:
        for found in files:
            known = self.known.get(found.path)
            if known is None or (known.hash is None and known.state in (State.PENDING, State.PARSING)):
                self._read(found, into.new, into)
            elif known.state == State.PENDING or known.was_cancelled or self._is_changed(known, found):
                self._read(found, into.changed, into)
            elif reason := self._reason_kept(known, found):
                into.skipped.append(Skipped(path=found.path, reason=reason))
            else:
                into.unchanged += 1

    def _read(self, found: Found, readable: list[str], into: Preview) -> None:
        try:
            reason = reason_to_skip(self.root, found.path)
        except (FileNotFoundError, NotADirectoryError):
            return  # gone since it was found
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
        if reason is None:
            readable.append(found.path)
        else:
            into.skipped.append(Skipped(path=found.path, reason=reason))

    def _is_changed(self, known: Known, found: Found) -> bool:
        if not (self.rehash or known.is_doubtful(found, self.root, self.distrusted)):
            return False
        try:
            digest = hash_file(self.root.place_of(found.path))
        except OSError:
            digest = UNREADABLE
        return not known.has(digest) or (known.has_secret and self.root.rules.allow_secrets)

    def _reason_kept(self, known: Known, found: Found) -> str | None:
        """Why there is no text of an unchanged file, or will be none."""
        is_unread = known.state == State.ERROR and known.error_type == ErrorType.PARSE
        if known.state == State.SKIP or is_unread:
            return known.reason
        if self.root.secrets_checked or self.root.rules.allow_secrets or not known.hash:
            return None
        return reason_since(self.root, found.path)


async def _preview_of(comparison: _Comparison, own: Path | None, *, allow_deletes: bool) -> Preview:
    root, known, into, view = comparison.root, comparison.known, Preview(), View()
    async for portion in portions(root, own=own, explain=True):
        await asyncio.to_thread(comparison.compare, view.add(portion), into)
    into.deleted = view.gone(known)
    into.skipped += [Skipped(path=each.path, reason=each.reason) for each in view.left_out]
    into.skipped += [Skipped(path=each.shown, reason=each.reason) for each in view.excluded.values()]
    into.skipped.sort(key=lambda each: each.path)
    if not allow_deletes and (refusal := await asyncio.to_thread(view.refusal, root, known)):
        into.refusals.append(refusal)
    return into
