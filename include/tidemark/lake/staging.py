"""One attempt on one target: a branch, the truncate, the merge, a tag on what came out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.catalog.sql import SqlCatalog
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
    Move,
    create_tag,
    drop_dead_refs,
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
from tidemark.schema.changes import FillColumn

log = get_logger()


def mark_session(
    session: SparkSession,
    pipeline: PipelineName,
    attempt: AttemptId,
    cut: Cut,
    progress: Progress,
) -> None:
    """Have every snapshot that this session writes say what it belongs to (PUB-1)."""
    marks = {
        "pipeline": pipeline,
        "cut": str(cut.number),
        "attempt": attempt,
        "landing": str(progress.landing),
        "frontier": str(cut.frontier.commit_ts),
        "truncated": json.dumps({str(t): at for t, at in sorted(progress.truncated.items())}),
    }
    for name, value in marks.items():
        session.conf.set(f"spark.sql.iceberg.snapshot-property.tidemark.{name}", value)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where one table is staged: session, catalog, target, and the branch of the attempt.

    cut: number of the cut; what attempts at earlier ones left on the target is removed. base: the
    snapshot of ``main`` by which the cut was planned, None where there was none. fork: of the
    target, where its schema changes with the cut. fills: what older rows hold in new columns.
    """

    session: SparkSession
    catalog: SqlCatalog
    target: TableId
    branch: str
    cut: int
    base: int | None
    fork: Fork | None = None
    fills: tuple[FillColumn, ...] = ()

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


@dataclass(frozen=True, slots=True)
class Removal:
    """Rows below ``end`` go, unless they are more than ``max_share`` of the table (SNAP-6)."""

    end: End
    max_share: float


def stage_table(
    bench: Bench,
    schema: TableSchema,
    rows: StagedRows,
    ends: Sequence[End] = (),
    removal: Removal | None = None,
) -> tuple[Move, Effect]:
    """Truncate, fill, merge and remove on the branch; ``main`` is not touched.

    ends: truncates of this cut, in position order; of a mirror the newest. What they ended is
    deleted first; where the target keeps it, it is marked last, as the merge may know an earlier
    end. removal: what goes after the merge. Returns the move that publishes the tagged result, and
    the rows it changed as the snapshots' own summaries count them.
    """
    table = bench.catalog.load_table(bench.place.parts)
    base = bench.base
    drop_dead_refs(table, bench.cut)
    bench.session.sql(sql.create_branch(bench.table, bench.branch, base))
    effect = Effect()
    before = base
    if ends and base is not None and schema.mode is TargetMode.MIRROR:
        effect = Effect(truncated=_truncate(bench, ends[-1].position))
        before = _head(bench)
    if base is not None and bench.fills:
        before = _fill(bench, schema)
    effect = effect + _merge(bench, schema, rows, before)
    if schema.mode is not TargetMode.MIRROR and ends:
        effect = effect + _mark(bench, schema, ends)
    if removal is not None:
        effect = effect + _remove(bench, schema, removal)
    with catalog_errors(f"the staging of {bench.target}"):
        table = table.refresh()
    snapshot_id = table.refs()[bench.branch].snapshot_id
    tag = f"{bench.branch}_audited"
    create_tag(table, snapshot_id, tag)
    log.info(
        "table_staged",
        table=str(bench.target),
        snapshot_id=snapshot_id,
        inserted=effect.inserted,
        updated=effect.updated,
        deleted=effect.deleted + effect.removed,
        truncated=effect.truncated,
    )
    return Move(bench.target, base, snapshot_id, (bench.branch, tag), bench.fork), effect


def _merge(bench: Bench, schema: TableSchema, rows: StagedRows, before: int | None) -> Effect:
    """Merge the staged rows into the branch, which stands at ``before``; each is accounted for."""
    if not rows.rows:
        return Effect()
    if before is None:
        _append(bench, schema, rows)
    else:
        merge = sql.merge_staged(bench.branch_table, rows.written.table, schema)
        bench.session.sql(merge)
    with catalog_errors(f"the staging of {bench.target}"):
        table = bench.catalog.load_table(bench.place.parts)
    did = effect_of(table, table.refs()[bench.branch].snapshot_id, before)
    if is_applied(rows, did, schema.mode):
        return did
    expected = expected_effect(bench.session, bench.table, before, rows, schema)
    refuse_unaccounted(bench.target, rows, did, expected)
    return expected


def _truncate(bench: Bench, truncated_at: Position) -> int:
    """Delete what the truncate ended, and count it: whole files may go, so no metric tells."""
    name = quote(*bench.branch_table)
    before = bench.session.table(name).count()
    bench.session.sql(sql.delete_below(bench.branch_table, truncated_at))
    return before - bench.session.table(name).count()


def _mark(bench: Bench, schema: TableSchema, ends: Sequence[End]) -> Effect:
    """Mark what ``ends`` ended and is not marked yet, and count it."""
    name = quote(*bench.branch_table)
    mark = sql.mark_below(bench.branch_table, schema, ends)
    if schema.mode is TargetMode.APPEND:
        bench.session.sql(mark)
        return Effect()
    before = bench.session.table(name).where(schema.stands).count()
    bench.session.sql(mark)
    return Effect(truncated=before - bench.session.table(name).where(schema.stands).count())


def _head(bench: Bench) -> int:
    """The newest snapshot of the branch."""
    with catalog_errors(f"the staging of {bench.target}"):
        table = bench.catalog.load_table(bench.place.parts)
    return table.refs()[bench.branch].snapshot_id


def _fill(bench: Bench, schema: TableSchema) -> int:
    """Give older rows what the source gave them; the branch's head after it.

    It writes every row that is older than the column: Iceberg's format 2 knows no defaults.
    """
    for fill in bench.fills:
        bench.session.sql(sql.fill_column(bench.branch_table, schema, fill))
    return _head(bench)


def _remove(bench: Bench, schema: TableSchema, removal: Removal) -> Effect:
    """End what a snapshot did not contain, unless that is suspiciously much."""
    rows = bench.session.table(quote(*bench.branch_table)).where(schema.stands)
    at, below = F.col(POSITION), removal.end.position
    gone = rows.where(at.isNull() | (at < below)).count()
    if gone > removal.max_share * rows.count():
        return Effect(spared=gone)
    if gone and schema.mode is TargetMode.MIRROR:
        bench.session.sql(sql.delete_below(bench.branch_table, below))
    elif gone:
        bench.session.sql(sql.mark_below(bench.branch_table, schema, (removal.end,)))
    return Effect(removed=gone)


def _append(bench: Bench, schema: TableSchema, rows: StagedRows) -> None:
    """The first rows of an empty table need no merge: deletes have nothing to delete."""
    staged = read_staged(bench.session, rows)
    if schema.mode is not TargetMode.APPEND:
        staged = staged.where(F.col(STAGED_OP) == Op.UPSERT.value)
    values = sql.staged_values(schema).items()
    columns = staged.alias("s").select(*(F.expr(text).alias(name) for name, text in values))
    columns.writeTo(quote(*bench.branch_table)).append()
