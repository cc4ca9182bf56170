"""The one guarded MERGE: right rows, and a plan whose cost follows the batch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from tests.support.staged import staged_place
from tidemark.lake import sql
from tidemark.lake.catalog import TableId
from tidemark.lake.effect import Effect
from tidemark.lake.evolve import apply_changes, read_target
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import main_head
from tidemark.lake.staged import StagedRows, stage_rows
from tidemark.lake.staging import StagingContext, stage_table
from tidemark.model.columns import UNAVAILABLE, SourceColumn, TableSchema, ValueEncoding
from tidemark.model.ends import End
from tidemark.model.names import ColumnName
from tidemark.model.position import Position
from tidemark.runs.session import FEW_ROWS, size_for
from tidemark.runs.world import World
from tidemark.schema.changes import plan_changes

KEYS: dict[str, tuple[str, ...]] = {
    "integer": ("int",),
    "long": ("bigint",),
    "unsigned": ("decimal(20,0)",),
    "text": ("string",),
    "date": ("date",),
    "timestamp": ("timestamp_ntz",),
    "binary": ("binary",),
    "array": ("array<int>",),
    "composite": ("int", "bigint"),
    "text and integer": ("string", "int"),
}


def schema_of(types: Sequence[str]) -> TableSchema:
    names = [ColumnName(f"k{number}") for number in range(len(types))]
    columns = [
        SourceColumn(name, iceberg, ValueEncoding.TEXT, iceberg)
        for name, iceberg in zip(names, types, strict=True)
    ]
    value = SourceColumn(ColumnName("v`odd"), "string", ValueEncoding.TEXT, "text")
    return TableSchema((*columns, value), tuple(names))


def make(world: World, name: str, schema: TableSchema) -> TableId:
    target = TableId("db", name)
    head = read_target(world.catalog, target)
    changes = plan_changes(head.source_schema if head else None, schema)
    apply_changes(world.spark, world.catalog, target, changes, schema)
    return target


def stage(
    world: World,
    folder: Path,
    target: TableId,
    schema: TableSchema,
    rows: Sequence[str],
    *unavailable: str,
) -> StagedRows:
    """Stage ``<op><key>@<position>=<value>`` rows; every key column is made from the number.

    unavailable: the columns that all of them leave out.
    """
    values = []
    for text in rows:
        match = re.fullmatch(r"([UD])(\d+)@(\w+)(?:=(\w+))?", text)
        assert match is not None, text
        op, key, at, value = match.groups()
        values.append((op, at, int(key), value))
    frame = world.spark.createDataFrame(values, "op STRING, position STRING, n INT, v STRING")
    keys = [f"{_from_number(schema[name].iceberg)} AS {name}" for name in schema.key]
    typed = frame.selectExpr(
        *keys,
        "v AS `v``odd`",
        "op AS _tidemark_op",
        "position AS _tidemark_position",
        "timestamp'2026-01-01' AS _tidemark_commit_time",
        "CAST(NULL AS STRING) AS _tidemark_conversion_error",
    )
    names = F.array(*map(F.lit, unavailable)) if unavailable else F.lit(None).cast("array<string>")
    typed = typed.withColumn(UNAVAILABLE, names)
    return stage_rows(staged_place(world, folder, target), typed, schema)


def _from_number(iceberg: str) -> str:
    return {
        "date": "date_add(date'2026-01-01', n)",
        "timestamp_ntz": "CAST(date_add(date'2026-01-01', n) AS TIMESTAMP_NTZ)",
        "binary": "CAST(CAST(n AS STRING) AS BINARY)",
        "array<int>": "array(n)",
    }.get(iceberg, f"CAST(n AS {iceberg})")


def context(world: World, target: TableId, cut: int) -> StagingContext:
    base = main_head(world.catalog.load_table(target.parts))
    return StagingContext(world.spark, world.catalog, target, f"tidemark_{cut}_try", cut, base)


def published(world: World, target: TableId) -> dict[object, str]:
    """Rows as an independent reader sees them."""
    rows = world.catalog.load_table(target.parts).scan().to_arrow().to_pylist()
    return {row["k0"]: row["v`odd"] for row in rows}


def test_merge_window_bounds_by_position_and_counts_what_it_did(
    world: World, tmp_path: Path
) -> None:
    schema = schema_of(KEYS["long"])
    target = make(world, "guarded", schema)
    first = stage(world, tmp_path / "1", target, schema, ["U1@A1=a", "U2@A2=b", "D9@A3"])
    ref_update, effect = stage_table(context(world, target, 1), schema, first, ())
    assert effect == Effect(inserted=2, missing=1)
    assert published(world, target) == {}, "staging does not touch main"
    update_mains(world.catalog, [ref_update])
    assert published(world, target) == {1: "a", 2: "b"}
    second = stage(
        world, tmp_path / "2", target, schema, ["U1@A0=old", "D2@B1", "U3@B2=c", "D4@B3"]
    )
    ref_update, effect = stage_table(context(world, target, 2), schema, second, ())
    assert effect == Effect(inserted=1, deleted=1, known=1, missing=1), (
        "an older change and a missing row do nothing"
    )
    update_mains(world.catalog, [ref_update])
    assert published(world, target) == {1: "a", 3: "c"}


def test_truncate_ends_what_is_below_it_and_the_refill_stays(world: World, tmp_path: Path) -> None:
    schema = schema_of(KEYS["text"])
    target = make(world, "truncated", schema)
    rows = stage(world, tmp_path / "1", target, schema, ["U1@A1=a", "U2@A2=b", "U3@C1=new"])
    update_mains(world.catalog, [stage_table(context(world, target, 1), schema, rows, ())[0]])
    refill = stage(world, tmp_path / "2", target, schema, ["U1@B2=again"])
    ref_update, effect = stage_table(
        context(world, target, 2), schema, refill, (End(Position("B1")),)
    )
    assert effect == Effect(inserted=1, truncated=2)
    update_mains(world.catalog, [ref_update])
    assert published(world, target) == {"1": "again", "3": "new"}


@pytest.mark.parametrize("kind", KEYS)
def test_the_plan_filters_the_target_by_the_batch(world: World, tmp_path: Path, kind: str) -> None:
    """Without the runtime Bloom filter a merge reads and shuffles the whole table."""
    schema = schema_of(KEYS[kind])
    plan = plan_of_merge(world, tmp_path, f"plan_{kind.replace(' ', '_')}", schema)
    filters = plan.count("might_contain")
    assert filters >= len(schema.key) + (len(schema.key) > 1), plan


@pytest.mark.parametrize(("records", "keys"), [(0, 1_000), (2, 1_000), (3_000_000, 6_000_000)])
def test_the_filter_is_as_large_as_the_batch_is_worth(
    world: World, tmp_path: Path, records: int, keys: int
) -> None:
    """A small cut would else pay for a filter of a million keys in each of its merges."""
    size_for(world.spark, records)
    try:
        plan = plan_of_merge(world, tmp_path, f"sized_{records}", schema_of(KEYS["long"]))
    finally:
        size_for(world.spark, 0, stored=FEW_ROWS + 1)
    assert re.search(rf"bloom_filter_agg\(.*, {keys}, {8 * keys}, ", plan), plan


def plan_of_merge(world: World, tmp_path: Path, table: str, schema: TableSchema) -> str:
    """How Spark would merge two changes into a new table that holds them already."""
    target = make(world, table, schema)
    rows = stage(world, tmp_path, target, schema, ["U1@A1=a", "U2@A2=b"])
    update_mains(world.catalog, [stage_table(context(world, target, 1), schema, rows, ())[0]])
    name = (world.catalog.name, *target.parts)
    merge = sql.merge_staged(name, rows.written.table, schema)
    return str(world.spark.sql(f"EXPLAIN {merge}").collect()[0][0])
