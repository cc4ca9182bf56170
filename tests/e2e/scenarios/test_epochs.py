"""A source whose log starts over: seen, refused, and handed over by a person (POS-15 to POS-17)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.support import tellers
from tests.support.altered import AlteredTable
from tests.support.quarantined import TOO_MUCH, UNAVAILABLE
from tests.support.records import Record, debezium_row
from tests.support.stack import Stream, counted
from tidemark.errors import ActionRefusedError, EpochSuspectError
from tidemark.model.names import TableName
from tidemark.runs.orders import hand_over
from tidemark.runs.preview import preview_cut
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World

MYSQL = {"key": ["id"], "columns": {"id": "int", "name": "text"}}
ITEMS = TableName("shop", "items")


def failed_over(world: World, gate: str = "none") -> Stream:
    """A published stream whose next changes are newer, at lower positions."""
    stream = Stream(world, 1, "debezium-mysql", gate, MYSQL).create()
    stream.send([debezium_row("c", n, 5000 + n, name="old") for n in (1, 2, 3)])
    stream.cut()
    stream.send([debezium_row("c", 2, 5002, name="old")])
    stream.cut()
    assert stream.rows() == {1: "old", 2: "old", 3: "old"}
    new = [debezium_row("u", 1, 40, name="new", at=6000), debezium_row("d", 2, 50, at=6001)]
    stream.send([debezium_row("c", 3, 5003, name="old"), *new])
    return stream


def test_newer_changes_at_lower_positions_are_refused(world: World) -> None:
    """POS-16: they look like repeats, and would be dropped as such."""
    stream = failed_over(world)
    for _ in range(2):
        with pytest.raises(EpochSuspectError, match="log has started over"):
            stream.cut()
    assert stream.rows() == {1: "old", 2: "old", 3: "old"}


@pytest.mark.smoke
def test_a_continuous_log_is_binlog_reset(world: World) -> None:
    """POS-17: from its first offset on; what the old log sent again before stays a repeat."""
    stream = failed_over(world)
    with pytest.raises(EpochSuspectError):
        stream.cut()
    (start,) = hand_over(stream.pipeline, world, is_continuous=True).values()
    assert start == 5, "the repeat in front of it is as old as what is published"
    assert stream.cut().tables[0].deleted == 1
    assert stream.rows() == {1: "new", 3: "old"}
    stream.send([debezium_row("u", 3, 60, name="newer", at=6002)])
    stream.cut()
    assert stream.rows() == {1: "new", 3: "newer"}
    assert pipeline_status(stream.pipeline, world).snapshots == {}


def test_behind_a_gap_a_snapshot_says_what_is_left(world: World) -> None:
    """POS-17, SNAP-6."""
    stream = failed_over(world)
    with pytest.raises(EpochSuspectError):
        stream.cut()
    hand_over(stream.pipeline, world, is_continuous=False)
    assert "is awaited" in pipeline_status(stream.pipeline, world).snapshots[ITEMS]
    read = [debezium_row("r", 1, 70, name="read", mark="true")]
    stream.send([*read, debezium_row("r", 4, 70, name="read", mark="last")])
    stream.cut()
    stream.cut()
    assert stream.rows() == {1: "read", 4: "read"}


def test_only_a_binlog_is_binlog_reset(world: World) -> None:
    stream = Stream(world).create()
    with pytest.raises(ActionRefusedError, match="only a binlog"):
        hand_over(stream.pipeline, world, is_continuous=True)


def test_a_renamed_table_keeps_what_was_quarantined_of_it_in_the_new_log(world: World) -> None:
    """POS-17, SCHEMA-31, UNAV-3: a later update leaves out what stands in that change alone.

    The rows of the new log are above the statement, and the position at which each was landed is
    below it: the name that they have was another table's there.
    """
    stream = Stream(world, 3, "debezium-mysql", "none", has_statements=True).create()
    columns = {"id": "bigint", "name": "varchar(20)", "n": "int"}
    table = AlteredTable(
        tellers.debezium(has_schema=False), tellers.debezium_ddl, columns=columns, place=90
    )

    def cut() -> dict[str, int]:
        for one in table.sent:
            stream.send([one.record], stream.statements if one.is_ddl else "")
        table.sent.clear()
        return counted(stream.cut())

    table.alter("COMMENT 'x'")
    for number in (1, 2):
        table.put(number, name=f"n{number}", n=number)
    cut()
    hand_over(stream.pipeline, world, is_continuous=True)
    table.place = 10
    table.put(2, name="new log")
    table.rename("articles")
    stream.table = {"source": "shop.articles", "was": "shop.items", "target": "items"}
    table.put(1, name="in quarantine")
    table.sent[-1] = tellers.with_values(table.sent[-1], n=TOO_MUCH)
    assert cut()["quarantined"] == 1
    table.put(1, n=3)
    table.sent[-1] = tellers.with_values(table.sent[-1], name=UNAVAILABLE)
    assert cut() == {"applied": 1}
    read = {row["id"]: (row["name"], row["n"]) for row in stream.published()}
    assert read == {number: (row["name"], row["n"]) for number, row in table.expected.items()}


def with_gtid(record: Record, gtid: str) -> Record:
    """A row of a server that numbers its transactions."""
    value = json.loads(record.value or b"")
    value["source"]["gtid"] = gtid
    return replace(record, value=json.dumps(value).encode())


def moved(world: World, gtids: Sequence[str], *, at: int = 40) -> Stream:
    """A stream of which rows of the old log wait, and behind them two of the new one, from ``at``.

    gtids: of the published row, the one that waits and the two of the new log.
    """
    stream = Stream(world, 1, "debezium-mysql", "none", MYSQL).create()
    published, waiting, *new = (
        *(debezium_row("c", 1, 5000, name="published"), debezium_row("u", 1, 5900, name="waited")),
        *(debezium_row("u", 1, at, name="new", at=9000), debezium_row("c", 2, at + 10, at=9001)),
    )
    stream.send([with_gtid(published, gtids[0])])
    stream.cut()
    stream.send(map(with_gtid, [waiting, waiting, *new], [gtids[1], *gtids[1:]]))
    return stream


@pytest.mark.smoke
@pytest.mark.parametrize("at", [40, 5500], ids=["below what is published", "below what waits"])
def test_a_failover_is_followed_by_its_gtids(world: World, at: int) -> None:
    """POS-16: the new log goes on where the old one ended, whatever the server that wrote it."""
    stream = moved(world, ("0-1-7", "0-1-8", "0-2-9", "0-2-10"), at=at)
    assert preview_cut(stream.pipeline, world).tables[0].rows == 4
    stream.cut()
    assert stream.rows() == {1: "new", 2: "x"}
    stream.send([with_gtid(debezium_row("d", 1, at + 20, at=9002), "0-2-11")])
    stream.cut()
    assert stream.rows() == {2: "x"}


@pytest.mark.parametrize(
    ("gtids", "warning"),
    [
        (("0-1-7", "0-1-8", "0-2-11", "0-2-12"), "GTIDs 9 to 10 of 0 came by neither log"),
        (("0-1-7", "0-1-8", "0-2-7", "0-2-9"), "both logs have GTID 7 of 0"),
        (("0-1-7", "0-1-8", "", ""), "a change has no GTID"),
    ],
)
def test_a_failover_that_gtids_do_not_prove_is_asked_about(
    world: World, gtids: Sequence[str], warning: str
) -> None:
    """POS-16, POS-17: rows of the old log that wait stay below those of the new one."""
    stream = moved(world, gtids, at=5500)
    with pytest.raises(EpochSuspectError, match=warning):
        stream.cut()
    assert stream.rows() == {1: "published"}
    (start,) = hand_over(stream.pipeline, world, is_continuous=True).values()
    assert start == 3
    stream.cut()
    assert stream.rows() == {1: "new", 2: "x"}


NO_KEY = {"columns": {"id": "int", "name": "text"}}


def broken_off(world: World, table: Mapping[str, Any], name: str) -> Stream:
    """A stream whose old log broke off in transaction 0-1-8, which the new log has, too.

    name: of the row that the new log sends of it; the old log sent one with ``old``. Records have a
    key where ``table`` has one or a mode.
    """
    stream = Stream(world, 1, "debezium-mysql", "none", table).create()
    with_key = "key" in table or "mode" in table

    def row(op: str, number: int, pos: int, gtid: str, **more: Any) -> Record:
        return with_gtid(debezium_row(op, number, pos, with_key=with_key, **more), gtid)

    stream.send([row("c", 1, 5000, "0-1-7"), row("c", 2, 5900, "0-1-8", name="old")])
    stream.cut()
    again = row("c", 2, 40, "0-1-8", name=name, at=5900)
    stream.send([again, row("c", 3, 90, "0-2-9", at=9001)])
    return stream


@pytest.mark.parametrize(
    "table",
    [NO_KEY, {**MYSQL, "mode": "history"}, {**MYSQL, "mode": "append"}],
    ids=["no key", "history", "append"],
)
def test_a_transaction_of_both_logs_never_counts_twice(
    world: World, table: Mapping[str, Any]
) -> None:
    """POS-14, POS-16: it has other coordinates there, and nothing else tells that it came again."""
    stream = broken_off(world, table, "old")
    with pytest.raises(EpochSuspectError, match="changes of 0-1-8 in shop.items"):
        stream.cut()
    assert len(stream.published()) == 2


@pytest.mark.parametrize(
    ("table", "name", "names"),
    [
        pytest.param(MYSQL, "old", ["old", "x", "x"], id="a mirror by key may take it twice"),
        pytest.param(NO_KEY, "new", ["new", "old", "x", "x"], id="the new log has the rest of it"),
    ],
)
def test_a_transaction_that_broke_off_goes_on_in_the_new_log(
    world: World, table: Mapping[str, Any], name: str, names: Sequence[str]
) -> None:
    """POS-16."""
    stream = broken_off(world, table, name)
    stream.cut()
    assert sorted(row["name"] for row in stream.published()) == names
