"""What Trino does to our tables between two cuts, and what it reads of them.

    cuts: Spark session -----+
                             +--- PostgreSQL: catalog, S3: the warehouse
    maintenance: Trino ------+

Its counterpart for Spark's and pyiceberg's procedures is
tests/e2e/scenarios/test_foreign_maintenance.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.support.kept import logged, soft_deleted
from tests.support.maintenance import load, own_tables, target
from tests.support.records import debezium_row
from tests.support.stack import Stream, counted
from tests.trino.conftest import Neighbours
from tidemark.errors import TableStoppedError
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.landing import read_mark
from tidemark.lake.ledger import read_progress
from tidemark.model.result import CutStatus

COLUMNS = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
PARTS = (
    "u1@10=a u2@20=a u3@30=a u4@40=a u5@50=a",
    "u1@60=b d2@70 u3@80=b u6@90=b",
    "u1@100=c d3@110 u2@120=c",
    "d4@130 u7@140=d u1@150=d",
    "u8@160=e d1@170",
)
PROCEDURES: Mapping[str, str] = {
    "optimize": "optimize",
    "optimize_manifests": "optimize_manifests",
    "expire_snapshots": "expire_snapshots(retention_threshold => '0s')",
    "remove_orphan_files": "remove_orphan_files(retention_threshold => '0s')",
}
"""What `ALTER TABLE ... EXECUTE` is given; both thresholds as harsh as Trino lets them be."""


def named(table: TableId) -> str:
    """The table as Trino's SQL names it."""
    namespace, name = table.parts
    return f'lake."{namespace}"."{name}"'


def sent(stream: Stream, part: str) -> int:
    """Send a part of the log; how many records it is."""
    events = logged(part)
    stream.send(
        debezium_row(event.op, event.key, event.place, name=event.value) for event in events
    )
    return len(events)


def published(neighbours: Neighbours) -> Stream:
    """A stream that has published the first two parts."""
    stream = Stream(neighbours.world, 1, "debezium-mysql", "none", COLUMNS).create()
    for part in PARTS[:2]:
        sent(stream, part)
        assert stream.cut().status is CutStatus.PUBLISHED
    return stream


def mirrored(*parts: str) -> dict[int, str]:
    log = logged(" ".join(parts))
    return {key: value for key, (value, gone) in soft_deleted(log).items() if gone is None}


def read_by_trino(neighbours: Neighbours, stream: Stream) -> dict[int, str]:
    rows = neighbours.trino.run(f"SELECT id, name FROM {named(target(stream))}")  # noqa: S608  names of our own
    return {row["id"]: row["name"] for row in rows}


@pytest.mark.parametrize("procedures", [*((name,) for name in PROCEDURES), tuple(PROCEDURES)])
def test_maintenance_by_trino_changes_nothing(
    neighbours: Neighbours, procedures: tuple[str, ...]
) -> None:
    """PUB-9, PUB-11, DUP-2, ACC-1: cuts go on from where they were, and nothing lands twice."""
    stream = published(neighbours)
    total = sum(len(logged(part)) for part in PARTS[:2])
    cuts = len(PARTS) if len(procedures) > 1 else 3
    for number in range(3, cuts + 1):
        for table in own_tables(stream):
            for name in procedures:
                neighbours.trino.run(f"ALTER TABLE {named(table)} EXECUTE {PROCEDURES[name]}")
        part = PARTS[number - 1]
        size = sent(stream, part)
        total += size
        result = stream.cut()
        assert (result.cut, result.status) == (number, CutStatus.PUBLISHED)
        assert sum(counted(result).values()) == size
        assert stream.rows() == mirrored(*PARTS[:number]) == read_by_trino(neighbours, stream)
    system = SystemTables.of(stream.pipeline.name)
    assert read_progress(neighbours.world.catalog, system).landing == cuts
    assert list(read_mark(neighbours.world.catalog, system).offsets.values()) == [total]
    assert len(load(stream, system.changelog).scan().to_arrow()) == total


def test_trino_compacts_and_expires(neighbours: Neighbours) -> None:
    """What the test above relies on: Trino left one file and one snapshot of several."""
    stream = published(neighbours)
    before = load(stream, target(stream))
    assert len(before.snapshots()) > 1
    for name in ("optimize", "expire_snapshots"):
        neighbours.trino.run(f"ALTER TABLE {named(target(stream))} EXECUTE {PROCEDURES[name]}")
    after = load(stream, target(stream))
    (snapshot,) = after.snapshots()
    assert snapshot.snapshot_id not in {old.snapshot_id for old in before.snapshots()}
    assert len(list(after.scan().plan_files())) == 1


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("INSERT INTO {table} (id, name) VALUES (9, 'x')", "(append: 1 rows added"),
        ("DELETE FROM {table} WHERE id = 1", "rows"),
        ("UPDATE {table} SET name = 'x' WHERE id = 1", "rows"),
        ("ALTER TABLE {table} EXECUTE rollback_to_snapshot({first})", "main was set back"),
    ],
)
def test_changes_of_rows_by_trino_stop_the_table(
    neighbours: Neighbours, statement: str, sentence: str
) -> None:
    """PUB-11: they are named; set back to what was published, the table goes on."""
    stream = published(neighbours)
    table = load(stream, target(stream))
    good = table.metadata.current_snapshot_id
    first = table.metadata.snapshot_log[0].snapshot_id
    neighbours.trino.run(statement.format(table=named(target(stream)), first=first))
    sent(stream, PARTS[2])
    with pytest.raises(TableStoppedError, match="is not as it was published: ") as stopped:
        stream.cut()
    assert sentence in str(stopped.value)
    back = f"CALL lake.system.set_current_snapshot('{target(stream)}', {good})"
    assert back in str(stopped.value)
    neighbours.world.spark.sql(back).collect()
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == mirrored(*PARTS[:3])


def test_trino_travels_by_cut(neighbours: Neighbours) -> None:
    """The statements of docs/reading.md: snapshots by their cut, and a table as of one."""
    stream = published(neighbours)
    namespace, name = target(stream).parts
    history = neighbours.trino.run(
        "SELECT h.snapshot_id, element_at(s.summary, 'tidemark.cut') AS cut "  # noqa: S608  names of our own
        f'FROM lake."{namespace}"."{name}$history" h '
        f'JOIN lake."{namespace}"."{name}$snapshots" s ON h.snapshot_id = s.snapshot_id'
    )
    (first,) = {row["snapshot_id"] for row in history if row["cut"] == "1"}
    rows = neighbours.trino.run(
        f"SELECT id, name FROM {named(target(stream))} FOR VERSION AS OF {first}"  # noqa: S608  names of our own
    )
    assert {row["id"]: row["name"] for row in rows} == mirrored(PARTS[0]), json.dumps(history)
