"""Columns that get a type to which Iceberg promotes none: their rows are written anew.

The published rows are compared with a table in plain Python, as pyiceberg reads them.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tests.e2e.scenarios.test_drift import with_schema
from tests.support.altered import AlteredTable
from tests.support.altered_stream import field_ids, opened, rows_of, send
from tests.support.records import Record, postgres_row
from tests.support.smoke import first_in_smoke
from tests.support.stack import Stream
from tidemark.errors import SupersededError, TableStoppedError
from tidemark.model.result import CutStatus
from tidemark.runs.cut import stage_cut
from tidemark.runs.preview import preview_cut
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World

FAMILIES = ("canal", "ticdc", "debezium", "debezium with schemas")


def begin(table: AlteredTable) -> None:
    """Rows with a number beside their name."""
    table.alter("ADD COLUMN a int", added={"a": ("int", None)})
    for number in range(1, 6):
        table.put(number, name=f"n{number}", a=None if number == 5 else -number)


def modify(table: AlteredTable) -> None:
    """The number becomes a text."""
    table.columns["a"] = "varchar(20)"
    for row in table.rows.values():
        row["a"] = None if row["a"] is None else str(row["a"])
    table.alter("MODIFY a varchar(20)")


def sent_since(stream: Stream, table: AlteredTable, start: int) -> int:
    """Send what the table told from ``start`` on; how much it has told."""
    send(stream, table.sent[start:], table)
    return len(table.sent)


@pytest.mark.parametrize("family", first_in_smoke(*FAMILIES))
def test_rows_on_both_sides_of_the_statement(world: World, family: str) -> None:
    """SCHEMA-13: of an earlier cut, and of the same one; what came before reads as it did."""
    stream, table = opened(world, family)
    begin(table)
    at = sent_since(stream, table, 0)
    stream.cut()
    table.put(2, a=22)
    table.delete(4)
    at = sent_since(stream, table, at)
    stream.cut()  # Rows that delete files take away are not written anew.
    ids, before = field_ids(stream), rows_of(stream)
    snapshot = world.catalog.load_table((stream.name, "items")).metadata.current_snapshot_id
    table.put(1, a=11)
    table.put(6, name="n6", a=6)
    modify(table)
    table.put(2, a="two")
    table.delete(3)
    at = sent_since(stream, table, at)
    result = stream.cut()
    assert result.buckets["quarantined"] == 0
    assert rows_of(stream) == table.expected
    assert rows_of(stream, snapshot) == before
    assert {name for name, own in field_ids(stream).items() if ids[name] != own} == {"a"}
    table.put(4, a="four")
    sent_since(stream, table, at)
    stream.cut()
    assert rows_of(stream) == table.expected
    if family != "canal":  # Without positions what comes again is news.
        send(stream, table.sent, table)
        stream.cut()
        assert rows_of(stream) == table.expected


@pytest.mark.parametrize("family", ["canal", "debezium"])
def test_a_bit_gets_more_bytes(world: World, family: str) -> None:
    """TYPE-23, SCHEMA-13: its number stays, in as many bytes as the type has."""

    def told(number: int, size: int) -> Any:
        least_first = number.to_bytes(size, "little")
        return number if family == "canal" else base64.b64encode(least_first).decode()

    stream, table = opened(world, family)
    table.alter("ADD COLUMN b bit(8)", added={"b": ("bit(8)", None)})
    table.put(1, b=told(5, 1))
    table.put(2, b=told(255, 1))
    table.put(3, b=None)
    at = sent_since(stream, table, 0)
    stream.cut()
    assert bits_of(stream) == {1: b"\x05", 2: b"\xff", 3: None}
    table.put(4, b=told(7, 1))
    table.columns["b"] = "bit(20)"
    table.alter("MODIFY b bit(20)")
    table.put(5, b=told(2**20 - 1, 3))
    table.put(1, b=told(256, 3))
    sent_since(stream, table, at)
    stream.cut()
    assert bits_of(stream) == {
        1: b"\x00\x01\x00",
        2: b"\x00\x00\xff",
        3: None,
        4: b"\x00\x00\x07",
        5: b"\x0f\xff\xff",
    }


def bits_of(stream: Stream) -> dict[int, bytes | None]:
    return {number: row["b"] for number, row in rows_of(stream).items()}


def test_an_attempt_that_dies_shows_nothing_of_it(world: World) -> None:
    """SCHEMA-10, PUB-8: also where no row is in the cut but those that are written anew."""
    stream, table = opened(world, "ticdc")
    begin(table)
    at = sent_since(stream, table, 0)
    stream.cut()
    before, ids = rows_of(stream), field_ids(stream)
    modify(table)
    sent_since(stream, table, at)
    dead = CutRequest(stream.attempt())
    assert stage_cut(stream.pipeline, world, dead).status is CutStatus.STAGED
    assert (rows_of(stream), field_ids(stream)) == (before, ids)
    stream.cut()
    assert rows_of(stream) == table.expected
    with pytest.raises(SupersededError):
        publish_cut(stream.pipeline, world, dead.attempt)
    assert rows_of(stream) == table.expected


def test_more_rows_than_a_run_may_write_anew_stop_the_table(world: World) -> None:
    """SCHEMA-13: the plan says how many, and the file lets them."""
    stream, table = opened(world, "ticdc")
    begin(table)
    at = sent_since(stream, table, 0)
    stream.cut()
    before = rows_of(stream)
    modify(table)
    sent_since(stream, table, at)
    assert [row.rewritten for row in preview_cut(stream.pipeline, world).tables] == [5]
    stream.options = {"limits": {"max-rewrite-rows": 4}}
    with pytest.raises(TableStoppedError, match="5 rows of its target .*max-rewrite-rows is 4"):
        stream.cut()
    assert rows_of(stream) == before
    stream.options = {"limits": {"max-rewrite-rows": 5}}
    stream.cut()
    assert rows_of(stream) == table.expected


def test_a_column_by_which_files_are_sorted_stops_the_table(world: World) -> None:
    """SCHEMA-13, SCHEMA-16: Iceberg keeps the field id in its sort orders for good."""
    stream, table = opened(world, "ticdc")
    stream.table = {"sort-by": ["a"]}
    begin(table)
    at = sent_since(stream, table, 0)
    stream.cut()
    before = rows_of(stream)
    modify(table)
    sent_since(stream, table, at)
    with pytest.raises(TableStoppedError, match="column a cannot be rewritten: files were laid"):
        stream.cut()
    assert rows_of(stream) == before


def priced(op: str, number: int, lsn: int, scale: int, price: str | None) -> Record:
    """A row with a ``numeric(9,scale)`` of PostgreSQL; None: a value that was not sent."""
    numeric = {
        "type": "bytes",
        "optional": True,
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": str(scale), "connect.decimal.precision": str(6 + scale)},
    }
    text = {"type": "string", "optional": True}
    unscaled = int(Decimal(price or 0).scaleb(scale))
    raw = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    values: dict[str, Any] = {"price": base64.b64encode(raw).decode(), "note": f"note {number}"}
    if op == "u":
        values["note"] = "__debezium_unavailable_value"
    plain = postgres_row(op, number, (lsn, lsn + 1), **values)
    return with_schema(plain, numeric | {"field": "price"}, text | {"field": "note"})


def test_records_alone_tell_more_fraction_digits(world: World) -> None:
    """SCHEMA-13, UNAV-1: values that updates leave out are found in rows that are written anew."""
    stream = Stream(world, format="debezium-postgres", gate="none").create()
    older = [priced("c", 1, 100, 2, "-1.50"), priced("c", 2, 200, 2, "999999.99")]
    stream.send(older)
    stream.cut()
    newer = [priced("u", 1, 300, 4, "2.0001"), priced("c", 3, 400, 4, "0.1234")]
    stream.send([priced("c", 4, 250, 2, "0.07"), *newer])
    stream.cut()
    for again in ([], [*older, *newer]):
        if again:
            stream.send([replace(record) for record in again])
            stream.cut()
        loaded = world.catalog.load_table((stream.name, "items"))
        rows = {row["id"]: row for row in loaded.scan().to_arrow().to_pylist()}
        prices = {1: "2.0001", 2: "999999.9900", 3: "0.1234", 4: "0.0700"}
        assert {number: str(row["price"]) for number, row in rows.items()} == prices
        assert {number: row["note"] for number, row in rows.items()} == {
            number: f"note {number}" for number in prices
        }
