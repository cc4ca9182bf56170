"""Snapshots of tables amid the stream: what they are ahead of is streamed behind their rows.

A connector reads a table where the log ends, or says that it did where the stream was, and goes on
streaming from where it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from tests.support.records import Record, boundary, debezium_row
from tests.support.stack import Stream
from tidemark.errors import EpochSuspectError, TableStoppedError
from tidemark.runs.world import World

MYSQL = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
SECOND = 1_000
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def of_table(record: Record, table: str) -> Record:
    """The same of another table, whose rows come by the same topic."""
    name = f'"{table}"'.encode()
    return Record((record.value or b"").replace(b'"items"', name), record.key)


def row(op: str, number: int, pos: int, name: str = "x", at: int = 0) -> Record:
    """A row event; the source's clock goes on by a second with each place of the log."""
    return debezium_row(op, number, pos, name=name, at=(at or pos) * SECOND)


def read(pos: int, rows: dict[int, str], at: int = 0) -> list[Record]:
    """A snapshot of shop.items that stands at ``pos``, and was read when the log was at ``at``."""
    marks = ["first", *["true"] * (len(rows) - 2), "last"]
    when = (at or pos) * SECOND
    return [
        debezium_row("r", number, pos, name=name, mark=mark, at=when)
        for mark, (number, name) in zip(marks, rows.items(), strict=True)
    ]


FIRST = [*read(100, dict.fromkeys(range(5), "old")), row("u", 1, 110, "streamed")]
SNAPSHOT = read(200, {0: "old", 1: "streamed", 3: "new", 4: "old", 6: "stays"})
OVERTAKEN = [
    row("d", 2, 150),
    row("c", 7, 160, "came and went"),
    row("u", 3, 170, "between"),
    row("c", 6, 175, "stays"),
    row("d", 7, 180),
    row("u", 3, 190, "new"),
]
BEHIND = [row("u", 4, 210, "behind")]
LAST = {0: "old", 1: "streamed", 3: "new", 4: "behind", 6: "stays"}


def sent_in_cuts(stream: Stream, batches: Iterable[Sequence[Record]]) -> None:
    for batch in batches:
        stream.send(batch)
        stream.cut()


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param([SNAPSHOT, OVERTAKEN, BEHIND], id="cut behind the snapshot"),
        pytest.param(
            [SNAPSHOT[:2], [*SNAPSHOT[2:], *OVERTAKEN[:3]], OVERTAKEN[3:], BEHIND], id="cuts inside"
        ),
        pytest.param([[*SNAPSHOT, *OVERTAKEN, *BEHIND]], id="in one"),
    ],
)
def test_what_a_snapshot_overtook_comes_behind_it(
    world: World, batches: Sequence[Sequence[Record]]
) -> None:
    """POS-20, SNAP-10, DUP-2: a row that was deleted meanwhile goes, and no newer one goes back."""
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL).create()
    sent_in_cuts(stream, [FIRST, *batches])
    assert stream.rows() == LAST
    sent_in_cuts(stream, [[FIRST[-1], *OVERTAKEN, *BEHIND]])
    assert stream.rows() == LAST, "sent again, it changes nothing"


def test_a_log_that_starts_over_behind_a_snapshot_is_another_one(world: World) -> None:
    """POS-16: what it sends is newer than the rows that the snapshot has read."""
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL).create()
    sent_in_cuts(stream, [FIRST, SNAPSHOT, OVERTAKEN[:2]])
    stream.send([row("u", 0, 180, "of another log", at=300)])
    with pytest.raises(EpochSuspectError, match="log has started over"):
        stream.cut()


def test_another_table_of_the_topic_has_what_the_snapshot_overtook(world: World) -> None:
    """POS-20: its changes are in no snapshot, and in the partition of one."""
    both = [{"source": f"shop.{t}", "expectations": "none", **MYSQL} for t in ("items", "other")]
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL, {"tables": both}).create()
    other = [of_table(row("c", 1, 105, "first"), "other"), of_table(row("d", 1, 155), "other")]
    other.append(of_table(row("c", 2, 165, "second"), "other"))
    sent_in_cuts(stream, [[*FIRST[:-1], other[0], FIRST[-1]], SNAPSHOT])
    sent_in_cuts(stream, [[OVERTAKEN[0], other[1]], [*OVERTAKEN[1:3], other[2]], OVERTAKEN[3:]])
    sent_in_cuts(stream, [BEHIND])
    assert stream.rows() == LAST


@pytest.mark.parametrize("gate", ["none", "transaction"])
def test_rows_that_stand_where_the_stream_was_are_new(world: World, gate: str) -> None:
    """SNAP-10, GATE-T6: beside a change that is published already."""
    stream = Stream(world, 1, "debezium-mysql", gate, MYSQL).create()
    ids = [f"{UUID}:{number}" for number in (1, 2)]

    def in_transaction(number: int, record: Record) -> Record:
        if gate == "none":
            return record
        ends = [boundary("BEGIN", ids[number]), boundary("END", ids[number], 1)]
        stream.send(ends, stream.transactions)
        value = json.loads(record.value or b"")
        value["transaction"] = {"id": ids[number], "total_order": 1, "data_collection_order": 1}
        return Record(json.dumps(value).encode(), record.key)

    sent_in_cuts(stream, [[in_transaction(0, row("c", 9, 150, "beside"))], []])
    rows = read(150, dict.fromkeys(range(3), "read"), at=170)
    sent_in_cuts(stream, [rows[:1], rows[1:]])
    sent_in_cuts(stream, [[in_transaction(1, row("d", 0, 160))], [], []])
    left = {1: "read", 2: "read", 9: "beside"}
    assert stream.rows() == left
    sent_in_cuts(stream, [rows, [], []])
    assert stream.rows() == left, "sent again, they change nothing"


def test_a_connector_that_died_behind_a_snapshot_sends_what_that_overtook(world: World) -> None:
    """SNAP-10, GATE-T6: two silent runs have settled the snapshot, and ENDs come behind rows."""
    stream = Stream(world, 1, "debezium-mysql", "transaction", MYSQL).create()

    def sent(number: int, *records: Record) -> list[Record]:
        """The rows of a transaction; its END comes a run later."""
        values = [json.loads(record.value or b"") for record in records]
        for order, value in enumerate(values, 1):
            of = {"id": f"{UUID}:{number}", "total_order": order, "data_collection_order": order}
            value["transaction"] = of
        rows = [Record(json.dumps(v).encode(), r.key) for v, r in zip(values, records, strict=True)]
        stream.send(rows)
        return [
            boundary("BEGIN", f"{UUID}:{number}"),
            boundary("END", f"{UUID}:{number}", len(rows)),
        ]

    stream.send(FIRST[:-1])
    stream.send(sent(1, FIRST[-1]), stream.transactions)
    sent_in_cuts(stream, [[], [], SNAPSHOT, [], []])
    state = {0: "old", 1: "streamed", 3: "new", 4: "old", 6: "stays"}
    assert stream.rows() == state
    ends = [*sent(2, *OVERTAKEN[:3]), *sent(3, *OVERTAKEN[3:])]
    stream.cut()
    stream.send(ends, stream.transactions)
    assert stream.cut().hold == ""
    assert stream.rows() == state
    stream.send(sent(4, *BEHIND), stream.transactions)
    assert stream.cut().hold == ""
    assert stream.rows() == LAST


def test_rows_without_a_key_stand_for_what_their_snapshot_overtook(world: World) -> None:
    """SNAP-10, DUP-2: a row that the snapshot has read is not inserted once more."""
    keyless = {"columns": {"id": "int", "name": "text"}}
    stream = Stream(world, 1, "debezium-mysql", "none", keyless).create()

    def unkeyed(records: Sequence[Record]) -> list[Record]:
        return [Record(record.value, None) for record in records]

    first = [*read(100, {1: "old", 2: "old"}), row("c", 3, 110, "streamed")]
    again = read(200, {1: "old", 2: "old", 3: "streamed", 4: "between"})
    sent_in_cuts(stream, map(unkeyed, [first, again, [row("c", 4, 150, "between")]]))
    sent_in_cuts(stream, [unkeyed([row("c", 4, 210, "between")])])
    found = sorted((row["id"], row["name"]) for row in stream.published())
    between = (4, "between")
    assert found == [(1, "old"), (2, "old"), (3, "streamed"), between, between]


def logged(commit: int, lsn: int, number: int, mark: str = "false") -> Record:
    """A row of PostgreSQL without a key, behind ``commit``."""
    source = {
        "snapshot": mark,
        "schema": "shop",
        "table": "items",
        "sequence": json.dumps([str(commit) if commit else None, str(lsn)]),
        "lsn": lsn,
        "ts_ms": lsn * SECOND,
    }
    op = "c" if mark == "false" else "r"
    after = {"id": number, "name": "x"}
    value = {"op": op, "before": None, "after": after, "source": source}
    return Record(json.dumps(value).encode())


NEW = [logged(0, 50, 1, "first"), logged(0, 50, 2, "last"), logged(0, 60, 3)]
AMID = [logged(100, 150, number, mark) for number, mark in ((1, "first"), (2, "true"), (3, "last"))]
HELD, AFTER = logged(100, 110, 4), [logged(100, 155, 5), logged(150, 160, 6)]


def of_postgres(world: World) -> Stream:
    keyless = {"columns": {"id": "int", "name": "text"}}
    return Stream(world, 2, "debezium-postgres", "none", keyless).create()


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param([NEW, AMID, [HELD]], id="cut behind the snapshot"),
        pytest.param([NEW, [*AMID, HELD]], id="in one"),
        pytest.param(
            [NEW, [HELD], [replace(record, partition=1) for record in AMID]], id="in a transaction"
        ),
    ],
)
def test_rows_without_a_key_that_their_snapshot_may_hold_stop_the_table(
    world: World, batches: Sequence[Sequence[Record]]
) -> None:
    """SNAP-10: PostgreSQL's rows stand at the last commit, and what came between above them."""
    stream = of_postgres(world)
    sent_in_cuts(stream, batches[:-1])
    stream.send(batches[-1])
    with pytest.raises(TableStoppedError, match="amid the stream, and may hold the change"):
        stream.cut()


def test_rows_without_a_key_that_were_written_behind_a_snapshot_are_new(world: World) -> None:
    """SNAP-10: their snapshot tells where the log ended."""
    stream = of_postgres(world)
    sent_in_cuts(stream, [NEW, AMID, AFTER[:1], AFTER[1:]])
    assert sorted(row["id"] for row in stream.published()) == [1, 2, 3, 5, 6]


def test_a_snapshot_that_does_not_tell_where_the_log_ended_stops_a_table_without_a_key(
    world: World,
) -> None:
    """SNAP-10: it has the place of the slot, which its connector had created."""
    stream = of_postgres(world)
    sent_in_cuts(stream, [NEW])
    stream.send([logged(100, 50, 1, "first"), logged(100, 50, 3, "last")])
    with pytest.raises(TableStoppedError, match="do not show where in the log they were read"):
        stream.cut()
