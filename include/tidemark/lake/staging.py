"""One attempt on one target: a branch, the truncate, the merge, a tag on what came out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.errors import AccountingError
from tidemark.lake import sql
from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.lake.refs import (
    Fork,
    Move,
    ancestors,
    create_tag,
    drop_dead_refs,
    summary_value,
)
from tidemark.lake.staged import StagedRows, named_staged, read_staged
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

MERGE_METRIC = "spark.merge-into.num-target-rows-"


@dataclass(frozen=True, slots=True)
class Effect:
    """Rows that an attempt inserted, updated, deleted and truncated.

    spared: those that a snapshot did not contain, and that stay because they are too many.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    truncated: int = 0
    spared: int = 0

    def __add__(self, other: Effect) -> Effect:
        return Effect(
            self.inserted + other.inserted,
            self.updated + other.updated,
            self.deleted + other.deleted,
            self.truncated + other.truncated,
            self.spared + other.spared,
        )

    @property
    def growth(self) -> int:
        """By how many rows the table grew."""
        return self.inserted - self.deleted - self.truncated


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
    if ends and base is not None and schema.mode is TargetMode.MIRROR:
        effect = Effect(truncated=_truncate(bench, ends[-1].position))
    filled = base if base is None or not bench.fills else _fill(bench, schema)
    if rows.rows > 0 and base is None:
        _append(bench, schema, rows)
    elif rows.rows > 0:
        with named_staged(bench.session, rows) as staged:
            bench.session.sql(sql.merge_staged(bench.branch_table, staged, schema))
    merged = None
    if schema.mode is not TargetMode.MIRROR and (ends or removal):
        merged = _head(bench)
        effect = _mark(bench, schema, ends)
    if removal is not None:
        effect = effect + _remove(bench, schema, removal)
    with catalog_errors(f"the staging of {bench.target}"):
        table = table.refresh()
    snapshot_id = table.refs()[bench.branch].snapshot_id
    effect = effect + _effect(table, merged or snapshot_id, filled)
    tag = f"{bench.branch}_audited"
    create_tag(table, snapshot_id, tag)
    log.info(
        "table_staged",
        table=str(bench.target),
        snapshot_id=snapshot_id,
        inserted=effect.inserted,
        updated=effect.updated,
        deleted=effect.deleted,
        truncated=effect.truncated,
    )
    return Move(bench.target, base, snapshot_id, (bench.branch, tag), bench.fork), effect


def _truncate(bench: Bench, truncated_at: Position) -> int:
    """Delete what the truncate ended, and count it: whole files may go, so no metric tells."""
    name = quote(*bench.branch_table)
    before = bench.session.table(name).count()
    bench.session.sql(sql.delete_below(bench.branch_table, truncated_at))
    return before - bench.session.table(name).count()


def _mark(bench: Bench, schema: TableSchema, ends: Sequence[End]) -> Effect:
    """Mark what ``ends`` ended and is not marked yet, and count it."""
    if not ends:
        return Effect()
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
    return Effect(deleted=gone)


def _append(bench: Bench, schema: TableSchema, rows: StagedRows) -> None:
    """The first rows of an empty table need no merge: deletes have nothing to delete."""
    staged = read_staged(bench.session, rows)
    if schema.mode is not TargetMode.APPEND:
        staged = staged.where(F.col(STAGED_OP) == Op.UPSERT.value)
    values = sql.staged_values(schema).items()
    columns = staged.alias("s").select(*(F.expr(text).alias(name) for name, text in values))
    columns.writeTo(quote(*bench.branch_table)).append()


def _effect(table: Table, snapshot_id: int, base: int | None) -> Effect:
    """What the snapshots of an attempt did, from their summaries; the files must agree (ACC-7)."""
    effect = Effect()
    for snapshot in ancestors(table, snapshot_id):
        if snapshot.snapshot_id == base:
            break
        effect = effect + _effect_of(snapshot)
    return effect


def _effect_of(snapshot: Snapshot) -> Effect:
    def count(key: str) -> int:
        return int(summary_value(snapshot, key) or 0)

    added = count("added-records")
    # Deletes are kept one file per data file: older ones are rewritten into the new file.
    removed = count("added-position-deletes") - count("removed-position-deletes")
    if summary_value(snapshot, f"{MERGE_METRIC}inserted") is None:
        return Effect(inserted=added)
    effect = Effect(
        inserted=count(f"{MERGE_METRIC}inserted"),
        updated=count(f"{MERGE_METRIC}matched-updated"),
        deleted=count(f"{MERGE_METRIC}matched-deleted"),
    )
    if added - removed != effect.growth:
        raise AccountingError(
            f"the merge says {effect}, but its files add {added} rows and remove {removed}",
            state="the attempt stays on its branch; main is as it was",
            next_step="run again; if this repeats, the table's files are not sound",
        )
    return effect
