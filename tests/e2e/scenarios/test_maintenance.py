"""Our own maintenance: what readers pay goes down, and no row, no cut and no attempt is lost."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.support.altered_stream import rows_of, staged_column
from tests.support.maintenance import load, spark_maintenance, target
from tests.support.records import debezium_row
from tests.support.stack import Stream
from tidemark.errors import StorageError
from tidemark.lake.table_files import read_files
from tidemark.model.maintenance import DAY_MS, TableFiles, TableMaintenance
from tidemark.model.result import CutStatus
from tidemark.runs import maintain as maintenance
from tidemark.runs.cut import stage_cut
from tidemark.runs.maintain import FORKED, maintain, plan_maintenance
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World

COLUMNS = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
KEYS, CUTS, HOUR_MS = 60, 12, 3_600_000


class Source:
    """shop.items as its database has it, and the stream that tells of it."""

    def __init__(self, world: World, **options: object) -> None:
        self.stream = Stream(world, 1, "debezium-mysql", "none", COLUMNS, options).create()
        self.rows: dict[int, str] = {}
        self.place = 0

    def change(self, rng: random.Random, number: int) -> None:
        """Insert, update and delete rows, ``number`` of them."""
        records = []
        for _ in range(number):
            self.place += 10
            key = rng.randrange(KEYS)
            if key in self.rows and rng.random() < 0.3:
                del self.rows[key]
                records.append(debezium_row("d", key, self.place))
            else:
                self.rows[key] = f"{key} at {self.place}"
                records.append(debezium_row("u", key, self.place, name=self.rows[key]))
        self.stream.send(records)

    def files(self) -> TableFiles:
        return read_files(load(self.stream, target(self.stream)))

    def maintain(self) -> dict[str, TableMaintenance]:
        found = maintain(self.stream.pipeline, self.stream.world)
        return {done.table.rpartition(".")[2]: done for done in found}


def worn(world: World, **options: object) -> Source:
    """A source whose target has been through many small cuts."""
    source, rng = Source(world, **options), random.Random(3)  # noqa: S311  repeatable
    for _ in range(CUTS):
        source.change(rng, 10)
        source.stream.cut()
    return source


def folder_of(source: Source) -> Path:
    location = load(source.stream, target(source.stream)).location()
    return Path(unquote(urlsplit(location).path))


def later(monkeypatch: pytest.MonkeyPatch, millis: int) -> None:
    """Have maintenance run when so much time has passed."""
    now_ms = int(time.time() * 1000)
    monkeypatch.setattr(maintenance, "_now_ms", lambda: now_ms + millis)


@pytest.mark.smoke
def test_readers_pay_less_and_see_the_same(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """PUB-12: small files, deleted rows and old snapshots go; rows and cuts go on."""
    source = worn(world, maintenance={"keep-days": 1})
    before, planned = source.files(), plan_maintenance(source.stream.pipeline, world)
    assert sum(map(len, before.files.values())) > CUTS / 2
    assert any(file.delete_files for files in before.files.values() for file in files)
    stray = folder_of(source) / "data" / "stray.parquet"
    young = folder_of(source) / "data" / "young.parquet"
    for file in (stray, young):
        file.write_bytes(b"of a dead attempt")
    os.utime(stray, (time.time() - 4 * DAY_MS / 1000,) * 2)
    later(monkeypatch, DAY_MS + HOUR_MS)

    done = source.maintain()
    assert source.stream.rows() == source.rows
    (due,) = (one for one in planned if one.table == str(target(source.stream)))
    items = done["items"]
    assert items.rewritten == due.rewritten == sum(map(len, before.files.values()))
    assert items.expired > 0
    assert items.orphans == 1
    assert not stray.exists()
    assert young.exists()
    after = source.files()
    ((only,),) = after.files.values()
    assert (only.rows, only.deleted) == (len(source.rows), 0)
    assert after.delete_files == 0
    assert not any(one.skipped for one in done.values())
    assert done["changelog"].rewritten >= CUTS
    assert done["ledger"].rewritten == 0, "cuts compact it"
    again = source.maintain()
    assert not any(one.rewritten or one.deletes or one.orphans for one in again.values())

    source.change(random.Random(4), 10)  # noqa: S311  repeatable
    assert source.stream.cut().status is CutStatus.PUBLISHED
    assert source.stream.rows() == source.rows


def test_an_attempt_beside_it_is_published(world: World) -> None:
    """PUB-12: it goes on from the files of before, and what was rewritten is so once more."""
    source = worn(world)
    source.change(random.Random(5), 10)  # noqa: S311  repeatable
    request = CutRequest(source.stream.attempt())
    stage_cut(source.stream.pipeline, world, request)
    assert source.maintain()["items"].rewritten
    assert publish_cut(source.stream.pipeline, world, request.attempt).cut == CUTS + 1
    assert source.stream.rows() == source.rows
    assert source.maintain()["items"].rewritten
    assert source.stream.rows() == source.rows


def test_a_table_whose_schema_change_is_staged_is_left_alone(world: World) -> None:
    """PUB-12, SCHEMA-10: the fork names the files of before."""
    stream, table, request = staged_column(world)
    found = {one.table: one.skipped for one in maintain(stream.pipeline, world)}
    assert found[f"{stream.name}.items"] == FORKED
    assert not any(why for name, why in found.items() if name != f"{stream.name}.items")
    assert publish_cut(stream.pipeline, world, request.attempt).cut == 2
    assert rows_of(stream) == table.expected
    assert not any(one.skipped for one in maintain(stream.pipeline, world))
    assert rows_of(stream) == table.expected


def test_a_lost_file_is_told_and_the_other_tables_are_maintained(world: World) -> None:
    """Iceberg only logs a step of a rewrite that fails."""
    source = worn(world)
    table = load(source.stream, target(source.stream))
    lost = next(iter(table.scan().plan_files())).file.file_path
    Path(unquote(urlsplit(lost).path)).unlink()
    done = source.maintain()
    assert "or they cannot be read" in done["items"].skipped
    assert done["changelog"].rewritten >= CUTS


def test_a_table_that_cannot_be_read_leaves_the_others_maintained(world: World) -> None:
    """PUB-12: the plan says why it is skipped; a run does the others and fails at its end."""
    source = Source(world)
    source.change(random.Random(3), 10)  # noqa: S311  repeatable
    source.stream.cut()
    table = load(source.stream, target(source.stream))
    snapshot = table.current_snapshot()
    for manifest in snapshot.manifests(table.io) if snapshot else ():
        Path(unquote(urlsplit(manifest.manifest_path).path)).unlink()
    first, *others = plan_maintenance(source.stream.pipeline, world)
    assert first.table == str(target(source.stream))
    assert "the reading of" in first.skipped
    assert not any(other.skipped for other in others)
    done: list[TableMaintenance] = []
    with pytest.raises(StorageError):
        done.extend(maintain(source.stream.pipeline, world))
    assert [one.table for one in done] == [other.table for other in others]


def test_interleavings(world: World, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """PUB-8, PUB-12: cuts, attempts that die or wait, our maintenance and that of others."""
    rng = random.Random(f"maintenance {seed}")  # noqa: S311  repeatable, not secret
    source = Source(world, maintenance={"keep-days": 1, "small-files": 2})
    waits: list[CutRequest] = []
    passed = 0
    for _ in range(24):
        match rng.choice(["cut", "cut", "stage", "stage", "publish", "maintain", "others"]):
            case "cut":
                source.change(rng, rng.randrange(1, 12))
                assert source.stream.cut().status is CutStatus.PUBLISHED
                waits.clear()
                assert source.stream.rows() == source.rows
            case "stage":
                source.change(rng, rng.randrange(1, 12))
                waits.append(CutRequest(source.stream.attempt()))
                stage_cut(source.stream.pipeline, world, waits[-1])
            case "publish" if waits:
                publish_cut(source.stream.pipeline, world, waits[-1].attempt)
                waits.clear()
                assert source.stream.rows() == source.rows
            case "maintain":
                passed += rng.choice([0, DAY_MS + HOUR_MS])
                later(monkeypatch, min(passed, DAY_MS + HOUR_MS))
                seen = source.stream.rows()
                source.maintain()
                assert source.stream.rows() == seen
            case "others" if seen := source.stream.rows():
                name = rng.choice(["rewrite_data_files", "rewrite_manifests", "expire_snapshots"])
                spark_maintenance(name)(source.stream)
                assert source.stream.rows() == seen
    source.change(rng, 5)
    source.stream.cut()
    assert source.stream.rows() == source.rows
