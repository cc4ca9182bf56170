"""One attempt on one target: a branch, the truncate, the merge, a tag on what came out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.lake import sql
from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.lake.effect import (
    Effect,
    effect_of,
    expected_effect,
    is_applied,
    refuse_unaccounted,
)
from tidemark.lake.refs import (
    Fork,
    RefUpdate,
    drop_dead_refs,
    tag_before,
)
from tidemark.lake.staged import StagedRows, read_staged
from tidemark.log import get_logger
from tidemark.model.columns import POSITION, STAGED_OP, TableSchema
from tidemark.model.cut import Cut
from tidemark.model.ends import End
from tidemark.model.event import Op
from tidemark.model.names import AttemptId, PipelineName, quote
from tidemark.model.position import Position
from tidemark.model.progress import Progress
from tidemark.model.target_mode import TargetMode
from tidemark.schema.changes import BackfillColumn

log = get_logger()

SNAPSHOT_PROPERTY = "spark.sql.iceberg.snapshot-property."
MARKS = tuple(
    f"{SNAPSHOT_PROPERTY}tidemark.{name}"
    for name in ("pipeline", "cut", "attempt", "landing", "frontier")
)


def mark_session(
    session: SparkSession,
    pipeline: PipelineName,
    attempt: AttemptId,
    cut: Cut,
    progress: Progress,
) -> None:
    """Have every snapshot that this session writes say what it belongs to (PUB-1)."""
    frontier = str(cut.frontier.commit_ts)
    values = (pipeline, str(cut.number), attempt, str(progress.landing), frontier)
    for name, value in zip(MARKS, values, strict=True):
        session.conf.set(name, value)


def unmark_session(session: SparkSession) -> None:
    """Have snapshots say nothing, until `mark_session` says whose they are."""
    for name in MARKS:
        session.conf.unset(name)


@dataclass(frozen=True, slots=True)
class StagingContext:
    """Where one table is staged: session, catalog, target, and the branch of the attempt.

    cut: number of the cut; what attempts at earlier ones left on the target is removed. base: the
    snapshot of ``main`` by which the cut was planned, None where there was none. fork: of the
    target, where its schema changes with the cut. backfills: what older rows hold in new columns.
    rewritten: the snapshot of the fork in which the rows of ``base`` were rewritten, None where
    they were not. keeps_base: the rows of ``base`` end by a statement, and stay readable by a tag.
    """

    session: SparkSession
    catalog: Catalog
    target: TableId
    branch: str
    cut: int
    base: int | None
    fork: Fork | None = None
    backfills: tuple[BackfillColumn, ...] = ()
    rewritten: int | None = None
    keeps_base: bool = False

    @property
    def place(self) -> TableId:
        """The table that is written to."""
        return self.target if self.fork is None else self.fork.table

    @property
    def table(self) -> tuple[str, ...]:
        """Parts of that table's name in Spark."""
        return (self.catalog.name, *self.place.parts)

    @property
    def branch_table(self) -> tuple[str, ...]:
        """Parts of the branch's name in Spark: writes name it, so none can fall on main."""
        return (*self.table, f"branch_{self.branch}")


FEW_ROWS = 100
"""Rows that a snapshot may lack however small its table is."""


@dataclass(frozen=True, slots=True)
class Removal:
    """Rows below ``end`` go, unless they are suspiciously many (SNAP-6).

    That is more than `FEW_ROWS` of them, and more than ``max_share`` of the table.
    """

    end: End
    max_share: float


def stage_table(
    context: StagingContext,
    schema: TableSchema,
    rows: StagedRows,
    ends: Sequence[End] = (),
    removal: Removal | None = None,
) -> tuple[RefUpdate, Effect]:
    """Truncate, fill, merge and remove on the branch; ``main`` is not touched.

    ends: truncates of this cut, in position order; of a mirror the newest. What they ended is
    deleted first; where the target keeps it, it is marked last, as the merge may know an earlier
    end. removal: what goes after the merge. Returns the move that publishes the tagged result, and
    the rows it changed as the snapshots' own summaries count them.
    """
    table = context.catalog.load_table(context.place.parts)
    base = context.base if context.rewritten is None else context.rewritten
    drop_dead_refs(table, context.cut)
    if context.keeps_base and context.base is not None:
        tag_before(table, context.cut, context.base)
    context.session.sql(sql.create_branch(context.table, context.branch, base))
    effect = Effect()
    before = base
    if ends and base is not None and schema.mode is TargetMode.MIRROR:
        effect = Effect(truncated=_truncate(context, ends[-1].position))
        before = _head(context)
    if base is not None and context.backfills:
        before = _fill(context, schema)
    if rows.rows:
        effect = effect + _merge(context, schema, rows, before)
    if schema.mode is not TargetMode.MIRROR and ends:
        effect = effect + _mark(context, schema, ends)
    if removal is not None:
        effect = effect + _remove(context, schema, removal)
    snapshot_id = _head(context)
    tag = f"{context.branch}_audited"
    context.session.sql(sql.create_tag(context.table, tag, snapshot_id))
    log.info(
        "table_staged",
        table=str(context.target),
        snapshot_id=snapshot_id,
        inserted=effect.inserted,
        updated=effect.updated,
        deleted=effect.deleted + effect.removed,
        truncated=effect.truncated,
    )
    drops = (context.branch, tag)
    return RefUpdate(context.target, context.base, snapshot_id, drops, context.fork), effect


def _merge(
    context: StagingContext, schema: TableSchema, rows: StagedRows, before: int | None
) -> Effect:
    """Merge the staged rows into the branch, which stands at ``before``; each is accounted for."""
    if before is None:
        _append(context, schema, rows)
    else:
        merge = sql.merge_staged(context.branch_table, rows.written.table, schema)
        context.session.sql(merge)
    with catalog_errors(f"the staging of {context.target}"):
        table = context.catalog.load_table(context.place.parts)
    did = effect_of(table, table.refs()[context.branch].snapshot_id, before)
    if is_applied(rows, did, schema.mode):
        return did
    expected = expected_effect(context.session, context.table, before, rows, schema)
    refuse_unaccounted(context.target, rows, did, expected)
    return expected


def _truncate(context: StagingContext, truncated_at: Position) -> int:
    """Delete what the truncate ended, and count it: whole files may go, so no metric tells."""
    name = quote(*context.branch_table)
    before = context.session.table(name).count()
    context.session.sql(sql.delete_below(context.branch_table, truncated_at))
    return before - context.session.table(name).count()


def _mark(context: StagingContext, schema: TableSchema, ends: Sequence[End]) -> Effect:
    """Mark what ``ends`` ended and is not marked yet, and count it."""
    name = quote(*context.branch_table)
    mark = sql.mark_below(context.branch_table, schema, ends)
    if schema.mode is TargetMode.APPEND:
        context.session.sql(mark)
        return Effect()
    before = context.session.table(name).where(schema.stands).count()
    context.session.sql(mark)
    return Effect(truncated=before - context.session.table(name).where(schema.stands).count())


def _head(context: StagingContext) -> int:
    """The newest snapshot of the branch."""
    with catalog_errors(f"the staging of {context.target}"):
        table = context.catalog.load_table(context.place.parts)
    return table.refs()[context.branch].snapshot_id


def _fill(context: StagingContext, schema: TableSchema) -> int:
    """Give older rows what the source gave them; the branch's head after it.

    It writes every row that is older than the column: Iceberg's format 2 knows no defaults.
    """
    for backfill in context.backfills:
        context.session.sql(sql.backfill_column(context.branch_table, schema, backfill))
    return _head(context)


def _remove(context: StagingContext, schema: TableSchema, removal: Removal) -> Effect:
    """End what a snapshot did not contain, unless that is suspiciously much."""
    rows = context.session.table(quote(*context.branch_table)).where(schema.stands)
    at, below = F.col(POSITION), removal.end.position
    gone = rows.where(at.isNull() | (at < below)).count()
    if gone > FEW_ROWS and gone > removal.max_share * rows.count():
        return Effect(spared=gone)
    if gone and schema.mode is TargetMode.MIRROR:
        context.session.sql(sql.delete_below(context.branch_table, below))
    elif gone:
        context.session.sql(sql.mark_below(context.branch_table, schema, (removal.end,)))
    return Effect(removed=gone)


def _append(context: StagingContext, schema: TableSchema, rows: StagedRows) -> None:
    """The first rows of an empty table need no merge: deletes have nothing to delete."""
    staged = read_staged(context.session, rows)
    if schema.mode is not TargetMode.APPEND:
        staged = staged.where(F.col(STAGED_OP) == Op.UPSERT.value)
    values = sql.staged_values(schema).items()
    columns = staged.alias("s").select(*(F.expr(text).alias(name) for name, text in values))
    columns.writeTo(quote(*context.branch_table)).append()
