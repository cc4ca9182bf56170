"""A snapshot of tables that are there: what it does not contain goes, or a person is asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]  # re-exported bare

from tests.support import tellers
from tests.support.altered import AlteredTable
from tests.support.records import Record, debezium_row
from tests.support.stack import Stream
from tidemark.errors import ActionRefusedError, TableStoppedError
from tidemark.model.names import TableName
from tidemark.model.result import CutStatus
from tidemark.model.target_mode import TargetMode
from tidemark.runs.orders import begin_resync, end_resync
from tidemark.runs.plan import plan_cut
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World

MYSQL = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
ITEMS = TableName("shop", "items")
SIGNALS = {"signal_table": "shop.debezium_signal"}


def snapshot(pos: int, *numbers: int) -> list[Record]:
    """A whole snapshot of the source with these rows of its one table, read at ``pos``."""
    marks = ["true"] * (len(numbers) - 1) + ["last"]
    return [debezium_row("r", n, pos, mark=m) for n, m in zip(numbers, marks, strict=True)]


def chunk(pos: int, numbers: Iterable[int]) -> list[Record]:
    """Rows of an incremental snapshot."""
    return [debezium_row("r", number, pos, mark="incremental") for number in numbers]


def changed(record: Record, **fields: Any) -> Record:
    """A row event with other fields in its envelope; a dict joins what is there."""
    value = json.loads(record.value or b"{}")
    for name, field in fields.items():
        value[name] = value[name] | field if isinstance(field, dict) and value[name] else field
    return Record(json.dumps(value).encode(), record.key)


def signal(kind: str, pos: int, data: str = "") -> Record:
    """A row that the signal table was given (MSG-28)."""
    image = {"id": f"{pos}-open", "type": kind, "data": data}
    row = changed(debezium_row("c", 0, pos), source={"table": "debezium_signal"}, after=None)
    return changed(row, after=image)


def published(
    world: World, options: Mapping[str, Any], source: Mapping[str, Any] | None = None
) -> Stream:
    """A stream that has published a snapshot of ten rows and a change behind it."""
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL, options, source or {}).create()
    stream.send([*snapshot(100, *range(10)), debezium_row("u", 1, 110, name="y")])
    assert stream.cut().status is CutStatus.PUBLISHED
    assert not plan_cut(stream.pipeline, world).has_work, "the first snapshot contradicts nothing"
    return stream


def said(stream: Stream) -> str:
    return pipeline_status(stream.pipeline, stream.world).snapshots.get(ITEMS, "")


def ordered(stream: Stream) -> list[str]:
    return [one.command for one in pipeline_status(stream.pipeline, stream.world).orders]


@pytest.mark.smoke
def test_rows_that_a_new_snapshot_lacks_are_removed(world: World) -> None:
    """SNAP-5, SNAP-6: one cut after its end was read, with what was streamed behind it kept."""
    stream = published(world, {})
    stream.send([*snapshot(200, *range(9)), debezium_row("c", 20, 210)])
    stream.cut()
    assert set(stream.rows()) == {*range(10), 20}, "its end may not have come from every partition"
    assert plan_cut(stream.pipeline, world).has_work
    assert stream.cut().tables[0].deleted == 1
    assert set(stream.rows()) == {*range(9), 20}
    assert not plan_cut(stream.pipeline, world).has_work
    stream.send([debezium_row("c", 9, 90), *snapshot(200, 0)])
    stream.cut()
    assert set(stream.rows()) == {*range(9), 20}, "what is older than the snapshot was sent again"
    assert said(stream) == ""


def test_many_missing_rows_wait_for_a_person(world: World) -> None:
    """SNAP-6: above the share that may go unasked, the rows stay until somebody says so."""
    stream = published(world, {})
    many = {*range(10), *range(50, 150)}
    stream.send([debezium_row("c", number, 120 + number) for number in sorted(many)[10:]])
    stream.send(snapshot(400, *many - {9}))
    stream.cut()
    assert stream.cut().tables[0].deleted == 1, "a few rows of a table go unasked"
    stream.send(snapshot(500, 0, 1, 2))
    stream.cut()
    assert stream.cut().status is CutStatus.PUBLISHED
    assert set(stream.rows()) == many - {9}
    assert "it lacks 106 rows" in said(stream)
    assert not plan_cut(stream.pipeline, world).has_work
    end_resync(stream.pipeline, world, ITEMS)
    assert plan_cut(stream.pipeline, world).has_work
    assert stream.cut().tables[0].deleted == 106
    assert set(stream.rows()) == {0, 1, 2}
    assert said(stream) == ""


def test_a_file_may_want_to_be_asked_always(world: World) -> None:
    """SNAP-6."""
    stream = published(world, {"snapshots": {"reconcile": "ask"}})
    stream.send(snapshot(200, *range(9)))
    stream.cut()
    stream.cut()
    assert set(stream.rows()) == set(range(10))
    assert "asks for a person's word" in said(stream)


def test_a_table_that_the_snapshot_lacks_makes_it_doubtful(world: World) -> None:
    """SNAP-6: it may be an ad-hoc snapshot of some tables; a filtered one looks alike."""
    tables = [{"source": f"shop.{t}", "expectations": "none", **MYSQL} for t in ("items", "other")]
    stream = published(world, {"tables": tables})
    other = debezium_row("c", 1, 120)
    assert other.value is not None
    stream.send([Record(other.value.replace(b'"items"', b'"other"'), other.key)])
    stream.cut()
    stream.send(snapshot(200, *range(9)))
    stream.cut()
    stream.cut()
    assert set(stream.rows()) == set(range(10))
    assert "it has no row of shop.other" in said(stream)


@pytest.mark.smoke
def test_a_table_that_changed_unseen_starts_over(world: World) -> None:
    """SNAP-6, SCHEMA-18: columns went and came, and other rows, while nobody streamed."""
    stream = Stream(world, 3, "debezium-mysql", "none", has_statements=True).create()
    table = AlteredTable(tellers.debezium(has_schema=False), tellers.debezium_ddl)
    table.alter("COMMENT 'x'")
    for number in (1, 2, 3):
        table.put(number, name=f"n{number}")

    def sends(start: int, mark: str = "true") -> None:
        for one in table.sent[start:]:
            topic = stream.statements if one.is_ddl else ""
            stream.send([tellers.of_snapshot(one, at, mark).record if at else one.record], topic)

    at = 0
    sends(0)
    stream.cut()
    published = stream.rows()
    at, start = table.place + 10, len(table.sent)
    table.make_anew({"id": "bigint", "note": "varchar(20)"})
    sends(start)
    with pytest.raises(TableStoppedError, match="the source dropped or renamed column name"):
        stream.cut()
    assert stream.rows() == published, "a snapshot may describe tables, and read none of their rows"
    start = len(table.sent)
    table.put(2, note="changed unseen")
    table.put(7, note="made unseen")
    sends(start)
    start = len(table.sent)
    table.put(8, note="read last")
    sends(start, "last")
    at, start = 0, len(table.sent)
    table.place += 20
    table.put(7, note="streamed")
    sends(start)
    for _ in range(2):
        stream.cut()
        loaded = world.catalog.load_table((stream.name, "items")).scan().to_arrow()
        assert "name" not in loaded.column_names
        rows = {row["id"]: {"id": row["id"], "note": row["note"]} for row in loaded.to_pylist()}
        assert rows == table.expected
    assert said(stream) == ""


@pytest.mark.parametrize("consistency", ["pipeline", "table"])
def test_a_stopped_table_has_its_rows_read_again(world: World, consistency: str) -> None:
    """SCHEMA-37: the connector is asked once, and the table comes back without anybody."""
    signals = f"{consistency}-signals"
    options = {"on-stop": "resync", "publish": {"consistency": consistency}}
    source = {"signal-topic": signals, "topic-prefix": "db"}
    stream = Stream(world, 3, "debezium-mysql", "none", {}, options, source, has_statements=True)
    table = AlteredTable(tellers.debezium(has_schema=False), tellers.debezium_ddl)
    stream.create().admin.create_topics([NewTopic(signals, 1, 1)])[signals].result(timeout=30)

    def cut(*, stops: bool) -> None:
        for one in table.sent:
            stream.send([one.record], stream.statements if one.is_ddl else "")
        table.sent.clear()
        if stops and consistency == "pipeline":
            with pytest.raises(TableStoppedError, match="get a value in a"):
                stream.cut()
        else:
            assert bool(stream.cut().stopped) is stops

    table.alter("COMMENT 'x'")
    for number in (1, 2, 3):
        table.put(number, name=f"n{number}")
    cut(stops=False)
    table.alter("ADD COLUMN a int AS (id * 2)", added={"a": ("int", None)})
    cut(stops=True)
    if consistency == "pipeline":
        cut(stops=True)
    assert "is awaited" in said(stream)
    with world.broker.reading() as consumer:
        consumer.assign([TopicPartition(signals, 0, 0)])
        (signal, end) = consumer.consume(2, timeout=10)
    assert end.error() == KafkaError._PARTITION_EOF, "one signal will do"
    assert (signal.key(), json.loads(signal.value() or b"")) == (
        b"db",
        {
            "type": "execute-snapshot",
            "data": {"data-collections": ["shop\\.items"], "type": "incremental"},
        },
    )
    for number in (1, 2, 3):
        table.put(number, a=2 * number)
        mark = {"snapshot": "incremental", "server_id": 0}
        table.sent[-1] = replace(
            table.sent[-1], record=changed(table.sent[-1].record, source=mark, op="r")
        )
    cut(stops=False)
    assert {row["id"]: row["a"] for row in stream.published()} == {1: 2, 2: 4, 3: 6}
    assert said(stream) == ""


@pytest.mark.smoke
def test_resync_of_a_table_while_it_is_published(world: World) -> None:
    """SNAP-8: rows of the incremental snapshot by position; what it lacks goes when it is whole."""
    stream = published(world, {})
    with pytest.raises(ActionRefusedError, match="no snapshot of shop.items is awaited"):
        end_resync(stream.pipeline, world, ITEMS)
    begin_resync(stream.pipeline, world, ITEMS)
    assert "is awaited" in said(stream)
    assert ordered(stream) == ["resync shop.items"]
    assert not plan_cut(stream.pipeline, world).has_work
    stream.send([*chunk(300, (0, 1)), debezium_row("c", 30, 310)])
    stream.cut()
    assert set(stream.rows()) == {*range(10), 30}
    assert ordered(stream) == [], "the cut has it in its progress"
    stream.send([*chunk(320, (2, 3)), debezium_row("d", 3, 330)])
    end_resync(stream.pipeline, world, ITEMS)
    stream.cut()
    stream.cut()
    assert set(stream.rows()) == {0, 1, 2, 30}, "3 was read, and then deleted"
    assert said(stream) == ""


@pytest.mark.smoke
def test_a_row_that_changed_while_its_chunk_was_read_outlives_the_resync(world: World) -> None:
    """SNAP-8, SNAP-9: the connector leaves it out of the chunk, which stands behind the change."""
    stream = published(world, {})
    begin_resync(stream.pipeline, world, ITEMS)
    stream.send([debezium_row("u", 5, 290, name="new"), *chunk(300, (0, 1))])
    stream.cut()
    end_resync(stream.pipeline, world, ITEMS)
    stream.cut()
    assert stream.rows() == {0: "x", 1: "x", 5: "new"}


@pytest.mark.parametrize("source", [SIGNALS, {}], ids=["windows", "no windows"])
def test_rows_that_were_read_before_a_truncate_do_not_come_back(
    world: World, source: Mapping[str, Any]
) -> None:
    """SNAP-7: in the cut of the truncate, in a later one, and not of a window that opens then."""
    stream = published(world, {}, source)
    stream.send(
        [
            signal("snapshot-window-open", 120),
            debezium_row("t", 0, 130, with_key=False),
            debezium_row("c", 20, 140),
            *chunk(150, (2, 3)),
        ]
    )
    stream.cut()
    assert set(stream.rows()) == {20}
    stream.send([signal("snapshot-window-open", 160), *chunk(170, (20, 21))])
    assert stream.cut().buckets["control"] == (1 if source else 0)
    assert set(stream.rows()) == {20, 21}


@pytest.mark.parametrize("mode", [TargetMode.MIRROR, TargetMode.SOFT_DELETE, TargetMode.HISTORY])
@pytest.mark.parametrize("source", [SIGNALS, {}], ids=["windows", "no windows"])
def test_a_row_that_falls_takes_no_streamed_change_with_it(
    world: World, source: Mapping[str, Any], mode: TargetMode
) -> None:
    """SNAP-7: of a key with both, the newest one that counts is chosen, not the newest one."""
    table = {**MYSQL, "mode": mode.value}
    stream = Stream(world, 1, "debezium-mysql", "none", table, {}, source).create()
    stream.send([*snapshot(100, 1, 2)])
    stream.cut()
    stream.send(
        [
            signal("snapshot-window-open", 120),
            debezium_row("t", 0, 130, with_key=False),
            debezium_row("c", 20, 140, name="new"),
            *chunk(150, (2, 20)),
        ]
    )
    stream.cut()
    assert [row["name"] for row in stream.published() if _is_live(row)] == ["new"]


def _is_live(row: Mapping[str, Any]) -> bool:
    ended = row.get("_tidemark_valid_to") or row.get("_tidemark_deleted_at")
    return ended is None


def test_a_window_that_stays_open_over_cuts_is_known_when_it_closes(world: World) -> None:
    """SNAP-7."""
    stream = published(world, {}, SIGNALS)
    for records in (
        [signal("snapshot-window-open", 120)],
        [debezium_row("t", 0, 130, with_key=False)],
        chunk(150, (2, 3)),
    ):
        stream.send(records)
        stream.cut()
    assert stream.rows() == {}


def test_a_snapshot_that_a_signal_asked_for_may_be_filtered(world: World) -> None:
    """SNAP-6: so rows that it lacks stay until a person says that it was not."""
    stream = published(world, {}, SIGNALS)
    stream.send(
        [signal("execute-snapshot", 190, '{"type": "BLOCKING"}'), *snapshot(200, *range(9))]
    )
    stream.cut()
    stream.cut()
    assert set(stream.rows()) == set(range(10))
    assert "a signal asked the connector for it" in said(stream)
    end_resync(stream.pipeline, world, ITEMS)
    stream.cut()
    assert set(stream.rows()) == set(range(9))


def test_a_source_without_snapshots_has_no_resync(world: World) -> None:
    """SNAP-8."""
    stream = Stream(world).create()
    with pytest.raises(ActionRefusedError, match="which sends no snapshots"):
        begin_resync(stream.pipeline, world, ITEMS)
