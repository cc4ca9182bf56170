"""What a merge did with the staged rows: by its metrics, by its files, and by what stood before.

Every staged row is inserted, updated, deleted, known to the target, or a delete of a row that is
not there. Where the merge's counts alone do not show that it applied all of them, each is counted
once more against the snapshot before it, and both have to agree (ACC-4, ACC-7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidemark.errors import AccountingError
from tidemark.lake.catalog import TableId
from tidemark.lake.refs import ancestors, summary_value
from tidemark.lake.staged import StagedRows, read_staged
from tidemark.model.columns import END_POSITION, POSITION, STAGED_KEY_HASH, STAGED_OP, TableSchema
from tidemark.model.event import Op
from tidemark.model.names import quote
from tidemark.model.target_mode import TargetMode

MERGE_METRIC = "spark.merge-into.num-target-rows-"


@dataclass(frozen=True, slots=True)
class Effect:
    """What an attempt did, in rows.

    inserted, updated, deleted: by the merge. known: staged rows that the target has at the same
    position or a newer one, so that nothing was done. missing: staged deletes of rows that are not
    there. truncated: ended by a truncate. removed: not contained in a new snapshot of the source;
    spared: those of them that stay because they are too many.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    known: int = 0
    missing: int = 0
    truncated: int = 0
    removed: int = 0
    spared: int = 0

    def __add__(self, other: Effect) -> Effect:
        return Effect(
            *(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True))
        )

    @property
    def expansion(self) -> int:
        """By how many rows the merge made the table grow."""
        return self.inserted - self.deleted


def is_applied(rows: StagedRows, did: Effect, mode: TargetMode) -> bool:
    """Whether the merge's own counts prove that it applied every staged row."""
    match mode:
        case TargetMode.MIRROR:
            return did.inserted + did.updated == rows.upserts and did.deleted == rows.deletes
        case TargetMode.SOFT_DELETE:
            return did.inserted + did.updated == rows.rows
        case TargetMode.HISTORY:
            return did.inserted == rows.upserts and did.updated == rows.deletes
        case TargetMode.APPEND:
            return did.inserted + did.updated == rows.rows


def expected_effect(
    session: SparkSession,
    table: Sequence[str],
    before: int | None,
    rows: StagedRows,
    schema: TableSchema,
) -> Effect:
    """What a merge has to do, by each staged row and what the snapshot ``before`` it holds.

    table: parts of its name. Like the merge it reads the key and the position of the target, and
    of those the files that the runtime Bloom filter of the staged keys leaves.
    """
    staged = read_staged(session, rows).where(F.col(STAGED_OP).isin(*(op.value for op in Op)))
    stored = F.lit(None).cast("string")
    if before is not None:
        there = session.read.option("versionAsOf", before).table(quote(*table))
        staged, stored = _beside(staged, there, schema)
    is_delete = F.col(STAGED_OP) == Op.DELETE.value
    is_new, is_newer = stored.isNull(), F.col(POSITION) > stored
    # Of an append target a delete is a row like any other; elsewhere only a mirror loses rows.
    needs_row = F.lit(False) if schema.mode is TargetMode.APPEND else is_delete
    removes = is_delete if schema.mode is TargetMode.MIRROR else F.lit(False)
    parts = {
        "inserted": is_new & ~needs_row,
        "missing": is_new & needs_row,
        "deleted": is_newer & removes,
        "updated": is_newer & ~removes,
        "known": F.col(POSITION) <= stored,
    }
    counts = staged.agg(*(F.count(F.when(part, 1)).alias(name) for name, part in parts.items()))
    return Effect(**counts.collect()[0].asDict())


def _beside(staged: DataFrame, there: DataFrame, schema: TableSchema) -> tuple[DataFrame, Column]:
    """Staged rows beside the rows of the target that they concern, and the position of these."""
    key = schema.row_key
    names = [f"stored_{number}" for number in range(len(key))]
    if schema.mode is TargetMode.HISTORY:
        there = there.where(F.col(END_POSITION).isNull())
    held = there.select(
        *(F.col(quote(name)).alias(other) for name, other in zip(key, names, strict=True)),
        F.coalesce(POSITION, F.lit("")).alias("stored_at"),
    )
    same = [F.col(quote(name)) == F.col(other) for name, other in zip(key, names, strict=True)]
    if len(key) > 1:  # as in the merge: one column alone filters nothing
        same.append(F.col(STAGED_KEY_HASH) == F.xxhash64(*names))
    if schema.mode is TargetMode.HISTORY:
        same.append(F.col(STAGED_OP) == Op.DELETE.value)
    return staged.join(held, same, "left"), F.col("stored_at")


def refuse_unaccounted(target: TableId, rows: StagedRows, did: Effect, expected: Effect) -> None:
    """The merge has to have done what was expected of every staged row; `AccountingError` else.

    did: by the merge's own counts. Source of the rule: ACC-4.
    """
    parts = expected.inserted, expected.updated, expected.deleted
    accounted = sum(parts) + expected.known + expected.missing
    if accounted == rows.rows and (did.inserted, did.updated, did.deleted) == parts:
        return
    raise AccountingError(
        f"{rows.rows} rows were staged for {target}, but the table as it was before the merge "
        f"accounts for {accounted}: {expected.inserted} to insert, {expected.updated} to update, "
        f"{expected.deleted} to delete, {expected.known} known already, {expected.missing} deletes "
        f"of rows that are not there; the merge inserted {did.inserted}, updated {did.updated} "
        f"and deleted {did.deleted}",
        state="the attempt stays on its branch; main is as it was",
        next_step="run again; if this repeats, look whether every executor reaches the "
        "warehouse, and who deletes files there",
    )


def effect_of(table: Table, snapshot_id: int | None, base: int | None) -> Effect:
    """What the snapshots since ``base`` did, by their summaries; the files must agree (ACC-7)."""
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
    if added - removed != effect.expansion:
        raise AccountingError(
            f"the merge says {effect}, but its files add {added} rows and remove {removed}",
            state="the attempt stays on its branch; main is as it was",
            next_step="run again; if this repeats, the table's files are not sound",
        )
    return effect
