"""A pipeline's own tables after many cuts: as small as after a few, and nothing of them is lost."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import pyarrow as pa
import pytest
from pyiceberg.table import Table

from tests.support.lake import RECORDS, land, publish, stage
from tidemark.lake import upkeep
from tidemark.lake.catalog import SystemTables, TableId, ensure_namespace
from tidemark.lake.heads import read_heads
from tidemark.lake.landing import read_mark, records_since
from tidemark.lake.ledger import find_cut, newest_cuts, read_progress
from tidemark.lake.procedures import Procedures
from tidemark.lake.upkeep import keep_small
from tidemark.lake.verdicts import read_verdicts, write_verdicts
from tidemark.model.maintenance import Policy
from tidemark.model.names import AttemptId, PipelineName
from tidemark.model.result import CutResult
from tidemark.model.verdict import CheckResult, Severity, Verdict
from tidemark.runs.world import World

CUTS, EVERY = 36, 4
PASSED = CheckResult("counts", True, Severity.CRITICAL, "as expected")


def cut(world: World, tables: SystemTables, number: int) -> None:
    """Land, stage, write a verdict, and publish."""
    attempt = f"try_{number}"
    land(world.catalog, tables, read_heads(world.catalog, tables), f"l{number}")
    stage(world.catalog, tables, read_heads(world.catalog, tables), attempt)
    verdict = Verdict("db.a", number, "none", (PASSED,))
    write_verdicts(world.catalog, tables, AttemptId(attempt), number, [verdict])
    assert publish(world.catalog, tables, attempt) == number


def path_of(location: str) -> Path:
    return Path(unquote(urlsplit(location).path))


def there(table: Table) -> set[Path]:
    """Files of the table, but for those of metadata that its log names, and checksums."""
    folder = path_of(table.location())
    found = {
        one for one in folder.rglob("*") if one.is_file() and one.suffix in (".avro", ".parquet")
    }
    return {one for one in found if not one.name.startswith(".")}


def named(table: Table) -> set[Path]:
    """Files that its snapshots name."""
    found = set()
    for snapshot in table.snapshots():
        found.add(path_of(snapshot.manifest_list))
        for manifest in snapshot.manifests(table.io):
            found.add(path_of(manifest.manifest_path))
            entries = manifest.fetch_manifest_entry(table.io)
            found |= {path_of(entry.data_file.file_path) for entry in entries}
    return found


def sizes(world: World, table: TableId) -> tuple[int, int, int]:
    """Snapshots, files of rows, and bytes of metadata."""
    loaded = world.catalog.load_table(table.parts)
    head = loaded.current_snapshot()
    assert head is not None
    assert head.summary is not None
    files = int(head.summary.additional_properties["total-data-files"])
    return len(loaded.snapshots()), files, path_of(loaded.metadata_location).stat().st_size


def test_own_tables_do_not_grow_with_cuts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """PUB-9: snapshots and small files go, beside an attempt that waits; rows and marks stay."""
    monkeypatch.setattr(upkeep, "MAX_SNAPSHOTS", 3)
    monkeypatch.setattr(upkeep, "SMALL_FILES", 3)
    monkeypatch.setattr(upkeep, "MAX_SNAPSHOT_AGE_MS", 0)
    tables = SystemTables.of(PipelineName("shop"))
    small = (tables.ledger, tables.verdicts)
    found: dict[TableId, list[tuple[int, int, int]]] = {
        one: [] for one in (*small, tables.changelog)
    }
    for number in range(1, CUTS + 1):
        cut(world, tables, number)
        if number % EVERY == 0:
            stage(world.catalog, tables, read_heads(world.catalog, tables), f"waits_{number}")
            keep_small(world.spark, world.catalog, tables)
            for table, measured in found.items():
                measured.append(sizes(world, table))
    for table, measured in found.items():
        assert max(snapshots for snapshots, _, _ in measured) <= 5
        assert measured[-1][2] <= 1.2 * measured[2][2]
        loaded = world.catalog.load_table(table.parts)
        assert there(loaded) == named(loaded)
    assert all(files == 1 for table in small for _, files, _ in found[table])

    progress = read_progress(world.catalog, tables)
    assert (progress.cut, progress.landing) == (CUTS, CUTS)
    newest = [entry.result.cut for entry in newest_cuts(world.catalog, tables, 5)]
    assert newest == list(range(CUTS, CUTS - 5, -1))
    first = find_cut(world.catalog, tables, AttemptId("try_1"))
    assert isinstance(first, CutResult)
    assert first.cut == 1
    assert len(read_verdicts(world.catalog, tables, AttemptId("try_1"), 1)) == 1
    rows = world.catalog.load_table(tables.ledger.parts).scan().to_arrow()
    assert sorted(rows["cut"].to_pylist()) == list(range(1, CUTS + 1))
    head = read_heads(world.catalog, tables).changelog
    assert records_since(world.catalog, tables, head.snapshot, CUTS - 2) == 2 * RECORDS
    assert records_since(world.catalog, tables, head.snapshot, 2) == (CUTS - 2) * RECORDS
    landed = world.catalog.load_table(tables.changelog.parts).scan().to_arrow()
    assert landed.num_rows == CUTS * RECORDS
    assert list(read_mark(world.catalog, tables).offsets.values()) == [CUTS * RECORDS]

    assert publish(world.catalog, tables, f"waits_{CUTS}") == CUTS + 1
    assert read_progress(world.catalog, tables).cut == CUTS + 1


@pytest.mark.parametrize("name", ["odd `na'me", 'a"b', "x\\y", "ünï cödé", "select"])
def test_procedures_take_any_name(world: World, name: str) -> None:
    """POISON-6: what is not refused is quoted, also where it is an argument of a procedure."""
    table = TableId("odd space", name)
    ensure_namespace(world.catalog, table.namespace)
    rows = pa.schema([pa.field("id", pa.int64())])
    location = f"{world.installation.catalog.warehouse}/odd-{uuid4().hex}"
    made = world.catalog.create_table(table.parts, rows, location=location)
    for number in range(3):
        made.append(pa.table({"id": [number]}, schema=rows))
    procedures = Procedures(world.spark, world.catalog.name, table, Policy(2, 0.1, 10, 1, 5, 2, 3))
    assert procedures.rewrite(is_sorted=False)["rewritten"] == 3
    assert procedures.rewrite_manifests()["manifests"] > 0
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    assert procedures.expire(now_ms + 1000)["expired"] == 4
    assert procedures.remove_orphans(now_ms)["orphans"] == 0
    found = world.catalog.load_table(table.parts).scan().to_arrow()
    assert sorted(found["id"].to_pylist()) == [0, 1, 2]
