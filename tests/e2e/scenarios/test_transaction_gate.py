"""Gate `transaction` on the whole stack: what it holds, what it says, and where records end."""

from __future__ import annotations

from collections import Counter

import pytest
from confluent_kafka.cimpl import NewPartitions, NewTopic

from tests.support.records import Record, boundary, debezium_row
from tests.support.stack import Stream
from tidemark.errors import ActionRefusedError, PreflightError
from tidemark.model.cut import HoldCode
from tidemark.model.names import TableName
from tidemark.runs.orders import skip_transaction
from tidemark.runs.plan import plan_cut
from tidemark.runs.preview import preview_cut
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World

MYSQL = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
FIRST = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1"


@pytest.mark.smoke
def test_a_transaction_is_published_whole(world: World) -> None:
    """GATE-T2, GATE-T6, ACC-1: an event on its way holds it; a truncate behind it needs silence."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", MYSQL).create()
    stream.send([boundary("BEGIN", FIRST), boundary("END", FIRST, 2)], stream.transactions)
    stream.send([debezium_row("c", 1, 100, name="a", transaction=(FIRST, 1))])
    lacking = f"transaction {FIRST} is not complete: its END counts 2 of shop.items, 1 came"
    assert preview_cut(stream.pipeline, world).hold == lacking
    held = stream.cut()
    assert (held.hold, held.hold_code, stream.rows()) == (lacking, HoldCode.TX_INCOMPLETE, {})

    stream.send([debezium_row("c", 2, 110, name="b", transaction=(FIRST, 2))])
    assert stream.cut().hold == ""
    assert stream.rows() == {1: "a", 2: "b"}

    stream.send([debezium_row("t", 0, 300, with_key=False)])
    assert stream.cut().hold_code == HoldCode.GATE_STALLED
    assert stream.rows() == {1: "a", 2: "b"}
    assert plan_cut(stream.pipeline, world).has_work
    stream.cut()
    assert stream.rows() == {}
    assert not plan_cut(stream.pipeline, world).has_work

    ended: Counter[str] = Counter()
    for entry in pipeline_status(stream.pipeline, world).history:
        ended.update({name: n for name, n in entry.result.buckets.items() if name != "held"})
    assert +ended == {"applied": 3, "control": 2}


def test_a_transaction_that_never_comes_whole_can_be_given_up(world: World) -> None:
    """GATE-T8: by its id alone; what came of it is quarantined, and its table has to be
    re-snapshotted.
    """
    stream = Stream(world, 1, "debezium-mysql", "transaction", MYSQL).create()
    first, second = FIRST, f"{FIRST}2"
    ends = [boundary("BEGIN", first), boundary("END", first, 2)]
    ends += [boundary("BEGIN", second), boundary("END", second, 1)]
    stream.send(ends, stream.transactions)
    stream.send([debezium_row("c", 1, 100, name="a", transaction=(first, 1))])
    stream.send([debezium_row("c", 3, 200, name="c", transaction=(second, 1))])
    assert stream.cut().hold_code == HoldCode.TX_INCOMPLETE
    with pytest.raises(ActionRefusedError, match="is no id of a transaction"):
        skip_transaction(stream.pipeline, world, "x' OR 'x' = 'x")
    with pytest.raises(ActionRefusedError, match=f"no record of transaction {first}0 was landed"):
        skip_transaction(stream.pipeline, world, f"{first}0")
    assert not pipeline_status(stream.pipeline, world).orders
    skip_transaction(stream.pipeline, world, first)
    assert plan_cut(stream.pipeline, world).has_work
    result = stream.cut()
    assert (result.buckets["quarantined"], stream.rows()) == (1, {3: "c"})
    said = pipeline_status(stream.pipeline, world).snapshots
    assert "is awaited" in said[TableName("shop", "items")]


def test_a_new_snapshot_stands_for_what_its_connector_never_sends(world: World) -> None:
    """GATE-T14, SNAP-6: rows of the snapshot replace what came, and what it lacks is removed."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", MYSQL).create()
    second = f"{FIRST}2"
    stream.send([boundary("BEGIN", FIRST), boundary("END", FIRST, 3)], stream.transactions)
    came = [debezium_row("c", n, 100, name="came", transaction=(FIRST, n)) for n in (1, 2)]
    stream.send(came)
    assert stream.cut().hold_code == HoldCode.TX_INCOMPLETE
    read = [debezium_row("r", 1, 200, name="read", mark="first")]
    stream.send([*read, debezium_row("r", 3, 200, name="read", mark="last")])
    assert (stream.cut().buckets["applied"], stream.rows()) == (0, {})
    stream.send([boundary("BEGIN", second), boundary("END", second, 1)], stream.transactions)
    stream.send([debezium_row("c", 4, 300, name="new", transaction=(second, 1))])
    result = stream.cut()
    assert (result.hold, stream.rows()) == ("", {1: "read", 3: "read", 4: "new"})
    assert not pipeline_status(stream.pipeline, world).snapshots


def test_a_late_truncate_stops_its_table_until_it_is_folded(world: World) -> None:
    """GATE-3, TRUNC-14: by a partition that lags, below what the table has, for many cuts."""
    options = {"publish": {"consistency": "table"}}
    blocked = {**MYSQL, "truncate": "block"}
    stream = Stream(world, 2, "debezium-mysql", "transaction", blocked, options).create()

    def send(number: int, place: int) -> None:
        key = f"{FIRST}{number}"
        stream.send([boundary("BEGIN", key), boundary("END", key, 1)], stream.transactions)
        stream.send([debezium_row("c", number, place, transaction=(key, 1))])

    send(1, 50)
    send(2, 110)
    stream.cut()
    late = debezium_row("t", 0, 100, with_key=False)
    stream.send([Record(late.value, late.key, partition=number) for number in (0, 1)])
    table = str(stream.pipeline.tables[0].source)
    assert "was truncated" in stream.cut().stopped[table]
    send(3, 120)
    assert "was truncated" in stream.cut().stopped[table]
    assert set(stream.rows()) == {1, 2}
    stream.table = {**stream.table, "truncate": "apply"}
    send(4, 130)
    assert not stream.cut().stopped
    assert set(stream.rows()) == {2, 3, 4}


def test_heartbeats_among_the_rows_hold_no_snapshot(world: World) -> None:
    """MSG-27, SNAP-5: their topic has new records in each run, and never a row."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", MYSQL)
    beats = f"__debezium-heartbeat.{stream.name}"
    topics = {"data": [stream.topic, beats], "transactions": [stream.transactions]}
    stream.source = {"topics": topics}
    stream.create()
    for made in stream.admin.create_topics([NewTopic(beats, 1, replication_factor=1)]).values():
        made.result(timeout=30)
    stream.send([debezium_row("r", 1, 100, mark="first"), debezium_row("r", 2, 100, mark="last")])
    for number in range(2):
        stream.send([Record(b'{"ts_ms":1}', b'{"serverName":"db"}')], beats)
        key = f"{FIRST}{number}"
        stream.send([boundary("BEGIN", key), boundary("END", key, 1)], stream.transactions)
        row = debezium_row("c", 3 + number, 110 + number, transaction=(key, 1))
        stream.send([row])
        stream.cut()
    assert {1, 2} <= set(stream.rows())


def test_the_ends_have_one_order(world: World) -> None:
    """GATE-T1."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", MYSQL).create()
    grown = stream.admin.create_partitions([NewPartitions(stream.transactions, 2)])
    grown[stream.transactions].result(timeout=30)
    with pytest.raises(PreflightError, match="their order is lost"):
        stream.cut()
