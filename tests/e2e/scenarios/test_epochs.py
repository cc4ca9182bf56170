"""A source whose log starts over: seen, refused, and handed over by a person (POS-15 to POS-17)."""

from __future__ import annotations

import pytest

from tests.support import tellers
from tests.support.altered import AlteredTable
from tests.support.quarantined import TOO_MUCH, UNAVAILABLE
from tests.support.records import debezium_row
from tests.support.stack import Stream, counted
from tidemark.errors import ActionRefusedError, EpochSuspectError
from tidemark.model.names import TableName
from tidemark.runs.orders import hand_over
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
    assert stream.rows() == {1: "read", 3: "old", 4: "read"}, "a third of the rows is too many"


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
