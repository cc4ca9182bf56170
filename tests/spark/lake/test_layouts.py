"""Partitioned and sorted targets: laid out by Spark, read with pyiceberg."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest
from pyiceberg.table import Table

from tests.support.staged import staged_place
from tidemark.errors import TableStoppedError
from tidemark.lake.catalog import TableId, ensure_namespace
from tidemark.lake.effect import Effect
from tidemark.lake.evolve import apply_changes, read_target
from tidemark.lake.forks import make_fork
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import attempt_ref
from tidemark.lake.staged import stage_rows
from tidemark.lake.staging import StagingContext, stage_table
from tidemark.model.column_rename import ColumnRename
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.layout import Layout, PartitionField
from tidemark.model.names import AttemptId, ColumnName
from tidemark.model.position import Position
from tidemark.runs.world import World
from tidemark.schema.changes import plan_changes

OWN = "tidemark_layouts"
ID = SourceColumn(ColumnName("id"), "int", ValueEncoding.INTEGER, "int")
DAY = SourceColumn(ColumnName("on"), "date", ValueEncoding.DAYS, "date")
PLACE = SourceColumn(ColumnName("pl`ace"), "string", ValueEncoding.TEXT, "text")


def laid_out(partition: str = "", sort: str = "") -> TableSchema:
    fields = (PartitionField.parse(text) for text in partition.split(";") if text)
    layout = Layout(tuple(fields), tuple(map(ColumnName, sort.split())))
    return TableSchema((ID, DAY, PLACE), (ID.name,), layout=layout)


@dataclass
class Target:
    """A target that is staged and published cut by cut, as the engine does it."""

    world: World
    folder: Path
    id: TableId

    def __post_init__(self) -> None:
        self.cuts = count(1)
        ensure_namespace(self.world.catalog, OWN)

    def fold(self, want: TableSchema, *rows: tuple[int, str, str]) -> Effect:
        """rows: id, day and place; a row without a day is deleted."""
        number = next(self.cuts)
        branch = attempt_ref(number, AttemptId("t"))
        catalog, head = self.world.catalog, read_target(self.world.catalog, self.id)
        fork = make_fork(catalog, self.id, head.metadata, OWN, branch) if head else None
        base = head.snapshot if head else None
        context = StagingContext(self.world.spark, catalog, self.id, branch, number, base, fork)
        changes = plan_changes(head.source_schema if head else None, want)
        apply_changes(context.session, context.catalog, context.place, changes, want)
        frame = self.world.spark.createDataFrame(list(rows), "id int, day string, place string")
        typed = frame.selectExpr(
            "id",
            *(["TRY_CAST(day AS date) AS `on`"] if DAY.name in want.names else []),
            "place AS `pl``ace`",
            "IF(day = '', 'D', 'U') AS _tidemark_op",
            f"'{number}' AS _tidemark_position",
            "timestamp'2026-01-01' AS _tidemark_commit_time",
            "CAST(NULL AS STRING) AS _tidemark_conversion_error",
            "CAST(NULL AS STRING) AS _tidemark_left_out",
        )
        place = staged_place(self.world, self.folder / str(number), self.id)
        staged = stage_rows(place, typed, want)
        ref_update, effect = stage_table(context, want, staged)
        update_mains(self.world.catalog, [ref_update])
        return effect

    @property
    def table(self) -> Table:
        return self.world.catalog.load_table(self.id.parts)

    def rows(self, *columns: str, where: str = "id > 0") -> list[tuple[object, ...]]:
        found = self.table.scan(where).to_arrow().to_pylist()
        return sorted(tuple(str(row[name]) for name in columns) for row in found)

    def spec(self) -> list[str]:
        schema = self.table.schema()
        return [
            f"{field.transform}:{schema.find_column_name(field.source_id)}"
            for field in self.table.spec().fields
            if str(field.transform) != "void"
        ]


@pytest.fixture
def target(world: World, tmp_path: Path, request: pytest.FixtureRequest) -> Target:
    name = request.node.name.replace("[", "_").replace("]", "")
    return Target(world, tmp_path, TableId("db", name))


def test_a_row_whose_partition_changes_leaves_no_copy_behind(target: Target) -> None:
    schema = laid_out("day(on);bucket(4, pl`ace)", "pl`ace id")
    target.fold(schema, (1, "2026-01-01", "a"), (2, "2026-01-01", "b"), (3, "2026-01-02", "c"))
    effect = target.fold(schema, (1, "2026-01-02", "z"), (3, "", ""), (4, "2026-01-01", "d"))
    assert effect == Effect(inserted=1, updated=1, deleted=1)
    assert target.rows("id", "on", "pl`ace") == [
        ("1", "2026-01-02", "z"),
        ("2", "2026-01-01", "b"),
        ("4", "2026-01-01", "d"),
    ]
    assert target.spec() == ["day:on", "bucket[4]:pl`ace"]
    orders = target.table.sort_order().fields
    assert [target.table.schema().find_column_name(f.source_id) for f in orders] == ["pl`ace", "id"]


def test_a_partition_is_all_that_a_reader_of_it_opens(target: Target) -> None:
    rows = [(number, f"2026-01-0{number}", "a") for number in range(1, 6)]
    target.fold(laid_out("on"), *rows)
    found = list(target.table.scan("id > 0").plan_files())
    one = list(target.table.scan(f"{DAY.name} = '2026-01-03'").plan_files())
    assert (len(found), len(one)) == (5, 1)


def test_a_changed_layout_holds_for_new_files(target: Target) -> None:
    target.fold(laid_out(), (1, "2026-01-01", "a"), (2, "2026-01-02", "b"))
    before = target.table.current_snapshot()
    assert before is not None
    target.fold(laid_out("month(on)", "id"), (2, "2026-02-02", "b"), (3, "2026-01-03", "c"))
    assert target.spec() == ["month:on"]
    target.fold(laid_out("bucket(2, id)"), (1, "2026-03-01", "a"))
    assert target.spec() == ["bucket[2]:id"]
    assert target.table.sort_order().is_unsorted
    rows = [("1", "2026-03-01"), ("2", "2026-02-02"), ("3", "2026-01-03")]
    assert target.rows("id", "on") == rows
    old = target.table.scan(snapshot_id=before.snapshot_id).to_arrow().to_pylist()
    assert sorted(row["id"] for row in old) == [1, 2]


@pytest.mark.parametrize("layout", [laid_out("on"), laid_out(sort="on")])
def test_a_column_stays_by_which_files_were_laid_out(target: Target, layout: TableSchema) -> None:
    """Iceberg cannot write a table that lost a column of one of its specs and sort orders."""
    target.fold(layout, (1, "2026-01-01", "a"))
    target.fold(laid_out(), (2, "2026-01-02", "b"))
    gone = ColumnRename(Position("1"), dropped=(DAY.name,))
    without = replace(laid_out(), columns=(ID, PLACE), column_renames=(gone,))
    with pytest.raises(TableStoppedError, match="on cannot be dropped: files were laid out by it"):
        target.fold(without, (2, "2026-01-02", "z"))
    assert target.rows("id", "pl`ace") == [("1", "a"), ("2", "b")]
