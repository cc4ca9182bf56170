"""Each kind of bad input: a clear error or the right bucket, main untouched, and a rerun works."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyiceberg.catalog.sql import SqlCatalog

import tidemark.lake.catalog
import tidemark.topics.client
from tests.support.records import (
    Record,
    canal_rows,
    debezium_row,
    ticdc_ddl,
    ticdc_row,
    ticdc_watermark,
)
from tests.support.stack import Stream, reopened
from tidemark.errors import (
    ActionRefusedError,
    BrokerUnreachableError,
    CatalogUnreachableError,
    DataLossError,
    PreflightError,
    StatementUnreadableError,
    StorageError,
    TableStoppedError,
    TopicMissingError,
    TopicRecreatedError,
    UnreadableRecordsError,
)
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.evolve import read_target
from tidemark.lake.landing import read_mark
from tidemark.model.quarantine import RecordPlace
from tidemark.model.result import CutStatus
from tidemark.runs.cut import stage_cut
from tidemark.runs.orders import skip_record
from tidemark.runs.plan import plan_cut
from tidemark.runs.preview import preview_cut
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World
from tidemark.spec import KafkaSpec

FIRST = [ticdc_row("INSERT", 1, 100, name="a"), ticdc_watermark(200)]
SECOND = [ticdc_row("INSERT", 2, 250, name="b"), ticdc_watermark(300)]
NARROW = {"key": ["id"], "columns": {"id": "bigint", "name": "text"}}


def landed(stream: Stream) -> int:
    return read_mark(stream.world.catalog, SystemTables.of(stream.pipeline.name)).number


def test_a_missing_topic_is_named(world: World) -> None:
    stream = Stream(world)
    with pytest.raises(TopicMissingError, match=stream.topic):
        stream.cut()
    stream.create().send(FIRST)
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "a"}


def test_a_broker_that_is_down_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidemark.topics.client, "TIMEOUT_SECONDS", 2)
    closed = KafkaSpec(bootstrap_servers="127.0.0.1:1")
    with pytest.raises(BrokerUnreachableError, match=r"127\.0\.0\.1:1"):
        plan_cut(Stream(world).pipeline, reopened(world, kafka=closed))


def test_a_locked_catalog_leaves_main_and_publishing_again_works(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(world).create()
    stream.send(FIRST)
    attempt = stream.attempt()
    assert stage_cut(stream.pipeline, world, CutRequest(attempt)).status is CutStatus.STAGED
    monkeypatch.setattr(tidemark.lake.catalog, "SQLITE_TIMEOUT_SECONDS", 1)
    impatient = reopened(world)
    assert isinstance(world.catalog, SqlCatalog)
    file = str(world.catalog.engine.url.database)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        with pytest.raises(CatalogUnreachableError, match="locked"):
            publish_cut(stream.pipeline, impatient, attempt)
        lock.execute("ROLLBACK")
    assert stream.rows() == {}
    assert publish_cut(stream.pipeline, world, attempt).status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "a"}


def test_records_that_retention_took_are_named_and_nothing_is_skipped(world: World) -> None:
    stream = Stream(world).create()
    stream.send(FIRST)
    stream.cut()
    stream.send([*SECOND, ticdc_watermark(400)])
    deletion = stream.admin.delete_records([TopicPartition(stream.topic, 0, 4)])
    for future in deletion.values():
        future.result(timeout=30)
    with pytest.raises(DataLossError, match=rf"records 2 to 3 of {stream.topic}-0"):
        stream.cut()
    assert stream.rows() == {1: "a"}


def test_a_topic_that_was_made_again_is_refused(world: World) -> None:
    stream = Stream(world).create()
    stream.send(FIRST)
    stream.cut()
    recreate(stream.admin, stream.topic)
    stream.send([*FIRST, *SECOND])
    with pytest.raises(TopicRecreatedError, match=f"topic {stream.topic} has id"):
        stream.cut()
    assert stream.rows() == {1: "a"}


def recreate(admin: AdminClient, topic: str) -> None:
    admin.delete_topics([topic])[topic].result(timeout=30)
    for _ in range(100):
        with contextlib.suppress(Exception):
            new = NewTopic(topic, num_partitions=1, replication_factor=1)
            admin.create_topics([new])[topic].result(timeout=30)
            return
    pytest.fail(f"{topic} could not be made again")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(b"not json", "JSON_INVALID", id="text"),
        pytest.param(b'{"id": 0, "database": "shop"', "JSON_INVALID", id="cut off"),
        pytest.param(b"", "EMPTY_VALUE", id="nothing"),
        pytest.param(b'{"some": "json"}', "FORMAT_MISMATCH", id="another format"),
    ],
)
def test_a_record_that_cannot_be_read_is_kept_with_its_reason(
    world: World, value: bytes, reason: str
) -> None:
    stream = Stream(world).create()
    stream.send([Record(value), *FIRST])
    result = stream.cut()
    assert result.buckets["quarantined"] == 1
    assert result.buckets["applied"] == 1
    assert stream.rows() == {1: "a"}
    changelog = world.catalog.load_table(SystemTables.of(stream.pipeline.name).changelog.parts)
    kept = changelog.scan(row_filter="kind = 'unreadable'").to_arrow().to_pylist()
    assert [(row["reason"], row["value"], row["offset"]) for row in kept] == [(reason, value, 0)]


def test_more_unreadable_records_than_allowed_stop_the_run_before_it_lands(world: World) -> None:
    stream = Stream(world, options={"limits": {"max-unreadable": 1}}).create()
    stream.send([Record(b"x"), Record(b"y"), *FIRST])
    with pytest.raises(UnreadableRecordsError, match="2 of 4 records"):
        stream.cut()
    assert landed(stream) == 0
    stream.options = {}
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "a"}


@pytest.mark.parametrize(
    ("format", "row", "told"),
    [
        ("debezium-mysql", debezium_row("c", 1, 100), "flattens them, ExtractNewRecordState, off"),
        ("canal-json", canal_rows("INSERT", {"id": "1", "name": "x"}), "set source.format to"),
    ],
)
def test_rows_without_their_envelope_are_refused(
    world: World, format: str, row: Record, told: str
) -> None:
    """POISON-1: all are so. One record that strayed into a topic stops nothing (POISON-3)."""
    flat = Record(b'{"id": 1, "name": "a", "__deleted": "false"}', b'{"id": 1}')
    stream = Stream(world, format=format, gate="none", table=NARROW).create()
    stream.send([flat, Record(None, b'{"id": 1}'), flat])
    with pytest.raises(PreflightError, match="none of 3 records .* 2 of them are of anot") as why:
        stream.cut()
    assert told in why.value.next_step
    with pytest.raises(PreflightError, match="none of 3 records"):
        preview_cut(stream.pipeline, world)
    assert landed(stream) == 0
    stream.send([row])
    assert stream.cut().buckets["quarantined"] == 2
    stream.send([flat])
    assert stream.cut().buckets["quarantined"] == 1
    stream.send([flat, flat])
    with pytest.raises(PreflightError, match="none of 2 records .* 2 of them are of another"):
        stream.cut()
    assert (landed(stream), stream.rows()) == (2, {1: "x"})
    stream.options = {"limits": {"max-unreadable": 2}}
    assert stream.cut().buckets["quarantined"] == 2


def test_the_history_topic_of_a_connector_is_refused_by_name(world: World) -> None:
    """MSG-8: taken for the topic of schema changes, it would have no positions."""
    stream = Stream(world, format="debezium-mysql", gate="none", has_statements=True).create()
    told = {"source": {"server": "shop"}, "position": {"file": "a.000001", "pos": 4}, "ts_ms": 1}
    told |= {"databaseName": "shop", "ddl": "CREATE TABLE items (id int)", "tableChanges": []}
    stream.send([Record(json.dumps(told).encode())], stream.statements)
    stream.send([debezium_row("c", 1, 100)])
    with pytest.raises(PreflightError, match=f"{stream.statements} .*own history of schemas"):
        stream.cut()
    assert landed(stream) == 0


def test_stray_records_among_watermarks_stop_nothing(world: World) -> None:
    """POISON-3: they show that the topic is what it is declared to be, rows or none."""
    stream = Stream(world).create()
    stray = Record(b'{"some": "json"}')
    stream.send([stray, stray, ticdc_watermark(50)])
    assert stream.cut().buckets["quarantined"] == 2
    stream.send(FIRST)
    stream.cut()
    assert stream.rows() == {1: "a"}


def test_a_plan_names_what_records_lack(world: World) -> None:
    """TYPE-3: before anything is folded, with the setting that spares it."""
    table = {"key": ["id"], "columns": {"id": "bigint", "name": "decimal(20,4)"}}
    source = {"modes": {"decimal": "double"}}
    stream = Stream(world, format="debezium-mysql", gate="none", table=table, source=source)
    stream.create().send([debezium_row("c", 1, 100, name="1.5")])
    (planned,) = preview_cut(stream.pipeline, world).tables
    assert planned.losses.keys() == {"name"}
    assert "decimal.handling.mode=precise" in planned.losses["name"]


def test_watermark_gate_without_the_extension_says_what_to_set(world: World) -> None:
    stream = Stream(world).create()
    stream.send([ticdc_row("INSERT", 1, None, name="a")])
    with pytest.raises(PreflightError, match="commitTs") as caught:
        stream.cut()
    assert "enable-tidb-extension=true" in caught.value.next_step
    assert landed(stream) == 0
    stream.gate = "none"
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "a"}


def test_offsets_order_one_partition_only(world: World) -> None:
    stream = Stream(world, partitions=2, gate="none").create()
    stream.send([ticdc_row("INSERT", 1, None)])
    with pytest.raises(PreflightError, match="has 2 partitions"):
        stream.cut()


def test_a_key_that_is_no_column_waits_until_it_is_mended(world: World) -> None:
    columns = {"id": "bigint", "name": "varchar(20)"}
    stream = Stream(
        world, format="debezium-mysql", gate="none", table={"columns": columns, "key": ["ID"]}
    ).create()
    stream.send([debezium_row("c", 1, 10, name="a", with_key=False)])
    with pytest.raises(TableStoppedError, match=r"key of shop\.items is not among its columns"):
        stream.cut()
    assert stream.rows() == {}
    stream.table = {"columns": columns, "key": ["id"]}
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "a"}


def test_a_schema_change_that_cannot_be_followed_stops_its_table(world: World) -> None:
    stream = Stream(world).create()
    stream.send(FIRST)
    stream.cut()
    drop = "ALTER TABLE `items` DROP PARTITION `p0`"
    stream.send([ticdc_ddl(drop, 240), *SECOND])
    with pytest.raises(TableStoppedError, match="DROP PARTITION"):
        stream.cut()
    assert stream.rows() == {1: "a"}
    stream.options = {"publish": {"consistency": "table"}}
    result = stream.cut()
    assert result.status is CutStatus.PUBLISHED
    assert list(result.stopped) == ["shop.items"]
    assert result.buckets["held"] == 2
    assert stream.rows() == {1: "a"}


def test_what_changes_columns_of_a_table_without_rows_makes_none(world: World) -> None:
    """SCHEMA-7, SCHEMA-13: and the length of a text may grow, though TiCDC never told it."""
    stream = Stream(world, options={"other-tables": "follow"}).create()
    later = ticdc_ddl("ALTER TABLE later MODIFY v BIGINT", 90, table="later")
    stream.send([later, *FIRST])
    stream.cut()
    assert [name for _, name in world.catalog.list_tables(stream.name)] == ["items"]
    stream.send([ticdc_ddl("ALTER TABLE items MODIFY name VARCHAR(40)", 240), *SECOND])
    stream.cut()
    assert stream.rows() == {1: "a", 2: "b"}
    target = read_target(world.catalog, TableId(stream.name, "items"))
    assert target is not None
    assert target.source_schema["name"].source_type == "varchar(40)"


def test_tables_of_two_databases_with_one_name_have_targets_of_their_own(world: World) -> None:
    """The database stands in front of the one that comes second."""
    stream = Stream(world, options={"other-tables": "follow", "tables": []}).create()

    def of_other(number: int, commit_ts: int) -> Record:
        told = ticdc_row("INSERT", number, commit_ts)
        return replace(told, value=(told.value or b"").replace(b'"shop"', b'"crm"'))

    stream.send([ticdc_row("INSERT", 1, 100), ticdc_watermark(200)])
    stream.cut()
    for number in (2, 3):
        stream.send([of_other(number, 100 * number), ticdc_watermark(100 * number + 100)])
        assert not stream.cut().stopped
    other = world.catalog.load_table((stream.name, "crm__items")).scan().to_arrow()
    assert (set(stream.rows()), set(other["id"].to_pylist())) == ({1}, {2, 3})


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with room for next to nothing."""
    mounted = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", "size=64k", "tidemark-test", str(tmp_path)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system can only be mounted by root")
    yield tmp_path
    subprocess.run(["/bin/umount", "-l", str(tmp_path)], check=True)


def test_a_full_disk_leaves_everything_and_a_rerun_works(world: World, small_disk: Path) -> None:
    catalog = world.installation.catalog.model_copy(update={"warehouse": str(small_disk)})
    stream = Stream(reopened(world, catalog=catalog)).create()
    many = [ticdc_row("INSERT", n, 100, name="n" * 500) for n in range(2000)]
    stream.send([*many, ticdc_watermark(200)])
    (small_disk / "ballast").write_bytes(b"x" * 40_000)
    with pytest.raises(StorageError, match="disk is full"):
        stream.cut()
    assert stream.rows() == {}
    subprocess.run(["/bin/mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert stream.cut().status is CutStatus.PUBLISHED
    assert len(stream.rows()) == 2000


def test_a_schema_change_that_cannot_be_read_waits_for_a_person(world: World) -> None:
    """POISON-3: it may concern any table; judged once, it is quarantined and holds nothing back."""
    stream = Stream(world, 1, "debezium-mysql", "none", NARROW, has_statements=True).create()
    schemas = stream.statements
    stream.send([debezium_row("c", 1, 10)])
    stream.cut()
    stream.send([Record(b"{}"), Record(b"cut off {")], schemas)
    for number in (2, 3):
        stream.send([debezium_row("c", number, number * 10)])
        with pytest.raises(StatementUnreadableError, match=rf"2 records .* {schemas}:0:0 "):
            stream.cut()
        assert stream.rows() == {1: "x"}
        assert landed(stream) == number
    skip_record(stream.pipeline, world, RecordPlace(schemas, 0, 0), "a test sent it")
    with pytest.raises(StatementUnreadableError, match=rf"1 records .* {schemas}:0:1 "):
        stream.cut()
    with pytest.raises(ActionRefusedError, match="no record that was landed"):
        skip_record(stream.pipeline, world, RecordPlace(schemas, 0, 2), "not there")
    skip_record(stream.pipeline, world, RecordPlace(schemas, 0, 1), "a test sent it too")
    assert stream.cut().buckets["quarantined"] == 2
    assert stream.rows() == {1: "x", 2: "x", 3: "x"}
    stream.send([debezium_row("u", 3, 40, name="y")])
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows()[3] == "y"
