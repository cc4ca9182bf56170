"""Columns that join, go and take other names: staged on a fork with Spark, read with pyiceberg."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.table import Table

from tests.support.staged import staged_place
from tests.unit.model.test_column_rename import column_renames
from tidemark.errors import SupersededError
from tidemark.lake.catalog import TableId, ensure_namespace
from tidemark.lake.effect import Effect
from tidemark.lake.evolve import apply_changes, read_target
from tidemark.lake.forks import make_fork
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import RefUpdate, attempt_ref
from tidemark.lake.staged import StagedRows, stage_rows
from tidemark.lake.staging import StagingContext, stage_table
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import AttemptId, ColumnName, quote
from tidemark.runs.world import World
from tidemark.schema.changes import BackfillColumn, DropColumn, plan_changes

OWN = "tidemark_moves"
ID = SourceColumn(ColumnName("id"), "int", ValueEncoding.INTEGER, "int")


def schema(columns: str, *statements: str, backfill: str | None = None) -> TableSchema:
    """``a b c``: columns of text beside the key; backfill: what older rows hold in the last one."""
    named = [
        SourceColumn(ColumnName(n), "string", ValueEncoding.TEXT, "text") for n in columns.split()
    ]
    if backfill is not None:
        named[-1] = SourceColumn(
            named[-1].name, "string", ValueEncoding.TEXT, "text", backfill=backfill
        )
    return TableSchema((ID, *named), (ID.name,), column_renames=tuple(column_renames(*statements)))


def staged_rows(world: World, folder: Path, want: TableSchema, number: int) -> StagedRows:
    """One row, at its number, whose values are the names of its columns."""
    values = ", ".join(f"'{name}' AS `{name.replace('`', '``')}`" for name in want.names[1:])
    rows = world.spark.sql(
        f"SELECT {number} AS id, {values}, 'U' AS _tidemark_op, '{number}' AS _tidemark_position, "
        "timestamp'2026-01-01' AS _tidemark_commit_time, CAST(NULL AS STRING) AS "
        "_tidemark_conversion_error, CAST(NULL AS STRING) AS _tidemark_left_out"
    )
    return stage_rows(staged_place(world, folder, TableId("db", "t")), rows, want)


def attempt(
    world: World, folder: Path, target: TableId, want: TableSchema, name: str
) -> tuple[RefUpdate, Effect]:
    """Stage row 2 on a fork with the schema ``want``."""
    branch = attempt_ref(2, AttemptId(name))
    head = read_target(world.catalog, target)
    assert head is not None
    changes = plan_changes(head.source_schema, want)
    backfills = tuple(change for change in changes if isinstance(change, BackfillColumn))
    fork = make_fork(world.catalog, target, head.metadata, OWN, branch)
    apply_changes(world.spark, world.catalog, fork.table, changes, want)
    context = StagingContext(
        world.spark, world.catalog, target, branch, 2, head.snapshot, fork, backfills
    )
    return stage_table(context, want, staged_rows(world, folder / name, want, 2), ())


def shown(table: Table) -> list[dict[str, object]]:
    rows = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    return [{n: v for n, v in row.items() if not n.startswith("_tidemark_")} for row in rows]


@pytest.mark.parametrize(
    ("columns", "statements", "backfill", "was", "older"),
    [
        pytest.param(
            "b a `odd",
            ["a>b b>a", "c>`odd"],
            None,
            {"b": "a", "a": "b", "`odd": "c"},
            {},
            id="swap",
        ),
        pytest.param(
            "a c", ["a>c c>a", "-c", "b>c"], None, {"a": "c", "c": "b"}, {}, id="swap onto a drop"
        ),
        pytest.param("a c b", ["-b", "+b"], None, {"a": "a", "c": "c"}, {"b": None}, id="again"),
        pytest.param(
            *("a b c d", ["+d"], "it's", {"a": "a", "b": "b", "c": "c"}, {"d": "it's"}),
            id="default",
        ),
    ],
)
def test_columns_move_with_their_rows(  # noqa: PLR0913  a case is a row
    world: World,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    columns: str,
    statements: list[str],
    backfill: str | None,
    was: dict[str, str],
    older: dict[str, str | None],
) -> None:
    """SCHEMA-10, SCHEMA-14, SCHEMA-30; was: name now -> name before, by field id."""
    target = TableId("db", request.node.callspec.id.replace(" ", "_"))
    ensure_namespace(world.catalog, OWN)
    have = schema("a b c")
    create = plan_changes(None, have)
    apply_changes(world.spark, world.catalog, target, create, have)
    first = StagingContext(
        world.spark, world.catalog, target, attempt_ref(1, AttemptId("t")), 1, None
    )
    rows = staged_rows(world, tmp_path / "first", have, 1)
    update_mains(world.catalog, [stage_table(first, have, rows, ())[0]])
    before = world.catalog.load_table(target.parts)
    want = schema(columns, *statements, backfill=backfill)

    dead, _ = attempt(world, tmp_path, target, want, "dead")
    ref_update, effect = attempt(world, tmp_path, target, want, "alive")
    seen = world.catalog.load_table(target.parts)
    assert seen.metadata_location == before.metadata_location
    assert effect == Effect(inserted=1)
    update_mains(world.catalog, [ref_update])
    with pytest.raises(SupersededError):
        update_mains(world.catalog, [dead])

    table = world.catalog.load_table(target.parts)
    assert shown(table) == [
        {"id": 1, **was, **older},
        {"id": 2, **{name: name for name in columns.split()}},
    ]
    ids = {field.field_id: field.name for field in before.schema().fields}
    assert {
        name: ids.get(table.schema().find_field(name).field_id) for name in columns.split()
    } == {
        **dict.fromkeys(columns.split()),
        **was,
    }
    old = table.scan(snapshot_id=before.metadata.current_snapshot_id).to_arrow().to_pylist()
    assert [{name: row[name] for name in have.names} for row in old] == [
        {"id": 1, "a": "a", "b": "b", "c": "c"}
    ]
    head = read_target(world.catalog, target)
    assert head is not None
    assert head.source_schema == want
    main = world.spark.table(quote(world.catalog.name, *target.parts))
    by_spark = [{name: row[name] for name in want.names} for row in main.orderBy("id").collect()]
    assert by_spark == shown(table)


def test_a_column_that_identifies_rows_goes(world: World) -> None:
    """KEY-17, SCHEMA-25: as where a table is created again with a key of another type."""
    target, have = TableId("db", "identified"), schema("a")
    apply_changes(world.spark, world.catalog, target, plan_changes(None, have), have)
    made = world.catalog.load_table(target.parts).schema()
    assert made.identifier_field_names() == {"id"}
    apply_changes(world.spark, world.catalog, target, [DropColumn(ID.name)], have)
    left = world.catalog.load_table(target.parts).schema()
    assert left.identifier_field_names() == set()
    assert "id" not in left.column_names
