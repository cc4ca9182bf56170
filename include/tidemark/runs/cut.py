"""A cut: land, gate, fold and audit on branches; then publish all tables together, or none."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime

from pyspark import inheritable_thread_target

from tidemark.errors import TableStoppedError
from tidemark.fold.admit import Zone
from tidemark.lake.catalog import SystemTables
from tidemark.lake.landing import read_changelog, records_since
from tidemark.lake.ledger import StagedCut, read_progress, stage_entry
from tidemark.lake.refs import attempt_ref
from tidemark.lake.spark_errors import spark_errors
from tidemark.lake.staged import drop_staged, staged_folder
from tidemark.lake.staging import mark_session
from tidemark.lake.verdicts import write_verdicts
from tidemark.log import get_logger
from tidemark.model.cut import GateMode
from tidemark.model.names import AttemptId, TableName
from tidemark.model.position import millis_of
from tidemark.model.progress import LandingMark, Progress
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.model.verdict import Outcome
from tidemark.quality.report import data_docs_folder, write_data_docs
from tidemark.runs.account import account
from tidemark.runs.choose import Chosen, choose_cut
from tidemark.runs.land import land_records
from tidemark.runs.publish import publish_cut
from tidemark.runs.stage import StagedTable, stage_one
from tidemark.runs.tables import CutTables, TableWork, plan_tables
from tidemark.runs.world import World
from tidemark.spec import Consistency, PipelineSpec

log = get_logger()

TABLES_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class CutRequest:
    """What a run was asked for.

    attempt: names the branches, so it is never used twice. until: source time that the cut may not
    pass. tables: the only ones to fold, all when empty. reason: kept in the ledger.
    """

    attempt: AttemptId
    until: datetime | None = None
    tables: tuple[TableName, ...] = ()
    reason: str = ""


def run_cut(pipeline: PipelineSpec, world: World, request: CutRequest) -> CutResult:
    """`stage_cut`, then `publish_cut` unless the audit blocks or there is nothing to publish."""
    staged = stage_cut(pipeline, world, request)
    if staged.status is not CutStatus.STAGED:
        return staged
    return publish_cut(pipeline, world, request.attempt)


def stage_cut(pipeline: PipelineSpec, world: World, request: CutRequest) -> CutResult:
    """Land what is unread, then fold and audit everything up to the gate on branches.

    ``main`` of every target stays as it is. All that publishing needs is left in the lake: the
    audited snapshots by tag, the verdicts, and the moves on the ledger's branch.
    """
    tables = SystemTables.of(pipeline.name)
    progress = read_progress(world.catalog, tables)
    drop_staged(staged_folder(world.installation.state, pipeline.name), progress.cut + 1)
    landed = land_records(pipeline, world, request.attempt)
    if landed.mark.number == 0:
        return _idle(request, progress, "the topics hold no records yet")
    with spark_errors("the choice of the cut"):
        events = read_changelog(world.spark, world.catalog, tables, progress.oldest_held)
        chosen = choose_cut(
            pipeline, events, landed.mark, landed.plan.data_places, progress, request.until
        )
        planned = plan_tables(pipeline, world, chosen, progress, request.tables)
    _refuse_stopped(pipeline, planned)
    after = advance(progress, landed.mark, chosen, planned)
    if not planned.work and replace(after, cut=progress.cut) == progress:
        return _idle(request, progress, chosen.hold_sentence)
    mark_session(world.spark, pipeline.name, request.attempt, chosen.cut, after)
    with spark_errors("the fold"):
        staged, planned = _stage_all(pipeline, world, chosen, planned, request.attempt)
    _refuse_stopped(pipeline, planned)
    after = advance(progress, landed.mark, chosen, planned)
    return _finish(pipeline, world, request, progress, after, chosen, planned, staged)


def advance(progress: Progress, mark: LandingMark, chosen: Chosen, planned: CutTables) -> Progress:
    """Progress as it is once the cut is published; tables that stand still keep their frontier."""
    waiting = {name for name in planned.standing if chosen.survey.of(name, Zone.CUT)}
    behind = {
        table: frontier for table, frontier in progress.behind.items() if table in planned.standing
    } | {table: progress.frontier_of(table) for table in waiting}
    names = {(table.schema, table.table) for table in behind}
    held = [
        group.oldest_landing
        for group in chosen.survey.groups
        if group.zone is Zone.HELD or (group.zone is Zone.CUT and group.table in names)
    ]
    truncated = {work.spec.source: work.new_truncate for work in planned.work if work.new_truncate}
    return Progress(
        cut=chosen.cut.number,
        landing=mark.number,
        oldest_held=min(held, default=mark.number + 1),
        frontier=chosen.cut.frontier,
        behind=behind,
        watermarks=chosen.watermarks,
        truncated={**progress.truncated, **truncated},
    )


def _refuse_stopped(pipeline: PipelineSpec, planned: CutTables) -> None:
    """With consistency ``pipeline`` one table that cannot go on holds all of them."""
    if not planned.stopped or pipeline.publish.consistency is Consistency.TABLE:
        return
    raise TableStoppedError(
        f"{len(planned.stopped)} tables of pipeline {pipeline.name} cannot be folded:\n"
        + "\n".join(f"{table}: {why}" for table, why in sorted(planned.stopped.items())),
        state="nothing of this cut is published; all records wait in the changelog",
        next_step="mend the cause; or let the other tables go on with publish: "
        "{consistency: table} in the pipeline file",
    )


def _stage_all(
    pipeline: PipelineSpec,
    world: World,
    chosen: Chosen,
    planned: CutTables,
    attempt: AttemptId,
) -> tuple[list[StagedTable], CutTables]:
    """Fold and audit the tables side by side; what turns out to be stopped is left out."""
    branch = attempt_ref(chosen.cut.number, attempt)
    staged: list[StagedTable] = []
    stopped = dict(planned.stopped)

    def stage(work: TableWork) -> StagedTable | TableStoppedError | None:
        world.spark.sparkContext.setLocalProperty("spark.scheduler.pool", str(work.target))
        try:
            return stage_one(pipeline, world, chosen, work, branch)
        except TableStoppedError as error:
            return error

    with ThreadPoolExecutor(TABLES_AT_ONCE) as pool:
        outcomes = pool.map(inheritable_thread_target(stage), planned.work)
        for work, outcome in zip(planned.work, outcomes, strict=True):
            if isinstance(outcome, TableStoppedError):
                stopped[work.spec.source] = str(outcome)
            elif outcome is not None:
                staged.append(outcome)
    done = tuple(work for work in planned.work if work.spec.source not in stopped)
    return staged, replace(planned, work=done, stopped=stopped)


def _finish(
    pipeline: PipelineSpec,
    world: World,
    request: CutRequest,
    progress: Progress,
    after: Progress,
    chosen: Chosen,
    planned: CutTables,
    staged: Sequence[StagedTable],
) -> CutResult:
    """Account for every record, then leave verdicts and the ledger's entry on its branch."""
    tables = SystemTables.of(pipeline.name)
    landed = records_since(world.catalog, tables, progress.landing)
    folded = [work.spec.source for work in planned.work]
    buckets = account(chosen.survey, staged, folded, planned.standing, landed)
    verdicts = [table.verdict for table in staged]
    if verdicts:
        write_verdicts(world.catalog, tables, request.attempt, chosen.cut.number, verdicts)
    runs = [table.suite_run for table in staged if table.suite_run is not None]
    if runs:
        write_data_docs(data_docs_folder(world.installation, pipeline.name), runs)
    blocked = any(verdict.outcome is Outcome.BLOCK for verdict in verdicts)
    gated = chosen.cut.mode is GateMode.WATERMARK
    result = CutResult(
        status=CutStatus.BLOCKED if blocked else CutStatus.STAGED,
        attempt=request.attempt,
        cut=chosen.cut.number,
        hold=chosen.hold_sentence,
        complete_until_ms=millis_of(chosen.cut.frontier.commit_ts) if gated else 0,
        tables=tuple(_table_result(table) for table in staged),
        buckets=buckets,
        stopped={str(table): why for table, why in sorted(planned.stopped.items())},
    )
    moves = tuple(table.move for table in staged)
    stage_entry(world.catalog, tables, StagedCut(result, after, moves), request.reason)
    log.info("cut_staged", pipeline=pipeline.name, cut=result.cut, status=result.status, **buckets)
    return result


def _table_result(table: StagedTable) -> TableResult:
    return TableResult(
        table=str(table.work.spec.source),
        target=str(table.work.target),
        snapshot_id=table.move.snapshot,
        inserted=table.effect.inserted,
        updated=table.effect.updated,
        deleted=table.effect.deleted,
        truncated=table.effect.truncated,
        outcome=table.verdict.outcome,
    )


def _idle(request: CutRequest, progress: Progress, sentence: str) -> CutResult:
    return CutResult(CutStatus.IDLE, request.attempt, cut=progress.cut, hold=sentence)
