"""The migration of a graph in tables with keys of their own: a new graph takes the old one's place.

An older expansion gets the uuids that `expand` would give, so that it goes on with these articles and makes none twice.
Tables with marks, known ones or those of a mapping, become labels of graphmill's; others go over as they are.
Killed before the new graph has taken its place, the old one is untouched, and the same command goes on: what was read
and decided lies in pages on disk, and only loading them begins anew.
"""

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from graph_stores.legacy import MigrationRefused, Moved, Staging, TableGraph
from graph_stores.model import Value, VectorSpace
from orchestrator.migration.carry import mapped_page
from orchestrator.migration.found import TEXTS, OldTables, finalized_at, when
from orchestrator.migration.listing import copies, questions
from orchestrator.migration.looked import miscounted
from orchestrator.migration.making import Making, Step, TableWishes, article_pages
from orchestrator.migration.mapped import MappedTables
from orchestrator.migration.pages import read_page
from orchestrator.migration.rebuild import KEPT_APART, KNOWN, MARKED, spans
from orchestrator.migration.report import Found, Outcome, Problem, summed
from orchestrator.migration.survey import Model, other_models
from orchestrator.migration.tally import Tallied
from orchestrator.migration.wiki import KnownWiki
from orchestrator.states import RECORDS, State

# What is written into pages; another number and they are made anew.
_FORM = 1


class TableMigration:
    def __init__(self, graph: TableGraph, wishes: TableWishes, progress: Callable[[int, int], None]) -> None:
        self._graph = graph
        self._wishes = wishes
        self._progress = progress
        self._old = OldTables(graph, wishes)

    async def detect(self) -> Found:
        return await self._graph.in_thread(self._old.detect)

    async def plan(self) -> Outcome:
        return await self._graph.in_thread(self._plan)

    async def cypher(self) -> str:
        self._old.refuse_others()
        wiki = await self._wishes.wiki.known()
        return await self._graph.in_thread(lambda: self._cypher(wiki))

    async def apply(self) -> Outcome:
        if record := self._old.record:
            return Outcome(store=self._graph.url, moved=[], backup=self._old.backup, finalized=when(record), again=True)
        self._old.refuse_others()
        wiki = await self._wishes.wiki.known()
        return await self._graph.in_thread(lambda: self._apply(wiki))

    async def validate(self) -> Outcome:
        if not self._old.record:
            raise MigrationRefused("this graph was not migrated", hint="see: graphmill migrate detect")
        return await self._graph.in_thread(self._validate)

    async def rollback(self, *, accept_losses: bool = False) -> Outcome:
        record = self._old.record
        # Of a backup that was being dropped when somebody was killed nobody knows how much there is.
        if not record or record.get("finalized") or not self._graph.backup.exists():
            raise MigrationRefused(
                f"the migration was finalized{finalized_at(record)}: what it replaced is not there any more"
                if record.get("finalized")
                else "there is nothing to undo: this graph was not migrated",
                hint="only a backup of your own can bring it back" if record else "see: graphmill migrate detect",
            )
        lost = await self._graph.in_thread(self._made_since)
        if lost and not accept_losses:
            counts = ", ".join(f"{label} ({count:,})" for label, count in lost.items())
            raise MigrationRefused(
                f"the old file takes the place of this one, and what was read since would be gone: {counts}",
                hint=f"keep it: graphmill copy {self._graph.url} NEW; "
                "or lose it: graphmill migrate rollback --accept-losses",
            )
        count = sum(each[3] for each in record.get("rules", ()))
        await self._graph.in_thread(lambda: self._restore(record))
        moved = [Moved(rule="rollback", label="", to="as before", count=count)]
        return Outcome(store=self._graph.url, moved=moved, lost=lost)

    def _made_since(self) -> dict[str, int]:
        """Nodes of sources that no migration has moved, by label. Pieces are made of texts, which are counted."""
        found = {}
        for label, columns in sorted(self._graph.tables.nodes.items()):
            if label in RECORDS or label in ("Wiki", "Chunk") or "_state" not in columns:
                continue
            count = (
                self._graph.rows("made_since", {}, label=label)[0][0]
                if MARKED in columns
                else self._graph.places(label)[1]
            )
            if count:
                found[label] = count
        return found

    async def finalize(self) -> Outcome:
        record = self._old.record
        if record.get("finalized") and self._graph.backup.exists():
            await self._graph.in_thread(self._graph.drop_backup)
            return Outcome(store=self._graph.url, moved=[])
        if not record or record.get("finalized"):
            raise MigrationRefused(
                f"there is nothing to finish: the migration was finalized{finalized_at(record)}"
                if record
                else "there is nothing to finish: no node was migrated",
                hint="see: graphmill migrate detect",
            )
        count = sum(each[3] for each in record["rules"])
        await self._graph.in_thread(lambda: self._finalize(record))
        return Outcome(store=self._graph.url, moved=[Moved(rule="finalize", label="", to="final", count=count)])

    def _plan(self) -> Outcome:
        self._old.refuse_others()
        mapped = self._old.mapped()
        tally = Tallied()
        if self._old.is_expansion:
            kept = self._old.expansion_space() is not None
            for first, last in article_pages(self._graph):
                tally.add(read_page(self._graph, first, last, kept=kept, retry_empty=self._wishes.retry_empty))
            if "Category" in self._graph.tables.nodes:
                tally.count("c-category", "Category", State.PARSED, self._graph.places("Category")[1])
            self._plan_lone(tally, kept=kept)
        for label in mapped.labels:
            for within in spans(self._graph, label):
                tally.decided(label, mapped_page(self._graph, mapped, label, within))
        outcome = self._outcome(tally, mapped)
        if self._wishes.model:
            return outcome
        space = self._old.space(mapped)
        known = Model(provider=space.provider, model=space.model) if space else None
        would_keep = [
            (name, self._kept(OldTables(self._graph, replace(self._wishes, model=model))))
            for name, model in other_models(self._old.models(mapped), known)
        ]
        return replace(outcome, would_keep=[each for each in would_keep if each[1] > (outcome.kept or 0)])

    def _kept(self, old: OldTables) -> int:
        """How many vectors are kept with the model that is known."""
        mapped, kept = old.mapped(), 0
        for label in TEXTS if old.is_expansion and old.expansion_space() else ():
            if old.dimension(label):
                kept += sum(count for _, count in self._graph.rows("lengths", {}, label=label, column="embedding"))
        for label in mapped.labels if mapped.labels and mapped.basis.space else ():
            for within in spans(self._graph, label):
                kept += sum(each.keeps_vector for each in mapped_page(self._graph, mapped, label, within).decided())
        return kept

    def _plan_lone(self, tally: Tallied, *, kept: bool) -> None:
        """Sections without an article, and pieces of texts."""
        for label, question in (("Section", "lone_signs"), ("Chunk", "node_signs")):
            if label not in self._graph.tables.nodes:
                continue
            has_column = "embedding" in self._graph.tables.nodes[label]
            column = "embedding" if has_column else self._graph.keys[label]
            for found, count in self._graph.rows(question, {}, label=label, column=column):
                ready = kept and has_column and found
                if label == "Section":
                    tally.count("s-lone", label, State.READY if ready else State.LINKED, count)
                else:
                    tally.count(
                        "k-chunk" if ready else "k-no-vector", label, State.READY if ready else State.SKIP, count
                    )

    def _outcome(self, tally: Tallied, mapped: MappedTables, seconds: float | None = None) -> Outcome:
        moved, unknown = summed(tally.moved())
        space = self._old.space(mapped)
        model = Model(provider=space.provider, model=space.model) if space else None
        return Outcome(
            store=self._graph.url,
            moved=moved,
            unknown=unknown,
            model=model.name if model else None,
            dimension=space.dimension if space else None,
            projects=dict(sorted(self._projects(mapped).items())),
            home=self._wishes.project,
            kept=self._kept(self._old),
            left={label: self._graph.places(label)[1] for label in self._old.carried(mapped)},
            backup=self._old.backup,
            seconds=seconds,
        )

    def _apply(self, wiki: KnownWiki) -> Outcome:
        began = time.monotonic()
        self._graph.check_room()
        mapped = self._old.mapped()
        space = self._old.space(mapped)
        staging = self._graph.staging(self._order(wiki, space))
        staging.note(now=datetime.now(UTC).isoformat())
        tally = Tallied()
        with self._graph.building(sorted(self._projects(mapped)), space) as new:
            making = Making(self._graph, new, self._wishes, wiki, mapped, space, staging)
            making.prepare(self._old.carried(mapped), self._old.edges(pieces=making.carries_pieces))
            steps = list(making.steps())
            self._stage(staging, steps, tally)
            steps = list(making.edges())
            self._stage(staging, steps, Tallied())
            new.load(staging)
            outcome = self._outcome(tally, mapped)
            new.run("record_write", {"text": json.dumps(self._new_record(outcome, mapped))})
            for label in mapped.labels:
                new.run("label_write", {"key": f"label:{label}", "text": label})
        self._graph.take_place()
        return outcome.after(seconds=time.monotonic() - began, backup=self._old.backup)

    def _projects(self, mapped: MappedTables) -> Counter[str]:
        """How many nodes come into which project: into their own, or where they have none into that of the command."""
        found: Counter[str] = Counter()
        known = [label for label in KNOWN if self._old.is_expansion and label in self._graph.tables.nodes]
        for label in known:
            found[self._wishes.project] += self._graph.places(label)[1]
        for label in mapped.labels:
            if "projectId" in self._graph.tables.nodes[label]:
                for project, count in self._graph.rows("projects", {}, label=label):
                    found[str(project or self._wishes.project)] += count
            else:
                found[self._wishes.project] += self._graph.places(label)[1]
        return found

    def _order(self, wiki: KnownWiki, space: VectorSpace | None) -> dict[str, Value]:
        """What the pages rest on: the same order, and those that are there are right."""
        mapping = self._wishes.mapping
        return {
            "form": _FORM,
            "project": self._wishes.project,
            "wiki": repr(wiki) if self._old.is_expansion else "",
            "space": repr(space),
            "assumed": bool(self._wishes.model and self._wishes.model.assumed),
            "retry_empty": self._wishes.retry_empty,
            "mapping": repr(mapping.marks) if mapping else "",
        }

    def _stage(self, staging: Staging, steps: Sequence[Step], tally: Tallied) -> None:
        for number, (name, fill) in enumerate(steps, 1):
            counted = staging.counted(name)
            if counted is None:
                own = Tallied()
                with staging.page(name) as page:
                    fill(page, own)
                    page.counted = counted = own.document()
            tally.include(counted)
            self._progress(number, len(steps))

    def _new_record(self, outcome: Outcome, mapped: MappedTables) -> dict[str, Any]:
        gone = {
            label: [name for name in mapped.marks.gone if name in self._graph.tables.nodes[label]]
            for label in mapped.labels
        }
        return {
            "rules": [[each.rule, each.label, each.to, each.count] for each in outcome.moved],
            "unknown": dict(outcome.unknown),
            "labels": [*(KNOWN if self._old.is_expansion else ()), *mapped.labels],
            "gone": gone,
            "beside": [path.name for path in self._wishes.beside if path.exists()],
        }

    def _cypher(self, wiki: KnownWiki) -> str:
        """What is asked of the old graph, page by page, and what makes and fills the new one."""
        mapped = self._old.mapped()
        space = self._old.space(mapped)
        with self._graph.trying(sorted(self._projects(mapped)), space) as new:
            making = Making(self._graph, new, self._wishes, wiki, mapped, space, None)
            edges = self._old.edges(pieces=making.carries_pieces)
            making.prepare(self._old.carried(mapped), edges)
            parts = [
                "// Of the old graph, which is only read; $first and $last are places in its tables.",
                *(f"{text};" for text in questions(self._graph, edges, is_expansion=self._old.is_expansion)),
                "// Of the new one beside it: graphmill's own schema, and",
                *(f"{text};" for text in new.said),
                "// then everything in pages of Arrow, $rows.",
                *(f"{text};" for text in copies(self._graph, new, edges, is_expansion=self._old.is_expansion)),
            ]
        return "\n".join(parts)

    def _validate(self) -> Outcome:
        record = self._old.record
        moved: list[Moved] = []
        problems: list[Problem] = []
        labels = record.get("labels", list(KNOWN))
        checks = [("in no legal state", "check_states", label) for label in labels]
        checks += [
            ("ready without a vector", "check_vectors", label)
            for label in labels
            if label in TEXTS and self._old.dimension(label)
        ]
        if "Article" in labels:
            checks.append(("ready although a section is not at rest", "check_wholes", "Article"))
        if not record.get("finalized"):
            for label in labels:
                moved += [
                    Moved(rule=rule, label=label, to=to, count=count)
                    for rule, to, count in self._graph.rows("moved", {}, label=label)
                ]
            for about, question, label in checks:
                parameters = {"states": [state.value for state in State]} if question == "check_states" else {}
                rows = self._graph.rows(question, parameters, label=label)
                if rows:
                    examples = [row[0] for row in rows[:3]]
                    problems.append(Problem(problem=about, label=label, count=len(rows), examples=examples))
            problems += _unreconciled(record, moved)
        all_moved, _ = summed(moved)
        return Outcome(
            store=self._graph.url,
            moved=all_moved,
            unknown=record.get("unknown", {}),
            problems=problems,
            backup=self._old.backup,
            finalized=when(record),
        )

    def _restore(self, record: Mapping[str, Any]) -> None:
        """What jobs have noted since beside the graph is of nodes that are gone with it."""
        for path in self._wishes.beside:
            if path.exists() and path.name not in record.get("beside", ()):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        self._graph.restore()

    def _finalize(self, record: Mapping[str, Any]) -> None:
        with self._graph.writing() as own:
            for label in record.get("labels", KNOWN):
                there = self._graph.tables.nodes[label]
                marks = [MARKED, KEPT_APART, *record.get("gone", {}).get(label, ())]
                former = [name for name in there if name.startswith("_former__")]
                own.drop_columns(label, [name for name in (*marks, *former) if name in there])
            now = datetime.now(UTC).isoformat(timespec="seconds")
            own.run("record_write", {"text": json.dumps({**record, "finalized": now})})
        self._graph.drop_backup()


def _unreconciled(record: Mapping[str, Any], moved: Sequence[Moved]) -> list[Problem]:
    noted: Counter[tuple[str, str]] = Counter()
    for rule, label, _, count in record["rules"]:
        noted[rule, label] += count
    found: Counter[tuple[str, str]] = Counter()
    for each in moved:
        found[each.rule, each.label] += each.count
    return miscounted(noted, found)
