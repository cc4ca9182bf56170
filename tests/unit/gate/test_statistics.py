"""What cannot be read of a transaction that waits for it: counted, and held with it (POISON-5)."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tidemark.gate.statistics import PartitionStatistics, has_nothing_new, partitions, shares
from tidemark.model.checkpoint_status import (
    NEW_BOUND,
    NEW_NEXT,
    OLD_BOUND,
    OLD_NEXT,
    REACHED,
    READ_AT,
    STREAMED,
    status,
)
from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.transaction import share_of

COLUMNS = (
    *("landing", "topic", "partition", "offset", "kind", "position", "snapshot"),
    *("source_schema", "source_table", "transaction_id", "event_order"),
)
FIRST = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1"


def at(place: int, offset: int = 0) -> str:
    return f"{place:04X}{offset:016X}"


def event(order: int, kind: str, position: str | None, landing: int = 2) -> dict[str, Any]:
    """An event of the transaction FIRST in shop.items."""
    own = (landing, "t", 0, order, kind, position, None, "shop", "items", FIRST, order)
    return dict(zip(COLUMNS, own, strict=True))


def ask(query: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The answer to ``query`` over the changelog ``rows``, as text and without an engine."""
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    database.execute(f"CREATE TABLE changelog ({', '.join(COLUMNS)})")
    marks = ", ".join(f":{name}" for name in COLUMNS)
    database.executemany(f"INSERT INTO changelog VALUES ({marks})", rows)  # noqa: S608  our marks
    found = [dict(row) for row in database.execute(query)]
    database.close()
    return found


def test_what_cannot_be_read_counts_once() -> None:
    """GATE-T4: sent again it is the same event, readable or not; of no place it tells nothing."""
    rows = [
        event(1, "row", at(10)),
        event(2, "unreadable", at(11)),
        event(2, "unreadable", at(11, offset=7)),
        event(3, "row", at(12)),
        event(3, "unreadable", at(12, offset=8)),
        event(4, "unreadable", None),
        event(5, "unreadable", at(2)),
    ]
    question = shares(at(5), has_positions=False)
    named = {**question.keys, **question.figures}
    columns = ", ".join(f"{text} AS {name}" for name, text in named.items())
    groups = ", ".join(question.keys.values())
    query = f"SELECT {columns} FROM changelog WHERE {question.where} GROUP BY {groups}"  # noqa: S608  the product's text
    (share,) = map(share_of, ask(query, rows))
    assert (share.table, share.events, share.only_truncates) == ("shop.items", 3, False)
    assert (share.lowest, share.highest) == (at(10)[:4], at(12)[:4])


def statuses(
    mode: GateMode,
    rows: Sequence[Mapping[str, Any]],
    published: int | None = None,
    reached: str = at(8)[:4],
    read_at: str = "",
) -> list[str]:
    """Zone of each row when the frontier moves from place 5 to 9; landing 1 was gated before.

    published: the landing that was the newest as the frontier came to place 5. reached: the
    greatest place that the partition had settled. read_at: where a settled snapshot stands.
    """
    bounds = {OLD_BOUND: f"'{at(5)}'", NEW_BOUND: f"'{at(9)}'", OLD_NEXT: "0", NEW_NEXT: "9"}
    bounds |= {REACHED: f"'{reached}'", STREAMED: f"'{reached}'", READ_AT: f"'{read_at}'"}
    beside = ", ".join(f"{value} AS {name}" for name, value in bounds.items())
    cut = Cut(2, mode, Frontier())
    query = f"SELECT {status(cut, 1, published)} AS status FROM (SELECT *, {beside} FROM changelog)"  # noqa: S608  likewise
    return [row["status"] for row in ask(query, rows)]


def test_what_cannot_be_read_settles_with_its_transaction_and_once() -> None:
    """ACC-1: it is no repeat, wherever it stands; nobody can say what it is one of."""
    rows = [
        event(1, "unreadable", at(4), landing=1),
        event(2, "unreadable", at(4)),
        event(3, "unreadable", at(7), landing=1),
        event(4, "unreadable", at(7)),
        event(5, "unreadable", at(9), landing=1),
        event(6, "unreadable", at(9)),
        event(7, "unreadable", None),
        event(8, "unreadable", None, landing=1),
    ]
    held = ["committed", "pending", "pending", "pending", "held", "held", "pending", "committed"]
    assert statuses(GateMode.TRANSACTION, rows) == held


def test_what_came_late_is_new_to_a_table_that_stood_lower() -> None:
    """GATE-3: an earlier cut gated its landing, and published nothing of the table."""
    rows = [
        event(1, "truncate", at(4), landing=1) | {"transaction_id": None},
        event(2, "ddl", at(4), landing=1) | {"transaction_id": None},
        event(3, "row", at(4), landing=0),
        event(4, "control", None, landing=1),
    ]
    gate, committed = GateMode.TRANSACTION, ["committed"] * 4
    assert statuses(gate, rows) == statuses(gate, rows, published=1) == committed
    late = ["pending", "pending", "committed", "committed"]
    assert statuses(gate, rows, published=0, reached="") == late


@pytest.mark.parametrize(
    ("read_at", "found"),
    [
        pytest.param("", ["pending", "pending"], id="waited until it was whole"),
        pytest.param(at(4)[:4], ["committed", "duplicate"], id="settled before"),
    ],
)
def test_a_snapshot_below_the_frontier(read_at: str, found: Sequence[str]) -> None:
    """SNAP-10: amid the stream it stands where that was, whenever its rows were landed."""
    rows = [event(n, "row", at(4), landing=n) | {"snapshot": "true"} for n in (1, 2)]
    assert statuses(GateMode.TRANSACTION, rows, reached="", read_at=read_at) == found


def test_heartbeats_are_nothing_new() -> None:
    """MSG-27, GATE-T6, SNAP-5: they come with every run, and settle nothing less for that."""
    rows = [event(1, "row", at(6), landing=1), event(2, "control", None), event(3, "control", None)]
    rows[0] |= {"snapshot": None, "commit_time": None}
    question = partitions(at(5), 1, None)

    def records(rows: Sequence[Mapping[str, Any]]) -> int:
        query = f"SELECT {question.figures['records']} AS records FROM changelog"  # noqa: S608  the product's text
        return int(ask(query, rows)[0]["records"])

    assert records(rows) == 0
    assert records([*rows, event(4, "end", None)]) == 1
    place = TopicPartition(TopicName("t"), 0)
    assert has_nothing_new({place: PartitionStatistics(records=0)}, frozenset())
    assert not has_nothing_new({place: PartitionStatistics(records=0)}, {place})
    assert not has_nothing_new({place: PartitionStatistics(records=1)}, frozenset())


def test_no_other_gate_waits_for_what_cannot_be_read() -> None:
    rows = [event(1, "unreadable", at(4)), event(2, "unreadable", at(9), landing=1)]
    for mode in (GateMode.NONE, GateMode.WATERMARK):
        assert statuses(mode, rows) == ["pending", "committed"]
