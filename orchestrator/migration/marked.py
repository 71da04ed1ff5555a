"""The migration of a graph with marks on its nodes: plan, apply, validate, rollback and finalize, page by page.

Each page is one transaction that keeps what it replaces. Killed anywhere, the same command goes on: a node that was
moved says so itself. What the rules rest on beside the nodes is settled once and remembered until the end.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graph_stores.legacy import MarkedGraph, MigrationRefused, Moved, Row
from graph_stores.model import VectorSpace
from orchestrator.leases import is_gone, owner_name
from orchestrator.migration.literals import Written, literal
from orchestrator.migration.looked import (
    Done,
    Looked,
    Progress,
    gone_since,
    losses,
    moved_of,
    nothing_to_undo,
    now,
    problems_in,
    unreconciled,
)
from orchestrator.migration.marks import Marks, is_stale
from orchestrator.migration.report import Found, Outcome, Problem, summed
from orchestrator.migration.survey import (
    PAGE,
    Model,
    Scope,
    Settled,
    Survey,
    alternatives,
    base_parameters,
    each_page,
    own_labels,
    settle,
    take_survey,
    told,
)
from pipelines.embedding.texts import text_hash

# Twice as fast as pages of 10,000: the server keeps what it has not committed yet.
_WRITE_PAGE = 2_000
_TO_MOVE = ("G0", "G1", "G2", "G3", "mapped", "unmarked")
_CLAIM_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a person asked for."""

    scope: Scope
    marks: Marks = field(default_factory=Marks)
    given: Model | None = None
    configured: Model | None = None


class MarkedMigration:
    def __init__(self, graph: MarkedGraph, wishes: Wishes, progress: Progress = lambda done, of: None) -> None:
        self._graph = graph
        self._wishes = wishes
        self._scope = wishes.scope
        self._marks = wishes.marks
        self._progress = progress
        graph.learn(self._marks.names())

    async def detect(self) -> Found:
        await self._recall()
        survey = await self._survey()
        return told(survey, self._graph.url, await self._graph.record())

    async def plan(self) -> Outcome:
        await self._recall()
        survey = await self._survey()
        self._refuse_foreign(survey)
        settled = await self._settled(survey)
        rows = await self._planned(survey, settled)
        would_keep = (
            []
            if self._wishes.given
            else [(name, _kept(await self._planned(survey, other))) for name, other in alternatives(survey, settled)]
        )
        outcome = self._outcome(rows, settled, survey)
        return replace(outcome, would_keep=[each for each in would_keep if each[1] > _kept(rows)])

    async def _planned(self, survey: Survey, settled: Settled) -> list[Row]:
        rows: list[Row] = []

        async def work(page: Mapping[str, int]) -> None:
            looked = await self._look(settled, survey, page, twins=())
            rows.extend(await self._graph.find("plan", {**self._parameters(settled), **page, "stale": looked.stale}))

        await each_page(survey.last, work, PAGE)
        return rows

    async def cypher(self) -> str:
        """What apply runs, with its parameters, to be run by hand: look first, and apply with what came of it."""
        await self._recall()
        survey = await self._survey()
        settled = await self._settled(survey)
        last = {"first": 0, "last": max(survey.last, 0)}
        decided = {"stale": [], "hashes": {}, "ids": {}, "twins": [], "now": Written("datetime()")}
        parameters = {**self._parameters(settled), **last, **decided}
        texts = [f"// {name}\n{self._graph.text(name)};" for name in ("plan", "look", "apply", "rollback")]
        return "\n\n".join(
            ["\n".join(f":param {key} => {literal(value)};" for key, value in parameters.items()), *texts]
        )

    async def apply(self) -> Outcome:
        began = time.monotonic()
        await self._recall()
        await self._refuse_while_at_work()
        survey = await self._survey()
        record = await self._graph.record()
        if not survey.marked and not survey.of("migrated") and not record.get("settled"):
            self._refuse_foreign(survey)
        if record.get("finalized") and survey.marked:
            record = {}  # a new migration, of what came after the last one was finished
        settled = await self._settled(survey)
        # Killed after the last node was moved, it still has the schema to make.
        goes_on = bool(record.get("open")) and record.get("scope") == self._scope.project
        if goes_on or (survey.of(*_TO_MOVE) and (survey.marked or record.get("open"))):
            moved = await self._alone(lambda token: self._move_all(token, survey, settled, record))
        else:
            moved = []
        outcome = self._outcome(moved, settled, survey, seconds=time.monotonic() - began)
        return replace(outcome, again=not moved and bool(survey.of("migrated")))

    async def validate(self) -> Outcome:
        await self._recall()
        record = await self._graph.record()
        survey = await self._survey()
        settled = await self._settled(survey)
        rows: list[Row] = []
        stale: list[str] = []
        words: Counter[str] = Counter()

        async def work(page: Mapping[str, int]) -> None:
            parameters = {**self._parameters(settled), **page}
            rows.extend(await self._graph.find("validate", parameters))
            hashed = await self._graph.find("hashed", parameters)
            stale.extend(row["uuid"] for row in hashed if is_stale(row["hashed"]))
            for row in await self._graph.find("unknown", parameters):
                words[row["word"] or "(none)"] += row["count"]

        await each_page(survey.last, work, PAGE)
        problems = [*problems_in(rows), *await unreconciled(self._graph, self._scope, rows)]
        if stale:
            problems.append(
                Problem(problem="ready with the vector of another text", label="", count=len(stale), examples=stale[:3])
            )
        if not any(row["rule"] for row in rows) and not record.get("finalized"):
            self._refuse_foreign(survey)
        moved = [{**row, "kept": None} for row in rows if row["rule"]]
        outcome = self._outcome(moved, settled, survey, problems=problems)
        return replace(outcome, unknown=dict(sorted(words.items())), kept=None)

    async def rollback(self, *, accept_losses: bool = False) -> Outcome:
        began = time.monotonic()
        await self._recall()
        await self._refuse_while_at_work()
        record = await self._graph.record()
        survey = await self._survey()
        if not survey.of("migrated") and not record.get("open"):
            raise nothing_to_undo(record)
        if (gone := await gone_since(self._graph, self._scope)) and not accept_losses:
            raise losses(gone)
        rows: list[Row] = []
        own = {"project": self._scope.project, "ours": own_labels()}

        async def undo(token: str) -> None:
            before, was_graphmill = json.loads(record.get("schema", "[]")), bool(record.get("graphmill"))
            # Killed after the last node is back, it still has something to finish.
            await self._graph.remember({"open": True, "scope": self._scope.project})
            # Before the nodes: two that had the same id get it back.
            dropped = not await self._migrated_elsewhere(survey) and await self._graph.drop_schema(
                before, was_graphmill=was_graphmill
            )
            done = Done(survey.last + 1, self._progress)

            async def work(page: Mapping[str, int]) -> None:
                rows.extend(await self._graph.move("rollback", {**own, **page}, token=token))
                done.add(page)

            await each_page(survey.last, work, _WRITE_PAGE)
            await self._forget_records(record)
            await self._graph.forget_pages(self._scope.project)
            if dropped:
                await self._graph.restore_schema(before, was_graphmill=was_graphmill)
            else:
                await self._graph.remember({"open": False})

        await self._alone(undo)
        moved, _ = summed(_taken_back("rollback", row) for row in rows)
        pieces = {"Chunk": sum(row["pieces"] for row in rows)}
        stays = {label: count - pieces.get(label, 0) for label, count in survey.made_since.items()}
        left = {} if record.get("graphmill") else {label: count for label, count in stays.items() if count > 0}
        return Outcome(store=self._graph.url, moved=moved, left=left, seconds=time.monotonic() - began, lost=dict(gone))

    async def _forget_records(self, record: Mapping[str, Any]) -> None:
        """Vector spaces, runs and workers of projects in which nothing is graphmill's own any more."""
        made = await self._graph.find("projects_made", {})
        with_vectors = {row["project"] for row in made if row["vectors"]}
        for project in record.get("spaces", ()):
            if self._scope.project in (None, project) and project not in with_vectors:
                await self._graph.forget_space(project)
        if "projects" in record:
            kept = {*record["projects"], *(row["project"] for row in made if not row["isRecord"])}
            ended = {row["project"] for row in made} - kept
            await self._graph.forget_records(sorted(each for each in ended if self._scope.project in (None, each)))

    async def finalize(self) -> Outcome:
        began = time.monotonic()
        await self._recall()
        await self._refuse_while_at_work()
        survey = await self._survey()
        if survey.marked:
            raise MigrationRefused(
                f"{survey.marked:,} nodes are not migrated yet", hint="finish it first: graphmill migrate apply"
            )
        if not survey.of("migrated"):
            raise MigrationRefused(
                "there is nothing to finish: no node was migrated", hint="see: graphmill migrate detect"
            )
        counted: list[Moved] = []
        gone = {
            "gone": dict.fromkeys(self._marks.gone),
            "goneFromFiles": dict.fromkeys(self._marks.gone_from_files),
            "project": self._scope.project,
            "ours": own_labels(),
        }

        async def finish(token: str) -> None:
            done = Done(survey.last + 1, self._progress)

            async def work(page: Mapping[str, int]) -> None:
                rows = await self._graph.move("finalize", {**gone, **page}, token=token)
                counted.extend(_taken_back("finalize", row) for row in rows)
                done.add(page)

            await each_page(survey.last, work, _WRITE_PAGE)
            await self._graph.forget_pages(self._scope.project)
            await self._graph.remember({"finalized": True, "open": False})

        await self._alone(finish)
        moved, _ = summed(counted)
        return Outcome(store=self._graph.url, moved=moved, seconds=time.monotonic() - began)

    async def _move_all(self, token: str, survey: Survey, settled: Settled, record: Mapping[str, Any]) -> list[Row]:
        if not record.get("open"):
            schema = record.get("schema") or json.dumps(list(await self._graph.schema()))
            graphmill = record.get("graphmill") if "graphmill" in record else await self._graph.is_graphmill()
            made = {row["project"] for row in await self._graph.find("projects_made", {})}
            begun = {
                "settled": settled.dump(), "schema": schema, "graphmill": graphmill, "open": True, "finalized": False,
                "projects": record["projects"] if "projects" in record else sorted(made),
                "scope": self._scope.project, "marks": self._marks.dump(),
            }  # fmt: skip
            await self._graph.remember(begun)
        labels = [label for label in survey.labels if label]
        twins = await self._graph.clear_way(labels)
        lacking = survey.lacks_ids or bool(twins)
        given = {row["uuid"] for row in await self._graph.find("given_ids", {})} if lacking else set()
        moved: list[Row] = []
        done = Done(survey.last + 1, self._progress)
        born = {"now": now()}

        async def work(page: Mapping[str, int]) -> None:
            looked = await self._look(settled, survey, page, twins=twins)
            asked = {"stale": looked.stale, "hashes": looked.hashes, "ids": looked.ids(self._scope, given), **born}
            moved.extend(await self._graph.move("apply", {**self._parameters(settled), **page, **asked}, token=token))
            done.add(page)

        await each_page(survey.last, work, _WRITE_PAGE)
        await self._graph.make_schema([label for label in survey.adopted if label not in own_labels()])
        if settled.model and settled.dimension:
            space = VectorSpace(provider=settled.model.provider, model=settled.model.model, dimension=settled.dimension)
            known = await self._graph.spaces()
            wanted = [row["project"] for row in await self._graph.find("projects", {}) if row["project"] not in known]
            # First that it was us, then the deed: a rollback takes back what there is of it.
            await self._graph.remember({"spaces": sorted({*record.get("spaces", ()), *wanted})})
            for project in wanted:
                await self._graph.declare_space(project, space)
        await self._graph.remember({"open": False})
        return moved

    async def _look(self, settled: Settled, survey: Survey, page: Mapping[str, int], *, twins: Sequence[int]) -> Looked:
        within = [place for place in twins if page["first"] <= place <= page["last"]]
        if survey.is_decided(page) and not within:
            return Looked(stale=[], lacking=[])
        rows = await self._graph.find("look", {**self._parameters(settled), **page, "stale": [], "twins": within})
        return Looked(
            stale=[row["place"] for row in rows if is_stale(row["hashed"])],
            lacking=[row for row in rows if row["lacksId"]],
            hashes={str(row["place"]): text_hash(row["text"]) for row in rows if row["text"] is not None},
        )

    async def _migrated_elsewhere(self, survey: Survey) -> bool:
        """Whether nodes of another project are as the migration left them: the schema is theirs too."""
        if self._scope.project is None:
            return False
        everywhere = await take_survey(self._graph, self._marks, Scope(project=None, home=self._scope.home))
        return everywhere.of("migrated") > survey.of("migrated")

    async def _recall(self) -> None:
        """The marks that the migration was begun with: who names a mapping for apply need not name it again."""
        known = (await self._graph.record()).get("marks")
        if known and self._wishes.marks == Marks():
            self._marks = Marks.load(known)
            self._graph.learn(self._marks.names())

    async def _survey(self) -> Survey:
        return await take_survey(self._graph, self._marks, self._scope)

    async def _settled(self, survey: Survey) -> Settled:
        """What a migration that was begun rests on, or what this one would."""
        record = await self._graph.record()
        if record.get("settled") and (record.get("open") or survey.of("migrated")):
            settled = Settled.load(record["settled"])
            given = self._wishes.given
            if given and settled.model != given:
                known = settled.model.name if settled.model else "no model"
                raise MigrationRefused(
                    f"the migration was begun with {known}, and --embedding-model says {given.name}",
                    hint="leave it out, or go back first: graphmill migrate rollback",
                )
            return settled
        return await settle(self._graph, survey, self._scope, self._wishes.given, self._wishes.configured)

    async def _alone(self, work: Callable[[str], Any]) -> Any:  # Any: what the work returns
        token = owner_name()
        if not await self._graph.claim(token, seconds=_CLAIM_SECONDS):
            before = str((await self._graph.record()).get("token"))
            if is_gone(before):
                await self._graph.release(before)
            if not is_gone(before) or not await self._graph.claim(token, seconds=_CLAIM_SECONDS):
                raise MigrationRefused(
                    f"another process migrates this database: {before}",
                    hint=f"wait for it; if it was killed on another machine, for {_CLAIM_SECONDS:.0f} s",
                )
        try:
            return await work(token)
        finally:
            await self._graph.release(token)

    async def _refuse_while_at_work(self) -> None:
        if who := await self._graph.at_work(self._scope.project):
            raise MigrationRefused(
                f"a job is at work on this database: {', '.join(who)}", hint="let it end, or stop it, and try again"
            )

    def _refuse_foreign(self, survey: Survey) -> None:
        if not survey.marked and not survey.of("migrated", "graphmill") and survey.shapes:
            raise MigrationRefused("nothing in this graph is known", hint=told(survey, self._graph.url, {}).advice)

    def _parameters(self, settled: Settled) -> dict[str, Any]:
        return {**base_parameters(self._marks, self._scope), **settled.parameters()}

    def _outcome(
        self,
        rows: Sequence[Row],
        settled: Settled,
        survey: Survey,
        *,
        problems: Sequence[Problem] = (),
        seconds: float | None = None,
    ) -> Outcome:
        moved, unknown = summed(map(moved_of, rows))
        projects: Counter[str] = Counter()
        for row in rows:
            if row.get("project"):
                projects[row["project"]] += row["count"]
        return Outcome(
            store=self._graph.url,
            moved=moved,
            unknown=unknown,
            problems=problems,
            model=settled.model.name if settled.model else None,
            dimension=settled.dimension,
            kept=_kept(rows),
            projects=dict(sorted(projects.items())),
            home=self._scope.home,
            left=survey.left,
            seconds=seconds,
        )


def _kept(rows: Sequence[Row]) -> int:
    """How many vectors are kept."""
    return sum(row["kept"] or 0 for row in rows)


def _taken_back(verb: str, row: Row) -> Moved:
    return Moved(rule=verb, label="", to=row["to"], count=-row["count"])
