"""Records that say two things about one name are quarantined, and what says it twice is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.support.records import (
    Record,
    boundary,
    canal_rows,
    canal_statement,
    debezium_row,
    ticdc_row,
    ticdc_watermark,
)
from tests.support.stack import Stream, counted
from tidemark.errors import TableStoppedError
from tidemark.runs.world import World

KEY = {"key": ["id"], "columns": {"id": "bigint", "name": "text"}}
TWICE = {"JSON_DUPLICATE_KEY": 1}


def saying(record: Record, said: str, also: str) -> Record:
    """``record`` with the field ``also`` behind the field ``said``."""
    value = record.value or b""
    assert value.count(said.encode()) == 1
    return replace(record, value=value.replace(said.encode(), f"{said}, {also}".encode()))


def opened(
    world: World, *records: Record, table: Mapping[str, Any] = KEY, gate: str = "none"
) -> Stream:
    stream = Stream(world, 1, "debezium-mysql", gate, table).create()
    stream.send(records)
    return stream


@pytest.mark.smoke
def test_a_row_with_two_values_is_quarantined_and_its_key_stays_as_it_was(world: World) -> None:
    """MSG-4, POISON-1, POISON-4: whatever the record does; equal values are one."""
    stream = opened(world, *(debezium_row("c", n, n) for n in (1, 2, 3, 4, 5)))
    stream.cut()
    stream.send(
        [
            saying(debezium_row("u", 1, 10, name="y"), '"name": "y"', '"name": "z"'),
            saying(debezium_row("d", 2, 11), '"op": "d"', '"op": "d", "op": "u", "op": "d"'),
            debezium_row("u", 3, 12, name="older"),
            saying(debezium_row("u", 3, 13, name="y"), '"pos": 13', '"pos": 14'),
            saying(debezium_row("u", 4, 15, name="y"), '"name": "y"', '"name":"y"'),
            replace(debezium_row("u", 5, 16, name="y"), key=b'{"id":1,"id":5}'),
            debezium_row("c", 6, 17),
        ]
    )
    result = stream.cut()
    assert result.quarantined == {"JSON_DUPLICATE_KEY": 4}
    assert counted(result) == {"applied": 3, "quarantined": 4}
    assert stream.rows() == {1: "x", 2: "x", 3: "older", 4: "y", 5: "x", 6: "x"}
    stream.send([debezium_row("u", 1, 20, name="good"), debezium_row("d", 2, 21)])
    stream.cut()
    assert stream.rows() == {1: "good", 3: "older", 4: "y", 5: "x", 6: "x"}


def test_rows_of_one_record_are_quarantined_together(world: World) -> None:
    """MSG-4, MSG-41: nobody knows what the record is."""
    stream = Stream(world, format="canal-json", gate="none").create()
    rows = [{"id": str(number), "name": "x"} for number in (1, 2, 3)]
    stream.send([canal_rows("INSERT", *rows)])
    stream.cut()
    update = canal_rows("UPDATE", *({**row, "name": "y"} for row in rows[:2]), old=[{}, {}])
    stream.send([saying(update, '"type": "UPDATE"', '"type": "DELETE"')])
    stream.send([canal_rows("UPDATE", rows[2] | {"name": "z"}, old=[{}])])
    result = stream.cut()
    assert (result.quarantined, result.unknown) == ({"JSON_DUPLICATE_KEY": 2}, {})
    assert stream.rows() == {1: "x", 2: "x", 3: "z"}


def test_a_statement_or_a_boundary_with_two_meanings_is_not_followed(world: World) -> None:
    """MSG-4, POISON-3: a table may lack a truncate then, and a transaction its end."""
    canal = Stream(world, format="canal-json", gate="none").create()
    truncate = canal_statement("TRUNCATE", "TRUNCATE TABLE `shop`.`items`")
    canal.send([canal_rows("INSERT", {"id": "1", "name": "x"})])
    canal.send([saying(truncate, '"type": "TRUNCATE"', '"type": "ALTER"')])
    result = canal.cut()
    assert (result.quarantined, result.unknown) == (TWICE, {canal.topic: 1})
    assert canal.rows() == {1: "x"}

    debezium = opened(world, gate="transaction")
    first = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1"
    ends = [boundary("BEGIN", first), boundary("END", first, 1)]
    ends[1] = saying(ends[1], '"ts_ms": 1700000000000', '"id": "another"')
    debezium.send(ends, debezium.transactions)
    debezium.send([debezium_row("c", 1, 10, transaction=(first, 1))])
    result = debezium.cut()
    assert (result.quarantined, result.buckets["applied"]) == (TWICE, 0)

    ticdc = Stream(world, 1).create()
    watermark = saying(ticdc_watermark(30), '"watermarkTs": 30', '"watermarkTs": 50')
    ticdc.send([ticdc_row("INSERT", 1, 10), ticdc_watermark(20), watermark])
    ticdc.send([ticdc_row("INSERT", 2, 40)])
    ticdc.cut()
    assert ticdc.rows() == {1: "x"}


@pytest.mark.parametrize("table", [KEY | {"mode": "history"}, {"columns": KEY["columns"]}])
def test_a_table_that_sets_no_rows_aside_stops(world: World, table: Mapping[str, Any]) -> None:
    """MSG-4, POISON-1: a target that keeps more than a mirror, and a table without a key."""
    change = saying(debezium_row("c", 1, 10, name="y"), '"name": "y"', '"name": "z"')
    record = replace(change, key=change.key if "key" in str(table) else None)
    stream = opened(world, record, table=table)
    with pytest.raises(
        TableStoppedError, match="hold a value that does not fit its column, or two"
    ):
        stream.cut()
