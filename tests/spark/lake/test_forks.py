"""What strangers do to a fork that a killed attempt left: Spark's procedures, a live table beside.

Every file is made older than the procedures ask for, and the table goes on after the fork was made,
so that its newest files are none of the fork's.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tests.spark.lake.test_schema_moves import OWN, attempt, schema, shown, staged_rows
from tidemark.lake.catalog import TableId, ensure_namespace
from tidemark.lake.evolve import apply_changes, read_target
from tidemark.lake.forks import drop_dead_forks
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import Fork, attempt_ref, main_head
from tidemark.lake.staging import StagingContext, stage_table
from tidemark.model.columns import TableSchema
from tidemark.model.names import AttemptId, quote
from tidemark.runs.world import World
from tidemark.schema.changes import plan_changes

DAY = 86_400
MANY = 200


def publish(world: World, folder: Path, target: TableId, want: TableSchema, number: int) -> None:
    """One row more in a table whose schema stays."""
    head = read_target(world.catalog, target)
    changes = plan_changes(head.source_schema if head else None, want)
    apply_changes(world.spark, world.catalog, target, changes, want)
    branch = attempt_ref(number, AttemptId("live"))
    base = main_head(world.catalog.load_table(target.parts))
    context = StagingContext(world.spark, world.catalog, target, branch, number, base)
    rows = staged_rows(world, folder / f"live_{number}", want, number)
    update_mains(world.catalog, [stage_table(context, want, rows)[0]])


def leave_fork(world: World, folder: Path, target: TableId) -> Fork:
    """A table of rows 1 and 3, and what an attempt left that was killed before row 3 came."""
    ensure_namespace(world.catalog, OWN)
    publish(world, folder, target, schema("a"), 1)
    killed, _ = attempt(world, folder, target, schema("a b"), f"killed_{target.table}")
    publish(world, folder, target, schema("a"), 3)
    assert killed.fork is not None
    for path in Path(world.installation.catalog.warehouse).rglob("*"):
        os.utime(path, (time.time() - 9 * DAY,) * 2)
    return killed.fork


def read_by_both(world: World, target: TableId) -> None:
    """All rows of every snapshot, by pyiceberg and by Spark."""
    table = world.catalog.load_table(target.parts)
    assert shown(table) == [{"id": 1, "a": "a"}, {"id": 3, "a": "a"}]
    snapshots = sorted(table.snapshots(), key=lambda snapshot: snapshot.sequence_number or 0)
    scans = [table.scan(snapshot_id=snapshot.snapshot_id) for snapshot in snapshots]
    assert [scan.to_arrow().num_rows for scan in scans] == [0, 1, 2]
    name = quote(world.catalog.name, *target.parts)
    by_spark = world.spark.table(name).orderBy("id").collect()
    assert [(row["id"], row["a"]) for row in by_spark] == [(1, "a"), (3, "a")]
    for log in table.metadata.metadata_log:
        assert Path(log.metadata_file.removeprefix("file:")).exists()


@pytest.mark.parametrize(
    ("name", "statement", "refused"),
    [
        (
            "orphans",
            "CALL {catalog}.system.remove_orphan_files(table => '{fork}', older_than => {day})",
            "GC is disabled",
        ),
        (
            "expiry",
            "CALL {catalog}.system.expire_snapshots(table => '{fork}', older_than => {now})",
            "GC is disabled",
        ),
        ("purge", "DROP TABLE {catalog}.{fork} PURGE", "GC is disabled"),
        ("drop", "DROP TABLE {catalog}.{fork}", None),
        ("manifests", "CALL {catalog}.system.rewrite_manifests('{fork}')", None),
        (
            "files",
            "CALL {catalog}.system.rewrite_data_files(table => '{fork}', options => "
            "map('rewrite-all', 'true'))",
            None,
        ),
        (
            "orphans_of_the_table",
            "CALL {catalog}.system.remove_orphan_files(table => '{table}', older_than => {day})",
            None,
        ),
    ],
)
def test_strangers_cannot_harm_a_table_by_its_fork(
    world: World, tmp_path: Path, name: str, statement: str, refused: str | None
) -> None:
    """SCHEMA-10: the table is read whole, whatever is done to what a killed attempt left."""
    target = TableId("db", f"by_{name}")
    fork = leave_fork(world, tmp_path, target)
    now = time.time()
    day, this = (
        f"TIMESTAMP '{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(at))}'"
        for at in (now - 2 * DAY, now)
    )
    call = statement.format(
        catalog=world.catalog.name, fork=fork.table, table=target, day=day, now=this
    )
    if refused is None:
        world.spark.sql(call).collect()
    else:
        with pytest.raises((PySparkException, Py4JJavaError), match=refused):
            world.spark.sql(call).collect()
    read_by_both(world, target)
    drop_dead_forks(world.catalog, OWN, 9)
    assert not world.catalog.table_exists(fork.table.parts)
    read_by_both(world, target)


def test_many_columns_join_in_one_commit(world: World, tmp_path: Path) -> None:
    """SCHEMA-10: the table is read while they are staged, and when they are published."""
    target = TableId("db", "many")
    ensure_namespace(world.catalog, OWN)
    publish(world, tmp_path, target, schema("a"), 1)
    want = schema(" ".join(["a", *(f"c{number}" for number in range(MANY))]))
    ref_update, _ = attempt(world, tmp_path, target, want, "many")
    made = world.catalog.load_table(target.parts)
    assert shown(made) == [{"id": 1, "a": "a"}]
    fork = world.catalog.load_table(ref_update.place.parts)
    assert len(fork.metadata.schemas) == len(made.metadata.schemas) + 1
    assert len(fork.metadata.metadata_log) < 9
    update_mains(world.catalog, [ref_update])
    table = world.catalog.load_table(target.parts)
    older: dict[str, object] = dict.fromkeys(want.names)
    newer: dict[str, object] = {name: name for name in want.names}
    assert shown(table) == [older | {"id": 1, "a": "a"}, newer | {"id": 2}]
    assert "gc.enabled" not in table.properties
