"""Audit: the engine's checks and the table's suite on exactly the staged snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.lake.refs import RefUpdate
from tidemark.lake.staged import StagedRows, read_staged
from tidemark.model.columns import POSITION, STAGED_OP
from tidemark.model.event import Op
from tidemark.model.names import quote
from tidemark.model.position import Position
from tidemark.model.target_mode import TargetMode
from tidemark.model.verdict import CheckResult, Severity, Verdict
from tidemark.quality.audit import SuiteRun, run_suite
from tidemark.quality.checks import (
    changed_rows,
    check_ended,
    check_filled,
    check_key,
    check_read,
    check_retained,
    check_rewritten,
    check_winners,
)
from tidemark.quality.compared import check_same_rows
from tidemark.quality.version_checks import check_appended, check_truncates, check_versions
from tidemark.runs.staging.row_changes import StagedChanges
from tidemark.runs.tables.work import TableWork
from tidemark.runs.world import World
from tidemark.spec import NO_SUITE, load_suite


def audit(
    world: World, work: TableWork, staged_changes: StagedChanges, ref_update: RefUpdate, spared: str
) -> tuple[Verdict, SuiteRun | None]:
    """The engine's checks and the table's suite on exactly the snapshot of ``ref_update``.

    At least one check is made: rows are staged, be they none as all came before, or a truncate or
    a snapshot takes some away, or a column fills them or has them rewritten, or columns alone
    change and a suite asks for them. spared: why rows that a snapshot does not contain stay until
    a person is asked.
    """
    name, snapshot_id = quote(world.catalog.name, *ref_update.place.parts), ref_update.snapshot
    table = _staged_snapshot(world, ref_update)
    removed = work.removal.end.position if work.removal and not spared else None
    checks, suite_run = _check_merged(world, work, staged_changes, table, removed), None
    newest = max(filter(None, (work.truncated_at, removed)), default=None)
    if newest is not None and work.spec.mode is not TargetMode.APPEND:
        checks = (*checks, check_ended(table.where(work.schema.stands), newest))
    checks = (*checks, *_check_replaced(world, work, table))
    is_unchecked = newest is None or not checks  # An append target keeps what was truncated.
    if work.becomes is not None and staged_changes.rows.place is None and is_unchecked:
        checks = (*checks, _all_there(world, work, table, ref_update))
    older = table.where(work.schema.holds_values)
    if work.changes_key and work.spec.mode is not TargetMode.APPEND:
        key = work.source_schema.in_target.key
        checks = (*checks, *check_key(table.where(work.schema.stands), key))
    filled = (check_filled(older, fill.column, fill.value, fill.below) for fill in work.backfills)
    checks = (*checks, *filled, *_check_rewritten(world, staged_changes, name))
    if spared:
        checks = (*checks, _spared(spared))
    if work.spec.suite is not None:
        changed = _changed(world, work, staged_changes.rows, table)
        suite_run = run_suite(load_suite(work.spec.suite), changed=changed, table=table)
        checks = (*checks, *suite_run.checks)
    suite = work.spec.suite or NO_SUITE
    return Verdict(str(work.target), snapshot_id, suite, checks), suite_run


def _staged_snapshot(world: World, ref_update: RefUpdate) -> DataFrame:
    """The rows of the snapshot, in the columns that ``main`` gets with it.

    A snapshot has the columns with which it was written: where nothing is, those of before.
    """
    name = (world.catalog.name, *ref_update.place.parts)
    if ref_update.snapshot == ref_update.base:
        branch, *_ = ref_update.drops
        return world.spark.table(quote(*name, f"branch_{branch}"))
    return world.spark.read.option("versionAsOf", ref_update.snapshot).table(quote(*name))


def _check_merged(
    world: World,
    work: TableWork,
    staged_changes: StagedChanges,
    table: DataFrame,
    removed: Position | None,
) -> tuple[CheckResult, ...]:
    """What was staged against what is there; removed: below it a snapshot has ended rows."""
    mode = work.spec.mode
    has_truncates = mode is TargetMode.APPEND and bool(staged_changes.ends)
    checks = (check_truncates(table, staged_changes.ends),) if has_truncates else ()
    if staged_changes.rows.place is None:
        return checks
    is_change = F.col(STAGED_OP).isin(Op.UPSERT.value, Op.DELETE.value)
    staged = read_staged(world.spark, staged_changes.rows).where(is_change)
    match mode:
        case TargetMode.MIRROR | TargetMode.SOFT_DELETE:
            return check_winners(staged, table, work.schema, staged_changes.rows.rows, removed)
        case TargetMode.HISTORY:
            read = check_read(staged.count(), staged_changes.rows.rows)
            return (read, *check_versions(staged, table, work.schema))
        case TargetMode.APPEND:
            read = check_read(staged.count(), staged_changes.rows.rows)
            return (read, *check_appended(staged, table), *checks)


def _check_rewritten(
    world: World, staged_changes: StagedChanges, fork: str
) -> Iterator[CheckResult]:
    """What rows had before they were rewritten, against what they have."""
    if staged_changes.rewritten is None:
        return
    before, after = (
        world.spark.read.option("versionAsOf", snapshot).table(fork)
        for snapshot in (staged_changes.rewritten.base, staged_changes.rewritten.snapshot)
    )
    yield check_retained(after.count(), before.count())
    for old, new in staged_changes.rewritten.columns:
        yield check_rewritten(before, after, old, new)


def _check_replaced(world: World, work: TableWork, table: DataFrame) -> Iterator[CheckResult]:
    """The rows of a refolded target against those of the one that it takes the place of.

    They stand at the same point of the source; another mode keeps other rows.
    """
    replaced = work.replaced
    if replaced is None or replaced.before is None or replaced.before.snapshot is None:
        return
    if replaced.before.source_schema.mode is not work.spec.mode:
        return
    name = quote(world.catalog.name, *replaced.target.parts)
    before = world.spark.read.option("versionAsOf", replaced.before.snapshot).table(name)
    yield check_same_rows(before, table)


def _all_there(
    world: World, work: TableWork, table: DataFrame, ref_update: RefUpdate
) -> CheckResult:
    """A renamed table of which nothing else came has the rows that it had."""
    name = quote(world.catalog.name, *work.target.parts)
    before = world.spark.read.option("versionAsOf", ref_update.base).table(name).count()
    return check_retained(table.count(), before)


def _spared(why: str) -> CheckResult:
    name = "what a snapshot does not contain may go unasked"
    return CheckResult(name, success=False, severity=Severity.WARNING, observed=why)


def _changed(world: World, work: TableWork, rows: StagedRows, table: DataFrame) -> DataFrame:
    """The rows of the staged snapshot to which this cut gave values."""
    written = None
    if rows.upserts:
        written = (
            read_staged(world.spark, rows)
            .where(F.col(STAGED_OP) == Op.UPSERT.value)
            .select(*(F.col(quote(name)) for name in work.schema.row_key), POSITION)
        )
    filled_below = max((fill.below for fill in work.backfills), default=None)
    return changed_rows(table, written, work.schema, filled_below)
