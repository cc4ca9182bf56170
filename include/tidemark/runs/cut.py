"""A cut: land, gate, fold and audit on branches; then publish all tables together, or none."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import inheritable_thread_target
from pyspark.errors import PySparkException

from tidemark.errors import (
    UNCHANGED,
    ActionRefusedError,
    RowsUnknownError,
    TableStoppedError,
    TidemarkError,
)
from tidemark.gate.next_cut import Effects, advance
from tidemark.gate.reconcile import after_reconciles
from tidemark.lake.attempts import drop_attempts
from tidemark.lake.catalog import SystemTables
from tidemark.lake.forks import drop_dead_forks, drop_forks, forks_dropped_on_error
from tidemark.lake.landing import records_since
from tidemark.lake.ledger import StagedCut, newest_cut, stage_entry
from tidemark.lake.quarantine import as_stored, rows_of, stage_entries
from tidemark.lake.refs import RefUpdate, attempt_ref
from tidemark.lake.spark_errors import spark_errors
from tidemark.lake.staged import drop_staged, dropping_staged
from tidemark.lake.staging import mark_session, unmark_session
from tidemark.lake.unfinished import finish_publication
from tidemark.lake.upkeep import keep_small
from tidemark.lake.verdicts import write_verdicts
from tidemark.log import get_logger
from tidemark.model.names import AttemptId, TableName
from tidemark.model.position import Position
from tidemark.model.progress import LandingMark, Progress
from tidemark.model.renames import Rename
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.model.verdict import Outcome
from tidemark.quality.report import write_data_docs
from tidemark.runs.account import account
from tidemark.runs.asked_rows import ask_for_rows
from tidemark.runs.changelog import Changelog
from tidemark.runs.choose import Chosen, choose_cut
from tidemark.runs.landing.land import land_records
from tidemark.runs.new_log import in_newest_log
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest, Run, begin_run
from tidemark.runs.session import size_for
from tidemark.runs.staging.quarantined import records_quarantined
from tidemark.runs.staging.replay import next_replays, with_replay
from tidemark.runs.staging.stage import StagedTable, stage_target
from tidemark.runs.staging.tasks import ChangelogFiles
from tidemark.runs.surplus import drop_surplus
from tidemark.runs.tables.plan import CutTables, plan_tables, together
from tidemark.runs.tables.reread import READ_AGAIN
from tidemark.runs.tables.seeded import seed_refolds
from tidemark.runs.tables.work import TableWork
from tidemark.runs.tag import due_tag, tell_untagged
from tidemark.runs.unknown_kinds import codes_of, unknown_after
from tidemark.runs.world import World, data_docs_folder
from tidemark.spec import Consistency, PipelineSpec

log = get_logger()

TABLES_AT_ONCE = 4
NO_RECORDS = "the topics hold no records yet"


def run_cut(pipeline: PipelineSpec, world: World, request: CutRequest) -> CutResult:
    """`stage_cut`, then `publish_cut` unless the audit blocks or there is nothing to publish."""
    staged = stage_cut(pipeline, world, request)
    if staged.status is not CutStatus.STAGED:
        return staged
    return publish_cut(pipeline, world, request.attempt)


def stage_cut(pipeline: PipelineSpec, world: World, request: CutRequest) -> CutResult:
    """Land what is unread, then fold and audit everything up to the gate on branches.

    ``main`` of every target stays as it is. All that publishing needs is left in the lake: the
    audited snapshots by tag, the verdicts, and the moves on the ledger's branch. All of it builds
    on what was read first; what is ordered, written or published since supersedes it (PUB-8).
    `ActionRefusedError` where the newest published cut is of the attempt.
    """
    unmark_session(world.spark)
    finish_publication(world.catalog, SystemTables.of(pipeline.name))
    _refuse_published(pipeline, world, request.attempt)
    drop_surplus(pipeline, world)
    _keep_small(pipeline, world)
    run = begin_run(pipeline, world, request)
    progress = run.progress
    drop_staged(world.catalog, run.system.ledger.namespace, progress.cut + 1)
    landed = land_records(run)
    if landed.mark.number == 0:
        return CutResult(CutStatus.IDLE, request.attempt, hold=NO_RECORDS)
    run = run.behind(landed.head)
    drop_dead_forks(world.catalog, run.system.ledger.namespace, progress.cut + 1)
    size_for(world.spark, Changelog(run).count_waiting())
    run = replace(run, unseeded=seed_refolds(run))
    with spark_errors("the choice of the cut"):
        run = in_newest_log(run, Changelog(run), landed)
        chosen = choose_cut(run, Changelog(run), landed)
        run, progress = chosen.run, chosen.run.progress
        chosen = with_replay(run, chosen, landed, progress)
        planned = ask_for_rows(run, plan_tables(run, chosen, progress))
    after = progress_after(progress, landed.mark, chosen, planned)
    _refuse_stopped(pipeline, planned)
    if _is_idle(planned, progress, after) and not due_tag(run, chosen, after):
        return _idle(run, chosen, progress, after)
    records = sum(work.rows + work.replayed for work in planned.work)
    stored = max((work.head.rows for work in planned.work if work.head), default=0)
    size_for(world.spark, records, stored)
    mark_session(world.spark, pipeline.name, request.attempt, chosen.cut, after)
    branch = attempt_ref(chosen.cut.number, request.attempt)
    namespace = run.system.ledger.namespace
    with forks_dropped_on_error(world.catalog, namespace, branch):
        with dropping_staged(world.catalog, namespace, branch), spark_errors("the fold"):
            outcome = _stage_all(run, chosen, planned, branch)
        _refuse_stopped(pipeline, outcome.planned)
        after = progress_after(progress, landed.mark, chosen, outcome.planned, outcome.staged)
        if _is_idle(outcome.planned, progress, after) and not due_tag(run, chosen, after):
            targets = [work.target for work in planned.work]
            attempts = (request.attempt,)
            drop_attempts(world.catalog, run.system, targets, chosen.cut.number, attempts)
            return _idle(run, chosen, progress, after)
        return _finish(run, progress, after, outcome)


def _refuse_published(pipeline: PipelineSpec, world: World, attempt: AttemptId) -> None:
    """Publishing takes the name of the newest cut for that, and would leave a new one (PUB-8)."""
    earlier = newest_cut(world.catalog, SystemTables.of(pipeline.name), attempt)
    if earlier is not None:
        raise ActionRefusedError(
            f"attempt {attempt} of pipeline {pipeline.name} was published as cut {earlier.cut}",
            state=UNCHANGED,
            next_step=f"give another name with --attempt, or none: tidemark cut {pipeline.name}",
        )


def _keep_small(pipeline: PipelineSpec, world: World) -> None:
    """What cannot be tidied up now is left to the next cut."""
    try:
        with spark_errors("the upkeep of the pipeline's own tables"):
            keep_small(world.spark, world.catalog, SystemTables.of(pipeline.name))
    except (TidemarkError, PySparkException, Py4JError) as error:
        log.warning("own_tables_not_kept_small", pipeline=pipeline.name, error=str(error))


def _is_idle(planned: CutTables, progress: Progress, after: Progress) -> bool:
    """Whether the cut would change no table, nor what the next one starts from."""
    does_anything = any(work.does_anything for work in planned.work)
    return not does_anything and replace(after, cut=progress.cut) == progress


def _idle(run: Run, chosen: Chosen, progress: Progress, after: Progress) -> CutResult:
    tell_untagged(run, chosen, after)
    unknown = unknown_after(run)
    return replace(_result(run, chosen, CutStatus.IDLE), cut=progress.cut, unknown=unknown)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A cut, what was to be done, and what is staged.

    schemas: moves of tables of which the schema changed alone, and no suite may judge that.
    """

    chosen: Chosen
    planned: CutTables
    staged: tuple[StagedTable, ...]
    schemas: tuple[RefUpdate, ...]

    @property
    def ref_updates(self) -> tuple[RefUpdate, ...]:
        """All that is to be published."""
        return (*(table.ref_update for table in self.staged), *self.schemas)


def progress_after(
    progress: Progress,
    mark: LandingMark,
    chosen: Chosen,
    planned: CutTables,
    staged: Sequence[StagedTable] = (),
) -> Progress:
    """Progress as it is once the cut is published; ``staged``: what is known after the fold."""
    ended = dict(planned.ended)
    ended |= {work.spec.source: work.new_truncate for work in planned.work if work.new_truncate}
    spared = {table.work.spec.source: table.spared for table in staged if table.spared}
    removals = {work.spec.source: work.removal for work in planned.work if work.removal}
    done = {t: removal.end.position for t, removal in removals.items() if t not in spared}
    ended |= {t: max(below, ended.get(t, below)) for t, below in done.items()}
    reread = {work.spec.source: work.reread.at for work in planned.work if work.reread}
    snapshots = after_reconciles(planned.snapshots, done.keys() | reread, spared)
    effects = Effects(
        *(planned.standing, ended, snapshots, planned.window_bounds, planned.blocked),
        renames=_followed(chosen, planned),
        quarantined=frozenset(table.work.spec.source for table in staged if table.quarantined),
        replays=next_replays(progress, chosen, planned),
        ends=chosen.ends,
        followed=chosen.run.declared,
        acknowledged=dict.fromkeys(reread.values(), READ_AGAIN),
        withheld={work.spec.source: work.source_schema.withheld for work in planned.work},
        may_release=any(work.may_release for work in planned.work),
        topics={work.spec.source: work.topic for work in planned.work if work.topic},
        dropped=_dropped(chosen, planned),
    )
    after = advance(progress, mark.number, chosen.decision, effects)
    for table in sorted(chosen.refolded - planned.standing):
        after = after.with_refold_done(table)
    return after


def _dropped(chosen: Chosen, planned: CutTables) -> dict[TableName, Position | None]:
    """Where the source dropped the tables of ``planned``; None of those that it has.

    A table that got a name which is not folded counts under that of before, as its target does.
    """
    dropped = {work.spec.source: work.source_schema.dropped_at for work in planned.work}
    for followed in chosen.run.renamed:
        if not followed.stays and followed.spec.source in dropped:
            dropped.setdefault(followed.rename.old, dropped.pop(followed.spec.source))
    return dropped


def _followed(chosen: Chosen, planned: CutTables) -> tuple[Rename, ...]:
    """The renames that the cut makes; those of its last statement only if all its tables go on."""
    waits = (
        {(followed.rename.old, followed.rename.new) for followed in chosen.run.renamed}
        if planned.waits
        else set()
    )
    return tuple(
        rename for rename in chosen.effects.renames if (rename.old, rename.new) not in waits
    )


def _refuse_stopped(pipeline: PipelineSpec, planned: CutTables) -> None:
    """With consistency ``pipeline`` one table that cannot go on holds all of them."""
    if not planned.stopped or pipeline.publish.consistency is Consistency.TABLE:
        return
    raise TableStoppedError(
        f"{len(planned.stopped)} tables of pipeline {pipeline.name} cannot be folded:\n"
        + "\n".join(f"{table}: {why}" for table, why in sorted(planned.stopped.items())),
        state="nothing of this cut is published; all records wait in the changelog",
        next_step="fix the cause; or let the other tables go on with publish: "
        "{consistency: table} in the pipeline file",
    )


def _stage_all(run: Run, chosen: Chosen, planned: CutTables, branch: str) -> _Outcome:
    """Fold and audit the tables side by side; what turns out to be stopped is left out."""
    staged: list[StagedTable] = []
    schemas: list[RefUpdate] = []
    stopped, unread = dict(planned.stopped), set(planned.unread)
    session = run.world.spark
    files = ChangelogFiles.of(run) if any(work.rows for work in planned.work) else None

    def stage(work: TableWork) -> StagedTable | RefUpdate | TableStoppedError | None:
        session.sparkContext.setLocalProperty("spark.scheduler.pool", str(work.target))
        try:
            return stage_target(run, chosen, work, branch, files)
        except TableStoppedError as error:
            drop_forks(run.world.catalog, run.system.ledger.namespace, branch, work.target)
            return error

    with ThreadPoolExecutor(TABLES_AT_ONCE) as pool:
        outcomes = pool.map(inheritable_thread_target(session)(stage), planned.work)
        for work, outcome in zip(planned.work, outcomes, strict=True):
            if isinstance(outcome, TableStoppedError):
                stopped[work.spec.source] = str(outcome)
                unread |= {work.spec.source} if isinstance(outcome, RowsUnknownError) else set()
            elif isinstance(outcome, RefUpdate):
                schemas.append(outcome)
            elif outcome is not None:
                staged.append(outcome)
    done = tuple(work for work in planned.work if work.spec.source not in stopped)
    planned = replace(planned, work=done, stopped=stopped, unread=frozenset(unread))
    planned = together(run, ask_for_rows(run, planned))
    targets = {work.target for work in planned.work}
    return _Outcome(
        chosen,
        planned,
        tuple(table for table in staged if table.work.target in targets),
        tuple(ref_update for ref_update in schemas if ref_update.table in targets),
    )


def _finish(run: Run, progress: Progress, after: Progress, outcome: _Outcome) -> CutResult:
    """Account for every record, then leave verdicts and the ledger's entry on its branch."""
    catalog, attempt = run.world.catalog, run.request.attempt
    chosen, planned, staged = outcome.chosen, outcome.planned, outcome.staged
    heads = run.heads
    landed = records_since(catalog, run.system, heads.changelog.snapshot, progress.landing)
    folded = [*(work.spec.source for work in planned.work), *planned.ended]
    buckets = account(chosen.profile, staged, folded, planned.standing, landed)
    verdicts = [table.verdict for table in staged]
    if verdicts:
        write_verdicts(catalog, run.system, attempt, chosen.cut.number, verdicts)
    _write_docs(run, chosen.cut.number, staged)
    blocked = any(verdict.outcome is Outcome.BLOCK for verdict in verdicts)
    quarantined = _quarantined(outcome)
    result = replace(
        _result(run, chosen, CutStatus.BLOCKED if blocked else CutStatus.STAGED),
        tables=tuple(_table_result(table) for table in staged),
        buckets=buckets,
        quarantined=codes_of(quarantined),
        unknown=unknown_after(run, quarantined),
        stopped={str(table): why for table, why in sorted(planned.stopped.items())},
    )
    ref_updates = outcome.ref_updates
    if quarantined.num_rows:
        branch = attempt_ref(chosen.cut.number, attempt)
        ref_updates += (stage_entries(catalog, run.system, heads.quarantine, branch, quarantined),)
    tell_untagged(run, chosen, after)
    entry = StagedCut(result, run.as_stored(after), ref_updates, due_tag(run, chosen, after))
    stage_entry(catalog, run.system, heads.ledger.snapshot, entry, run.request.reason)
    log.info("cut_staged", cut=result.cut, status=result.status.value, **buckets)
    return result


def _quarantined(outcome: _Outcome) -> pa.Table:
    """What the cut quarantines, and what became of what it tried again: rows of the quarantine."""
    chosen = outcome.chosen
    ended = [entry for table in outcome.staged for entry in table.outcomes]
    rows = [*(table.entries for table in outcome.staged if table.quarantined), rows_of(ended)]
    named, records = as_stored(pa.concat_tables(rows), chosen.renames), records_quarantined(chosen)
    return named if records is None else pa.concat_tables([named, records])


def _write_docs(run: Run, cut: int, staged: Sequence[StagedTable]) -> None:
    runs = {str(table.work.target): table.suite_run for table in staged if table.suite_run}
    if runs:
        folder = data_docs_folder(run.world.installation, run.pipeline.name)
        name = attempt_ref(cut, run.request.attempt)
        write_data_docs(folder, runs, cut=name, at=datetime.now(UTC))


def _result(run: Run, chosen: Chosen, status: CutStatus) -> CutResult:
    hold = chosen.hold
    return CutResult(
        status=status,
        attempt=run.request.attempt,
        cut=chosen.cut.number,
        hold=hold.sentence if hold else "",
        hold_code=hold.code if hold else "",
        complete_until_ms=chosen.cut.frontier.complete_until_ms,
    )


def _table_result(table: StagedTable) -> TableResult:
    return TableResult(
        table=str(table.work.spec.source),
        target=str(table.work.published_as),
        snapshot_id=table.ref_update.snapshot,
        inserted=table.effect.inserted,
        updated=table.effect.updated,
        deleted=table.effect.deleted + table.effect.removed,
        truncated=table.effect.truncated,
        outcome=table.verdict.outcome,
        renamed_from=str(table.work.target) if table.work.becomes is not None else "",
        displaced=str(table.work.displaces or ""),
        is_beside=table.work.is_beside,
    )
