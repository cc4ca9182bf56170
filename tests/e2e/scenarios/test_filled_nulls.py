"""Statements after which a column takes no null: rows with it got a value unseen (SCHEMA-13)."""

from __future__ import annotations

import pytest

from tests.support.altered import AlteredTable
from tests.support.altered_stream import begin, opened, rows_of, send
from tests.support.stack import Stream
from tidemark.errors import TableStoppedError
from tidemark.model.result import CutStatus
from tidemark.runs.world import World

ADDED = {"a": ("timestamp", None)}
MODIFY = "MODIFY a TIMESTAMP NOT NULL"


def published(world: World, family: str) -> tuple[Stream, AlteredTable]:
    """A table of which a column is null in all rows."""
    stream, table = opened(world, family)
    begin(table)
    table.alter("ADD COLUMN a timestamp NULL", added=ADDED)
    send(stream, table.sent, table)
    assert stream.cut().status is CutStatus.PUBLISHED
    return stream, table


def moment(table: AlteredTable, second: int) -> str:
    """A time as records of the source have it."""
    is_debezium = "debezium" in table.tell.__qualname__
    return f"2026-03-01T00:00:0{second}Z" if is_debezium else f"2026-03-01 00:00:0{second}"


def cut_more(stream: Stream, table: AlteredTable, start: int) -> None:
    """Send what came since, and publish it."""
    send(stream, table.sent[start:], table)
    assert stream.cut().status is CutStatus.PUBLISHED


@pytest.mark.parametrize("family", ["debezium", "canal"])
def test_rows_with_null_stop_the_table_until_they_change(world: World, family: str) -> None:
    """SCHEMA-13: the source gave them the time of the statement, and sent no event."""
    stream, table = published(world, family)
    start = len(table.sent)
    for number in (1, 2, 3):
        table.put(number, a=moment(table, number))
    table.alter(MODIFY)
    table.put(4, a=moment(table, 4))
    send(stream, table.sent[start:], table)
    with pytest.raises(TableStoppedError, match="1 rows have null in a, and the statement at"):
        stream.cut()
    start = len(table.sent)
    table.put(5, a=moment(table, 5))
    cut_more(stream, table, start)
    assert {n: row["a"].second for n, row in rows_of(stream).items()} == {n: n for n in range(1, 6)}


@pytest.mark.parametrize("family", ["debezium", "canal"])
def test_table_without_null_goes_on(world: World, family: str) -> None:
    """The ordinary migration, within a cut: fill all rows, then forbid null."""
    stream, table = published(world, family)
    start = len(table.sent)
    for number in range(1, 6):
        table.put(number, a=moment(table, number))
    table.alter(MODIFY)
    cut_more(stream, table, start)
    assert {n: row["a"].second for n, row in rows_of(stream).items()} == {n: n for n in range(1, 6)}


def test_row_with_null_that_is_read_late_stops_the_table(world: World) -> None:
    """Without a gate a partition may have a row from before the statement that nobody has read."""
    stream, table = published(world, "debezium")
    start = len(table.sent)
    table.delete(3)
    cut_more(stream, table, start)
    start = len(table.sent)
    table.put(9, name="of a partition that is read late", a=None)
    for number in (1, 2, 4, 5):
        table.put(number, a=moment(table, number))
    table.alter(MODIFY)
    late, *others = table.sent[start:]
    send(stream, others, table)
    assert stream.cut().status is CutStatus.PUBLISHED
    send(stream, [late], table)
    with pytest.raises(TableStoppedError, match="1 rows have null in a"):
        stream.cut()


@pytest.mark.parametrize("family", ["debezium", "canal"])
def test_rows_that_the_source_numbers_stop_the_table(world: World, family: str) -> None:
    """SCHEMA-13: AUTO_INCREMENT gives the next number also to rows with 0, and sends no event."""
    stream, table = opened(world, family)
    begin(table)
    table.alter("ADD COLUMN n bigint NOT NULL DEFAULT 0", added={"n": ("bigint", 0)})
    for number in (2, 3, 4, 5):
        table.put(number, n=number)
    table.alter("MODIFY n BIGINT AUTO_INCREMENT UNIQUE")
    send(stream, table.sent, table)
    with pytest.raises(TableStoppedError, match="1 rows have null or 0 in n, and the statement at"):
        stream.cut()
    start = len(table.sent)
    table.put(1, n=6)
    cut_more(stream, table, start)
    assert {n: row["n"] for n, row in rows_of(stream).items()} == {1: 6, 2: 2, 3: 3, 4: 4, 5: 5}
