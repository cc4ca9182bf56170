"""Columns to which a statement gave values that nothing shows: their tables go on (SCHEMA-38)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.altered import AlteredTable
from tests.support.altered_stream import begin, field_ids, opened, rows_of, send
from tests.support.smoke import first_in_smoke
from tests.support.stack import Stream
from tidemark.errors import TableStoppedError
from tidemark.model.columns import WITHHELD
from tidemark.model.result import CutStatus
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World

PLACEHOLDER = "__debezium_unavailable_value"
HIDDEN = f"{WITHHELD}a"


def without(table: AlteredTable, name: str) -> dict[int, dict[str, Any]]:
    """The rows at the source, but for one column."""
    return {n: {c: v for c, v in row.items() if c != name} for n, row in table.rows.items()}


def hidden(stream: Stream) -> dict[int, Any]:
    """What the target has of the withheld column."""
    rows = stream.world.catalog.load_table((stream.name, "items")).scan().to_arrow().to_pylist()
    return {row["id"]: row[HIDDEN] for row in rows}


def settle(stream: Stream) -> None:
    """Cut until nothing is left to do."""
    while stream.cut().status is CutStatus.PUBLISHED:
        pass


@pytest.mark.parametrize("family", first_in_smoke("debezium with schemas", "debezium", "ticdc"))
def test_a_column_is_withheld_until_no_older_row_is_left(world: World, family: str) -> None:
    """Its rows are published meanwhile."""
    stream, table = opened(world, family)
    begin(table)
    send(stream, table.sent, table)
    stream.cut()
    start = len(table.sent)
    table.put(6, name="below the statement")
    table.alter("ADD COLUMN a int AS (id * 2) STORED", added={"a": ("int", None)})
    for number in (1, 2, 6):
        table.put(number, a=2 * number)
    table.delete(3)
    send(stream, table.sent[start:], table)
    settle(stream)
    assert rows_of(stream) == without(table, "a")
    assert hidden(stream) == {1: 2, 2: 4, 4: None, 5: None, 6: 12}
    (said,) = pipeline_status(stream.pipeline, world).withheld.values()
    assert said.startswith("a, until no row is left that is older")
    known = field_ids(stream)[HIDDEN]

    for number in (4, 5):
        table.put(number, a=2 * number)
    send(stream, table.sent[-2:], table)
    settle(stream)
    assert rows_of(stream) == table.expected
    assert field_ids(stream)["a"] == known
    assert not pipeline_status(stream.pipeline, world).withheld
    send(stream, table.sent, table)
    settle(stream)
    assert rows_of(stream) == table.expected, "what comes again changes nothing"


def test_a_row_that_is_read_late_makes_a_column_withheld_again(world: World) -> None:
    """Without a gate a partition may have a row from before the statement that nobody has read."""
    stream, table = opened(world, "debezium")
    begin(table)
    table.delete(3)
    send(stream, table.sent, table)
    stream.cut()
    start = len(table.sent)
    table.put(9, name="of a partition that is read late")
    table.alter("ADD COLUMN a int AS (id * 2)", added={"a": ("int", None)})
    for number in (1, 2, 4, 5):
        table.put(number, a=2 * number)
    late, *others = table.sent[start:]
    send(stream, others, table)
    settle(stream)
    assert "a" in field_ids(stream)
    send(stream, [late], table)
    settle(stream)
    assert rows_of(stream) == without(table, "a")
    assert hidden(stream) == {1: 2, 2: 4, 4: 8, 5: 10, 9: None}
    table.put(9, a=18)
    send(stream, table.sent[-1:], table)
    settle(stream)
    assert rows_of(stream) == table.expected


def test_a_withheld_column_is_renamed_and_dropped(world: World) -> None:
    """SCHEMA-30: as any other one, and another one of its name is not withheld."""
    stream, table = opened(world, "debezium")
    stream.table = {"column-changes": "evolve"}
    begin(table)
    table.alter("ADD COLUMN a datetime DEFAULT now()", added={"a": ("bigint", None)})
    table.put(1, a=7)
    send(stream, table.sent, table)
    settle(stream)
    start = len(table.sent)
    table.alter("RENAME COLUMN a TO b", renamed={"a": "b"})
    table.put(2, b=8)
    send(stream, table.sent[start:], table)
    settle(stream)
    assert rows_of(stream) == without(table, "b")
    assert f"{WITHHELD}b" in field_ids(stream)
    start = len(table.sent)
    table.alter("DROP COLUMN b", dropped=["b"])
    table.alter("ADD COLUMN b int NOT NULL DEFAULT 5", added={"b": ("int", 5)})
    table.put(3, b=9)
    send(stream, table.sent[start:], table)
    settle(stream)
    assert rows_of(stream) == table.expected
    assert f"{WITHHELD}b" not in field_ids(stream)


def test_a_source_without_positions_stops_the_table(world: World) -> None:
    """Canal's positions rise when records come again."""
    stream, table = opened(world, "canal")
    begin(table)
    table.alter("ADD COLUMN a int AS (id * 2)", added={"a": ("int", None)})
    send(stream, table.sent, table)
    with pytest.raises(TableStoppedError, match="get a value in a, which no event tells"):
        stream.cut()


def test_what_a_row_had_before_is_as_unknown(world: World) -> None:
    """UNAV-7: an update that leaves the value out is of a row whose value nothing shows."""
    stream, table = opened(world, "debezium")
    begin(table)
    table.alter("ADD a varchar(36) DEFAULT (uuid())", added={"a": ("varchar(36)", None)})
    table.put(2, a="shown")
    send(stream, table.sent, table)
    settle(stream)
    start = len(table.sent)
    table.put(1, name=PLACEHOLDER, a="shown")
    table.put(2, a=PLACEHOLDER)
    table.rows[1]["name"], table.rows[2]["a"] = "n1", "shown"
    send(stream, table.sent[start:], table)
    settle(stream)
    assert rows_of(stream) == without(table, "a"), "other values of an older row are known"
    assert hidden(stream) == {1: "shown", 2: "shown", 3: None, 4: None, 5: None}
    table.put(3, a=PLACEHOLDER)
    send(stream, table.sent[-1:], table)
    with pytest.raises(TableStoppedError, match="UNAVAILABLE_UNRESOLVED"):
        stream.cut()
