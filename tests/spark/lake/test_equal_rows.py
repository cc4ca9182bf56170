"""Changes of a table without a key, merged into it: many groups of equal rows in one cut."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from tests.spark.lake.test_merge import context, make
from tests.support.staged import staged_place
from tests.unit.model.test_equal_rows import Given, history, walked
from tidemark.fold.row_changes import (
    UNMATCHED,
    SnapshotPasses,
    for_staging,
    for_typing,
    identified,
    matched,
)
from tidemark.formats.rows import RowImage, typed_rows
from tidemark.lake.catalog import TableId
from tidemark.lake.effect import Effect
from tidemark.lake.publication import update_mains
from tidemark.lake.staged import StagedRows, read_staged, stage_rows
from tidemark.lake.staging import stage_table
from tidemark.lake.stored import read_stored
from tidemark.model.columns import STAGED_OP, SourceColumn, TableSchema, ValueEncoding
from tidemark.model.equal_rows import Step
from tidemark.model.names import ColumnName
from tidemark.runs.world import World

ODD = "v`odd"
SCHEMA = TableSchema(
    (
        SourceColumn(ColumnName("n"), "int", ValueEncoding.INTEGER, "int"),
        SourceColumn(ColumnName(ODD), "string", ValueEncoding.TEXT, "text"),
        SourceColumn(
            ColumnName("d"), "decimal(9,2)", ValueEncoding.DECIMAL_TEXT, "decimal(9,2)", digits=2
        ),
        SourceColumn(ColumnName("m"), "map<string,string>", ValueEncoding.MAP, "hstore"),
    )
)
IMAGE = "STRUCT<n: STRING, `v``odd`: STRING, d: STRING, m: STRING>"
FIELDS = (
    "topic STRING, partition INT, offset LONG, position STRING, part INT, op STRING, "
    f"row_id STRING, image {IMAGE}"
)
Image = tuple[str | None, str | None, str, str]


def image_of(group: int, rng: random.Random) -> Image:
    """Nulls are equal, and so are maps and decimals, however they are written."""
    pairs = rng.sample(['"a": "1"', '"b": null'], 2)
    number = None if group == 0 else str(group)
    text = None if group % 2 else f"it's `{group // 2}`"
    return number, text, rng.choice(["1.5", "1.50"]), f"{{{', '.join(pairs)}}}"


def places(steps: Sequence[Given]) -> dict[str, str]:
    """Identity -> position in a binlog; the rows of a scan share their place."""
    first: dict[str, int] = {}
    found = {}
    for step in steps:
        at = (
            step.position
            if step.snapshot_pass is None
            else first.setdefault(step.snapshot_pass, step.position)
        )
        rank = 1 if step.snapshot_pass is None else 0
        found[step.row] = f"000100000009{at:016X}{rank}{step.position:016X}"
    return found


def staged(
    world: World, folder: Path, target: TableId, rows: Sequence[tuple[object, ...]]
) -> StagedRows:
    """Stage changes as a cut does."""
    changes = world.spark.createDataFrame(rows, FIELDS)
    typed = (
        changes.withColumn("commit_time", F.current_timestamp())
        .withColumns({"schema_id": F.lit(None).cast("long"), "contradicts": F.lit(False)})
        .transform(for_typing, SnapshotPasses())
        .transform(
            typed_rows,
            SCHEMA,
            RowImage(F.col("image"), None, F.col("contradicts")),
            keep=("_tidemark_row", "_tidemark_change"),
        )
        .transform(for_staging, SCHEMA)
    )
    return stage_rows(staged_place(world, folder, target), typed, SCHEMA)


def given(
    number: int, steps: Sequence[Given], rng: random.Random, *, stored: bool
) -> list[tuple[object, ...]]:
    at = places(steps)
    return [
        (
            *("t", 0, step.position, at[step.row], 0),
            "D" if step.step is Step.DELETE else "U",
            f"{number}/{step.row}",
            image_of(number, rng),
        )
        for step in steps
        if (step.step is Step.STORED) == stored
    ]


def decided(world: World, target: TableId, changes: StagedRows) -> DataFrame:
    stored = read_stored(world.spark, world.catalog, target, SCHEMA, None)
    return matched(
        read_staged(world.spark, changes), stored, SCHEMA, SnapshotPasses(), Observation()
    )


def merge(world: World, target: TableId, rows: StagedRows, cut: int) -> Effect:
    """Apply staged rows to the target and publish it."""
    ref_update, effect = stage_table(context(world, target, cut), SCHEMA, rows, ())
    update_mains(world.catalog, [ref_update])
    return effect


def test_each_group_ends_as_a_list_does(world: World, tmp_path: Path) -> None:
    """KEY-14, KEY-15, KEY-2: rows are compared as typed values, in all columns."""
    rng = random.Random("groups")  # noqa: S311  repeatable, not secret
    target = make(world, "equal_rows", SCHEMA)
    histories = [list(history(rng)) for _ in range(120)]
    groups = {number: steps for number, steps in enumerate(histories) if not walked(steps)[1]}
    assert len(groups) > 60
    stored, changes = (
        [row for n, steps in groups.items() for row in given(n, steps, rng, stored=is_stored)]
        for is_stored in (True, False)
    )
    merge(world, target, staged(world, tmp_path / "1", target, stored), 1)
    found = decided(world, target, staged(world, tmp_path / "2", target, changes))
    rows = found.where(F.col(STAGED_OP).isNotNull()).drop(UNMATCHED)
    effect = merge(
        world, target, stage_rows(staged_place(world, tmp_path / "3", target), rows, SCHEMA), 2
    )
    want = {
        (number, places(steps)[_at(steps, position)]): f"{number}/{row}"
        for number, steps in groups.items()
        for row, position in walked(steps)[0]
    }
    table = world.catalog.load_table(target.parts).scan().to_arrow().to_pylist()
    there = {(row["n"] or 0, row["_tidemark_position"]): row["_tidemark_row"] for row in table}
    assert there == want
    assert len(table) == len(want) == len(stored) + effect.expansion


def _at(steps: Sequence[Given], position: int) -> str:
    return next(step.row for step in steps if step.position == position)


def test_a_delete_without_its_row_is_named(world: World, tmp_path: Path) -> None:
    """NO_MATCH: by where it was read."""
    rng = random.Random("none")  # noqa: S311  repeatable, not secret
    target = make(world, "no_match", SCHEMA)
    steps = [Given(Step.INSERT, 1, "a"), Given(Step.DELETE, 2, "b"), Given(Step.DELETE, 3, "c")]
    changes = staged(world, tmp_path, target, given(1, steps, rng, stored=False))
    rows = decided(world, target, changes).collect()
    assert [row[UNMATCHED] for row in rows] == ['{"topic":"t","partition":0,"offset":3}']


def test_only_rows_that_may_be_equal_are_sorted(world: World, tmp_path: Path) -> None:
    """KEY-15: without the runtime Bloom filter all of the table would be."""
    rng = random.Random("plan")  # noqa: S311  repeatable, not secret
    target = make(world, "equal_plan", SCHEMA)
    rows = [r for n in range(9) for r in given(n, [Given(Step.INSERT, 1, "a")], rng, stored=False)]
    merge(world, target, staged(world, tmp_path / "1", target, rows), 1)
    deletes = given(3, [Given(Step.DELETE, 2, "d")], rng, stored=False)
    found = decided(world, target, staged(world, tmp_path / "2", target, deletes))
    found.createOrReplaceTempView("equal_rows_found")
    plan = world.spark.sql("EXPLAIN SELECT * FROM equal_rows_found").collect()[0][0]
    assert "might_contain" in plan, plan
    assert Counter(row[STAGED_OP] for row in found.collect()) == {"D": 1}


def test_the_identity_of_a_change_is_that_of_its_copies(world: World) -> None:
    """POS-14: its place, its number there and its row, in whichever partition.

    A snapshot's row has its partition and offset.
    """
    binlog, read = "0001" + "0" * 24 + "1", "0001" + "0" * 24 + "0"
    rows = [
        (0, f"{binlog}{1:016X}", 0, None, "0", ("1", None)),
        (1, f"{binlog}{2:016X}", 0, None, "0", ("1", None)),
        (0, f"{binlog}{3:016X}", 0, None, "1", ("1", None)),
        (0, f"{binlog}{4:016X}", 0, None, "0", (None, "1")),
        (0, f"{read}{5:016X}", 0, "true", "0", ("1", None)),
        (0, f"{read}{6:016X}", 0, "true", "0", ("1", None)),
        (1, f"{read}{6:016X}", 0, "true", "0", ("1", None)),
    ]
    fields = "partition INT, position STRING, part INT, snapshot STRING, occurrence STRING, "
    frame = world.spark.createDataFrame(rows, f"{fields} image STRUCT<a: STRING, b: STRING>")
    ids = [row["row_id"] for row in identified(frame).orderBy("position", "partition").collect()]
    assert [ids.index(one) for one in ids] == [0, 1, 2, 3, 3, 5, 6]
