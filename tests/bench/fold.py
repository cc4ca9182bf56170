"""fold: 100,000 changed keys into tables of two sizes, beside the MERGE that everybody writes.

Both fold the same staged rows into the same table, each on branches of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.bench.columns import KEY, source_schema, with_columns
from tests.bench.figures import Figure, Target, ratio
from tests.bench.lab import Lab
from tests.bench.measure import take_turns
from tests.bench.messages import OPS, Batch
from tests.bench.plain import VIEW, merge_changes, plain_session
from tests.bench.tables import STREAM_FILE, base_table, clone, discard, file_position
from tidemark.lake.catalog import TableId
from tidemark.lake.effect import Effect
from tidemark.lake.refs import attempt_ref, create_branch, drop_refs, main_head
from tidemark.lake.sql import SYSTEM_COLUMNS
from tidemark.lake.staged import StagedPlace, StagedRows, read_staged, stage_rows
from tidemark.lake.staging import StagingContext, stage_table
from tidemark.model.columns import COMMIT_TIME, CONVERSION_ERROR, POSITION, STAGED_OP, UNAVAILABLE
from tidemark.model.event import Op
from tidemark.model.names import AttemptId
from tidemark.model.position import SnapshotRank
from tidemark.runs.session import size_for

CHANGES = 100_000
SMALL, LARGE = 2_000_000, 20_000_000
NAMESPACE = "fold"
CUT = 1


@dataclass(frozen=True, slots=True)
class Ground:
    """A table, the changes that are folded into it, and a session without the product's tuning."""

    lab: Lab
    table: TableId
    staged: StagedRows
    batch: Batch
    plain_session: SparkSession


def measure_fold(lab: Lab) -> Sequence[Figure]:
    """Seconds of both on both sizes, the product's slope, and its lead on the large one."""
    plain = plain_session(lab.world.spark)
    seconds: dict[int, Mapping[str, list[float]]] = {}
    figures: list[Figure] = []
    for size in (SMALL, LARGE):
        rows = lab.scaled(size)
        ground = _prepare(lab, rows, plain)
        seconds[size] = take_turns(
            {"fold": partial(_fold, ground), "plain MERGE": partial(_merge_plainly, ground)},
            lab.rounds,
        )
        figures += [
            Figure("fold", f"{name} into {rows:,} rows", "s", tuple(samples))
            for name, samples in seconds[size].items()
        ]
    discard(lab.world, NAMESPACE)
    millions = (lab.scaled(LARGE) - lab.scaled(SMALL)) / 1e6
    slope = tuple(
        (large - small) / millions
        for small, large in zip(seconds[SMALL]["fold"], seconds[LARGE]["fold"], strict=True)
    )
    lead = ratio(seconds[LARGE]["plain MERGE"], seconds[LARGE]["fold"])
    return [
        *figures,
        Figure("fold", "slope per million rows", "s", slope, Target(at_most=0.065)),
        Figure("fold", "times as fast as plain MERGE", "", lead, Target(at_least=3)),
    ]


def _prepare(lab: Lab, rows: int, plain: SparkSession) -> Ground:
    base = base_table(lab.world, rows)
    table, batch = TableId(NAMESPACE, f"orders_{rows}"), Batch(rows, lab.scaled(CHANGES))
    size_for(lab.world.spark, batch.changes, rows)
    clone(lab.world, base, table)
    place = StagedPlace.of(lab.world.catalog, NAMESPACE, attempt_ref(CUT, AttemptId("all")), table)
    staged = stage_rows(place, _typed_changes(lab.world.spark, batch), source_schema())
    read_staged(plain, staged).createOrReplaceTempView(VIEW)
    return Ground(lab, table, staged, batch, plain)


def _typed_changes(session: SparkSession, batch: Batch) -> DataFrame:
    """The batch as the product decodes it (`formats.rows.typed_rows`), made without records."""
    number = F.col("offset")
    op = F.substring(F.lit(OPS), (number % len(OPS)).cast("int") + 1, F.lit(1))
    existing = F.lit(1) + number * batch.stride % batch.rows
    rows = (
        session.range(batch.changes)
        .withColumnRenamed("id", "offset")
        .withColumn("source_op", op)
        .withColumn(
            "id", F.when(F.col("source_op") == "c", batch.rows + 1 + number).otherwise(existing)
        )
        .withColumn("version", F.lit(1))
    )
    streamed = F.lit(SnapshotRank.STREAMED.value)
    is_delete = F.col("source_op") == "d"
    return with_columns(rows).select(
        *source_schema().names,
        F.when(is_delete, Op.DELETE.value).otherwise(Op.UPSERT.value).alias(STAGED_OP),
        file_position(STREAM_FILE, streamed).alias(POSITION),
        F.timestamp_seconds(F.lit(1_795_250_000)).alias(COMMIT_TIME),
        F.lit(None).cast("string").alias(CONVERSION_ERROR),
        F.lit(None).cast("array<string>").alias(UNAVAILABLE),
    )


def _fold(ground: Ground, number: int) -> float:
    world = ground.lab.world
    branch = attempt_ref(CUT, AttemptId(f"fold_{number}"))
    base = main_head(world.catalog.load_table(ground.table.parts))
    bench = StagingContext(world.spark, world.catalog, ground.table, branch, CUT, base)
    cost, (move, effect) = ground.lab.meter.measure(
        lambda: stage_table(bench, source_schema(), ground.staged, ())
    )
    drop_refs(world.catalog.load_table(ground.table.parts), move.drops)
    batch = ground.batch
    expected = Effect(batch.count("c"), batch.count("u"), batch.count("d"))
    if effect != expected:
        raise RuntimeError(f"the fold did {effect}, not {expected}")
    return cost.seconds


def _merge_plainly(ground: Ground, number: int) -> float:
    catalog, branch = ground.lab.world.catalog, f"plain_{number}"
    table = catalog.load_table(ground.table.parts)
    create_branch(table, branch, table.refs()["main"].snapshot_id)
    target = (catalog.name, *ground.table.parts, f"branch_{branch}")
    columns = (*source_schema().names, *SYSTEM_COLUMNS)
    cost, _ = ground.lab.meter.measure(
        lambda: merge_changes(ground.plain_session, target, KEY, columns)
    )
    drop_refs(catalog.load_table(ground.table.parts), [branch])
    return cost.seconds
