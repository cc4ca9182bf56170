"""Tables without a key: each change once, and the row that it concerns (KEY-14, KEY-15).

A row of such a table has the identity of the change that made it. So what the cut does to equal
rows becomes what it does to identities, one op each, and is merged like any table's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from tidemark.model.columns import (
    CHANGE,
    COMMIT_TIME,
    CONVERSION_ERROR,
    POSITION,
    ROW,
    STAGED_KEY_HASH,
    STAGED_OP,
    UNAVAILABLE,
    TableSchema,
)
from tidemark.model.cut import GateMode
from tidemark.model.equal_rows import CAME_AND_WENT, MATCHING, OVERTAKEN, SNAPSHOT_PASS, STEP, Step
from tidemark.model.event import Kind, Op
from tidemark.model.names import quote
from tidemark.model.position import Position
from tidemark.model.reduction import EVENT_ID
from tidemark.model.repeats import IDENTITY, REPEATS, eras

COPY_ID = "copy_id"
"""What copies of a row that a snapshot read share, where more than the offset tells them."""
STEPS = ("equal_hash", "equal", "step", "position", "part", "row_id", "scan", "commit_time", "at")
UNMATCHED = "unmatched"


@dataclass(frozen=True, slots=True)
class SnapshotPasses:
    """Where the table was read: positions of the first rows of snapshots, and of the last ones.

    Marks of one scan may lack; what stands between two of them belongs to one.
    """

    first: tuple[Position, ...] = ()
    last: tuple[Position, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether no second snapshot of the table was begun."""
        return len(self.first) <= 1 and len(self.last) <= 1

    def below(self, position: Column) -> Column:
        """How many had begun or ended where the row at ``position`` was read."""
        begun = sum((F.when(position >= at, 1).otherwise(0) for at in self.first), F.lit(0))
        return begun + sum((F.when(position > at, 1).otherwise(0) for at in self.last), F.lit(0))


def row_changes(
    events: DataFrame, decode: Callable[[DataFrame], DataFrame], mode: GateMode
) -> DataFrame:
    """The rows that events end and make, and which of them came before.

    In: changelog rows of one table with ``in_cut``; those that are not in the cut tell what came
    before it: earlier copies, and watermarks with gate ``watermark``. decode:
    `Decoder.row_changes`. Out: one row per change in the cut with ``op``, ``part``, ``image``,
    ``row_id``, ``is_repeat`` and ``is_uncertain``, a repeat that may be no repeat. Events may have
    a COPY_ID, null where they have none.
    """
    placed = _step_by_step(events, eras(mode)).where(F.col("kind") == Kind.ROW.value)
    named = identified(decode(placed))
    has_copy_id = F.col(COPY_ID).isNotNull() if COPY_ID in named.columns else F.lit(False)
    repeated = _step_by_step(named, REPEATS).where("in_cut")
    return repeated.withColumn("is_uncertain", F.col("is_uncertain") & ~has_copy_id)


def identified(changes: DataFrame) -> DataFrame:
    """Changes with ``row_id``, what copies of each share, and ``image_hash``."""
    text = F.to_json("image", {"ignoreNullFields": "false"})
    hashed = changes.withColumn("image_hash", F.hex(F.xxhash64(text)))
    row_id = F.expr(IDENTITY)
    if COPY_ID in changes.columns:
        copy_row_id = F.concat_ws(".", F.expr(EVENT_ID), COPY_ID)
        row_id = F.when(F.col(COPY_ID).isNotNull(), copy_row_id).otherwise(row_id)
    return hashed.withColumn("row_id", row_id)


def for_typing(changes: DataFrame, snapshot_passes: SnapshotPasses) -> DataFrame:
    """Changes as `formats.rows.typed_rows` takes them, with ROW and CHANGE to be kept.

    The image of a delete is decoded like that of an upsert: as a whole.
    """
    steps = (
        changes.withColumn("scans", snapshot_passes.below(F.col("position")))
        .withColumn("scan", F.expr(SNAPSHOT_PASS))
        .withColumn("step", F.expr(STEP))
        .withColumn("at", F.struct("topic", "partition", "offset"))
    )
    return steps.select(
        F.lit(Op.UPSERT.value).alias("op"),
        "position",
        "commit_time",
        "schema_id",
        "image",
        "contradicts",
        F.col("row_id").alias(ROW),
        F.struct("op", "step", "part", "scan", "at").alias(CHANGE),
    )


def for_staging(typed: DataFrame, schema: TableSchema) -> DataFrame:
    """Typed changes with their own op, and the hash of what equal rows have in common."""
    return typed.withColumns(
        {
            STAGED_OP: F.col(f"{CHANGE}.op"),
            STAGED_KEY_HASH: F.xxhash64(*_compared(schema, lambda name: F.col(quote(name)))),
        }
    )


def touched(staged: DataFrame) -> DataFrame:
    """The staged changes that may concern rows of the target: all but inserts."""
    is_delete = F.col(STAGED_OP) == Op.DELETE.value
    return staged.where(is_delete | (F.col(f"{CHANGE}.step") == Step.READ.value))


def matched(
    staged: DataFrame,
    stored: DataFrame | None,
    schema: TableSchema,
    snapshot_passes: SnapshotPasses,
    counted: Observation,
) -> DataFrame:
    """What to do to which rows of the target.

    ``counted`` gets the changes that leave nothing to do: ``overtaken``, rows that came and were
    read again or taken away in the same cut, and ``came_and_went``, what took them away.

    In: rows of `for_staging`; stored: `lake.stored.read_stored`. Out: what `stage_rows` takes, one
    row per identity that changes; and one with UNMATCHED, the place of the record, for each delete
    that finds no row.
    """
    steps = _change_steps(staged, schema)
    if stored is not None:
        steps = steps.unionByName(_stored_steps(staged, stored, schema, snapshot_passes))
    decided = _step_by_step(steps, MATCHING).observe(
        counted,
        F.count(F.when(F.expr(OVERTAKEN), 1)).alias("overtaken"),
        F.count(F.when(F.expr(CAME_AND_WENT), 1)).alias("came_and_went"),
    )
    decided = decided.where("outcome IS NOT NULL OR is_unmatched")
    is_delete = F.col("outcome") == Op.DELETE.value
    return decided.select(
        *(F.col("image")[name].alias(name) for name in schema.names),
        F.col("outcome").alias(STAGED_OP),
        F.when(is_delete, F.col("newest_delete")).otherwise(F.col("position")).alias(POSITION),
        F.col("commit_time").alias(COMMIT_TIME),
        F.col("born_as").alias(ROW),
        F.lit(None).cast("string").alias(CONVERSION_ERROR),
        F.lit(None).cast("array<string>").alias(UNAVAILABLE),
        F.when(F.col("is_unmatched"), F.to_json("at")).alias(UNMATCHED),
    )


def _change_steps(staged: DataFrame, schema: TableSchema) -> DataFrame:
    compared = _compared(schema, lambda name: F.col(quote(name)))
    return staged.select(
        F.col(STAGED_KEY_HASH).alias("equal_hash"),
        F.struct(*compared).alias("equal"),
        f"{CHANGE}.step",
        F.col(POSITION).alias("position"),
        f"{CHANGE}.part",
        F.col(ROW).alias("row_id"),
        f"{CHANGE}.scan",
        F.col(COMMIT_TIME).alias("commit_time"),
        f"{CHANGE}.at",
        F.struct(*(F.col(quote(name)) for name in schema.names)).alias("image"),
    )


def _stored_steps(
    staged: DataFrame, stored: DataFrame, schema: TableSchema, snapshot_passes: SnapshotPasses
) -> DataFrame:
    """The rows of the target that may equal a row that is deleted or read.

    ``staged`` is a plain scan with a predicate, so that its runtime Bloom filter keeps all other
    rows out of the join, as in the merge (docs/adr/0002-one-guarded-merge.md).
    """
    compared = _compared(schema, lambda name: F.col("image")[name])
    wanted = touched(staged).select(F.col(STAGED_KEY_HASH).alias("wanted_hash"))
    near = stored.join(wanted, F.xxhash64(*compared) == F.col("wanted_hash"), "left_semi")
    nothing = F.lit(None)
    rows = near.select(
        F.xxhash64(*compared).alias("equal_hash"),
        F.struct(*compared).alias("equal"),
        F.lit(Step.STORED.value).alias("step"),
        F.col("stored_at").alias("position"),
        F.lit(0).alias("part"),
        F.col(ROW).alias("row_id"),
        snapshot_passes.below(F.col("stored_at")).alias("scans"),
        nothing.cast("timestamp").alias("commit_time"),
        nothing.cast("struct<topic: string, partition: int, offset: bigint>").alias("at"),
        "image",
    )
    return rows.withColumn("scan", F.expr(SNAPSHOT_PASS)).select(*STEPS, "image")


def _compared(schema: TableSchema, value: Callable[[str], Column]) -> list[Column]:
    """A row as what it is compared by, all columns of it; nulls are equal.

    The entries of a map have no order.
    """
    columns = []
    for number, column in enumerate(schema.columns):
        compared = value(column.name)
        if column.iceberg.startswith("map<"):
            compared = F.array_sort(F.map_entries(compared))
        columns.append(compared.alias(f"_{number}"))
    return columns


def _step_by_step(frame: DataFrame, steps: Iterable[Mapping[str, str]]) -> DataFrame:
    """Columns added one after the other."""
    for columns in steps:
        frame = frame.withColumns({name: F.expr(text) for name, text in columns.items()})
    return frame
