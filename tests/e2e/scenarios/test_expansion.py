"""Partitions that are added to a topic: TOP-3 per gate, on the real broker."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.records import (
    Record,
    canal_rows,
    debezium_row,
    ticdc_row,
    ticdc_watermark,
    unplaced_row,
)
from tests.support.stack import Stream
from tidemark.errors import PreflightError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.landing import read_mark
from tidemark.model.cut import HoldCode
from tidemark.model.expansion import PartitionExpansion
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.runs.plan import plan_cut
from tidemark.runs.world import World

MYSQL = {"key": ["id"], "columns": {"id": "int", "name": "text"}}


def at(partition: int, record: Record) -> Record:
    return replace(record, partition=partition)


@pytest.mark.smoke
def test_a_delete_waits_for_the_insert_in_the_older_partition(world: World) -> None:
    """TOP-3: runs that read less than there is publish no delete before what it deletes."""
    limited = {"limits": {"max-records": 20}}
    stream = Stream(world, 2, "debezium-mysql", "none", MYSQL, limited).create()
    stream.send([at(0, debezium_row("c", 1, 10)), at(1, debezium_row("c", 2, 11))])
    stream.cut()
    others = [at(1, debezium_row("u", 2, pos, name=str(pos))) for pos in range(20, 58)]
    stream.send([*others, at(1, debezium_row("c", 3, 60, name="gone"))])
    stream.grow(3)
    stream.send([at(2, debezium_row("d", 3, 70)), at(0, debezium_row("u", 1, 80, name="b"))])
    held = stream.cut()
    assert held.hold_code == HoldCode.PARTITIONS_ADDED
    assert held.hold.endswith("is read in partition 1 to offset 40 (read to 20)")
    assert held.buckets["held"] == 21
    assert stream.rows() == {1: "x", 2: "x"}
    assert plan_cut(stream.pipeline, world).has_work
    p0, p1 = (TopicPartition(TopicName(stream.topic), number) for number in range(2))
    mark = read_mark(world.catalog, SystemTables.of(stream.pipeline.name))
    assert mark.expansions == {stream.topic: PartitionExpansion({p0: 1, p1: 1}, {p0: 2, p1: 40})}
    result = stream.cut()
    assert (result.hold, stream.rows()) == ("", {1: "b", 2: "57"})


def test_the_last_change_of_an_old_partition_is_known_again(world: World) -> None:
    """POS-20: its row was deleted by way of an added one, and other rows of its event are new."""
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL).create()
    stream.send([debezium_row("c", 1, 10), debezium_row("c", 2, 11), debezium_row("c", 3, 11)])
    stream.cut()
    stream.grow(2)
    stream.send([at(1, debezium_row("d", 3, 20)), debezium_row("c", 4, 11, name="same event")])
    stream.cut()
    assert stream.rows() == {1: "x", 2: "x", 4: "same event"}
    again = [debezium_row("c", number, 11, name=name) for number, name in ((2, "x"), (3, "x"))]
    stream.send([*again, debezium_row("c", 5, 11, name="behind them")])
    result = stream.cut()
    assert stream.rows() == {1: "x", 2: "x", 4: "same event", 5: "behind them"}
    assert result.buckets["duplicate"] == len(again)


@pytest.mark.parametrize("pos", [11, 12])
def test_a_row_of_a_chunk_is_known_again_in_an_old_partition(world: World, pos: int) -> None:
    """POS-20, SNAP-9: its row was deleted by way of an added one; others of the chunk are new.

    pos: where the chunk stands, beside the newest change of its partition or behind it.
    """
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL).create()
    read = [debezium_row("r", number, pos, mark="incremental") for number in (1, 2)]
    stream.send([debezium_row("c", number, 9 + number) for number in (1, 2)])
    stream.send(read)
    stream.cut()
    stream.grow(2)
    stream.send([at(1, debezium_row("d", 1, 20)), at(1, debezium_row("u", 2, 21, name="newer"))])
    stream.cut()
    stream.send([*read, debezium_row("r", 3, pos, mark="incremental", name="of the same chunk")])
    result = stream.cut()
    assert stream.rows() == {2: "newer", 3: "of the same chunk"}
    assert result.buckets["duplicate"] == len(read)


def test_an_added_partition_of_ticdc_waits_for_its_first_watermark(world: World) -> None:
    """TOP-3, GATE-W2: it may hold anything until then."""
    stream = Stream(world).create()
    stream.send([ticdc_row("INSERT", 1, 100), ticdc_watermark(200)])
    stream.cut()
    stream.grow(2)
    stream.send([ticdc_row("INSERT", 2, 210), ticdc_watermark(300)])
    held = stream.cut()
    assert held.hold_code == HoldCode.GATE_NO_WATERMARK
    assert held.hold.endswith(f"from partition 1 of topic {stream.topic}")
    assert set(stream.rows()) == {1}
    stream.send([ticdc_row("DELETE", 1, 220, partition=1), ticdc_watermark(300, 1)])
    stream.cut()
    assert set(stream.rows()) == {2}


@pytest.mark.parametrize(
    ("wire", "table", "records"),
    [
        pytest.param(
            "canal-json", {}, [canal_rows("INSERT", {"id": "1", "name": "a"})], id="canal"
        ),
        pytest.param(
            "debezium-mysql", MYSQL, [unplaced_row("c", 1, name="a")], id="debezium, no places"
        ),
    ],
)
def test_without_positions_a_second_partition_is_refused(
    world: World, wire: str, table: dict[str, object], records: list[Record]
) -> None:
    """TOP-3, POS-11: keys move, and offsets of two partitions have no order."""
    stream = Stream(world, 1, wire, "none", table).create()
    stream.send(records)
    stream.cut()
    stream.grow(2)
    stream.send([at(1, records[0])])
    with pytest.raises(PreflightError, match=rf"topic {stream.topic} has 2 partitions"):
        stream.cut()
    assert stream.rows() == {1: "a"}
