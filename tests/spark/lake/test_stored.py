"""Rows of a target that are asked for by key: the right ones, at the cost of those asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.lake.test_merge import KEYS, context, make, schema_of, stage
from tidemark.fold.unchanged import needs_of
from tidemark.lake.catalog import TableId
from tidemark.lake.publication import update_mains
from tidemark.lake.staged import read_unavailable
from tidemark.lake.staging import stage_table
from tidemark.lake.stored import read_stored, stored_beside
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName
from tidemark.model.position import Position
from tidemark.runs.world import World

VALUE = ColumnName("v`odd")


@pytest.mark.parametrize("kind", ["long", "composite"])
def test_only_what_is_asked_for_is_joined(world: World, tmp_path: Path, kind: str) -> None:
    """UNAV-3: without the runtime Bloom filter all of the table would be sorted."""
    schema = schema_of(KEYS[kind])
    target = make(world, f"stored_{kind}", schema)
    rows = stage(world, tmp_path / "1", target, schema, [f"U{n}@A{n}=v{n}" for n in range(1, 6)])
    update_mains(world.catalog, [stage_table(context(world, target, 1), schema, rows, ())[0]])
    partial = stage(world, tmp_path / "2", target, schema, ["U2@B1=x", "U5@B1=x", "U7@B1"], VALUE)
    assert (partial.unavailable, partial.upserts) == (3, 0), "they are no upserts yet"
    stored = read_stored(world.spark, world.catalog, target, schema, None)
    assert stored is not None
    needs = needs_of(read_unavailable(world.spark, partial), schema.key)
    found = stored_beside(stored, needs, schema)
    rows_found = found.select("row_key.k0", "stored_at", f"image.`{VALUE.replace('`', '``')}`")
    assert sorted(map(tuple, rows_found.collect())) == [(2, "A2", "v2"), (5, "A5", "v5")]
    found.createOrReplaceTempView("found")
    plan = world.spark.sql("EXPLAIN SELECT * FROM found").collect()[0][0]
    assert plan.count("might_contain") >= len(schema.key) + (len(schema.key) > 1), plan


def test_what_a_truncate_ended_and_columns_that_are_still_to_come(
    world: World, tmp_path: Path
) -> None:
    """TRUNC-2, SCHEMA-10: the table is read before the cut changes it."""
    schema = schema_of(KEYS["integer"])
    target = make(world, "stored_old", schema)
    rows = stage(world, tmp_path, target, schema, ["U1@A1=a", "U2@B2=b"])
    update_mains(world.catalog, [stage_table(context(world, target, 1), schema, rows, ())[0]])
    added = SourceColumn(ColumnName("added"), "decimal(9,2)", ValueEncoding.DECIMAL_TEXT, "decimal")
    wanted = TableSchema((*schema.columns, added), schema.key)
    stored = read_stored(world.spark, world.catalog, target, wanted, Position("B1"))
    assert stored is not None
    assert [tuple(row["image"]) for row in stored.collect()] == [(2, "b", None)]
    assert read_stored(world.spark, world.catalog, TableId("db", "no"), wanted, None) is None
