"""Columns of the key that get a type to which Iceberg promotes none: rows keep their identity."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pytest

from tests.e2e.scenarios.test_drift import with_schema
from tests.support import tellers
from tests.support.altered import AlteredTable, Row, Sent
from tests.support.altered_stream import field_ids, rows_of, send
from tests.support.records import Record, postgres_row
from tests.support.smoke import first_in_smoke
from tests.support.stack import Stream
from tidemark.errors import ActionRefusedError, TableStoppedError
from tidemark.model.names import TableName
from tidemark.runs.changes import changes_between
from tidemark.runs.preview import preview_cut
from tidemark.runs.world import World

FAMILIES = ("ticdc", "debezium", "canal")
TEXT, DECIMAL = "varchar(20)", "decimal(20)"
ITEMS = TableName("shop", "items")


@dataclass
class KeyedTable(AlteredTable):
    """A table whose records write the key as ``written`` does, in partitions of their own."""

    written: Callable[[int], Any] = int

    def partition_of(self, row: Row) -> int:
        """Records of one row may come by another partition, once their key is written otherwise."""
        return 1 if isinstance(row["id"], int) else 2

    def put(self, number: int, **values: Any) -> None:
        """INSERT, or UPDATE of what is there."""
        before = self.rows.get(number)
        named = {"id": self.written(number)}
        row = dict.fromkeys(self.columns) | (before or {}) | named | values
        self._tell("INSERT" if before is None else "UPDATE", row, before)
        self.rows[number] = row

    def move(self, number: int, to: int) -> None:
        """UPDATE of the key itself."""
        before = self.rows.pop(number)
        self.rows[to] = before | {"id": self.written(to)}
        self._tell("UPDATE", self.rows[to], before)

    def modify(self, kind: str, written: Callable[[int], Any]) -> None:
        """The key gets another type."""
        self.columns["id"], self.written = kind, written
        self.rows = {n: row | {"id": written(n)} for n, row in self.rows.items()}
        self.alter(f"MODIFY id {kind} NOT NULL")


def opened(world: World, family: str) -> tuple[Stream, KeyedTable]:
    if family == "canal":
        stream = Stream(world, format="canal-json", gate="none").create()
        return stream, KeyedTable(tellers.canal, tellers.canal_ddl)
    if family == "ticdc":
        return Stream(world, 3).create(), KeyedTable(tellers.ticdc, tellers.ticdc_ddl)
    stream = Stream(world, 3, "debezium-mysql", "none", has_statements=True)
    tell = tellers.debezium(has_schema=False)
    return stream.create(), KeyedTable(tell, tellers.debezium_ddl)


def begin(stream: Stream, table: KeyedTable) -> int:
    """Five rows, that are published; how much the table has told."""
    table.alter("COMMENT 'x'")
    for number in range(1, 6):
        table.put(number, name=f"n{number}")
    send(stream, table.sent, table)
    stream.cut()
    return len(table.sent)


def base64_of(number: int) -> str:
    """As Debezium writes a decimal."""
    return base64.b64encode(number.to_bytes(number.bit_length() // 8 + 1, "big")).decode()


def names(stream: Stream) -> dict[Any, Any]:
    return {number: row["name"] for number, row in rows_of(stream).items()}


def expected(table: KeyedTable, shown: Callable[[int], Any]) -> dict[Any, Any]:
    return {shown(number): row["name"] for number, row in table.rows.items()}


@pytest.mark.parametrize("kind", [TEXT, DECIMAL])
@pytest.mark.parametrize("family", first_in_smoke(*FAMILIES))
def test_a_row_is_the_same_on_both_sides_of_the_statement(
    world: World, family: str, kind: str
) -> None:
    """SCHEMA-13, KEY-2: of an earlier cut, and of the same one; older snapshots read as before."""
    stream, table = opened(world, family)
    at = begin(stream, table)
    table.put(2, name="two")
    table.delete(4)
    send(stream, table.sent[at:], table)
    at = len(table.sent)
    stream.cut()
    ids, before = field_ids(stream), rows_of(stream)
    snapshot = world.catalog.load_table((stream.name, "items")).metadata.current_snapshot_id
    table.put(1, name="below")
    table.put(6, name="six")
    table.put(8, name="eight")
    table.delete(5)
    as_number = base64_of if family == "debezium" else str
    table.modify(kind, str if kind == TEXT else as_number)
    shown = str if kind == TEXT else Decimal
    table.put(2, name="above")
    table.put(6, name="six again")
    table.delete(3)
    table.delete(8)
    table.put(10, name="ten")
    if family != "debezium":  # Its connector tells a row that goes and one that comes.
        table.move(1, 100)
    send(stream, table.sent[at:], table)
    at = len(table.sent)
    (previewed,) = preview_cut(stream.pipeline, world).tables
    assert previewed.rewritten == 6  # Files hold 2 and 4 as they were before, too.
    assert stream.cut().buckets["quarantined"] == 0
    assert names(stream) == expected(table, shown)
    assert rows_of(stream, snapshot) == before
    assert {name for name, own in field_ids(stream).items() if ids[name] != own} == {"id"}
    loaded = world.catalog.load_table((stream.name, "items"))
    assert loaded.schema().identifier_field_names() == set()
    with (
        pytest.raises(ActionRefusedError, match="a column of the key of shop.items joined"),
        changes_between(stream.pipeline, world, ITEMS, 2, 3),
    ):
        pass
    table.put(2, name="later")
    table.delete(10)
    table.put(4, name="four again")
    send(stream, table.sent[at:], table)
    stream.cut()
    assert names(stream) == expected(table, shown)
    with changes_between(stream.pipeline, world, ITEMS, 3, 4) as rows:
        assert rows.select("id").distinct().count() == 3
    if family != "canal":  # Without positions what comes again is news.
        send(stream, [Sent(replace(one.record), one.is_ddl) for one in table.sent], table)
        stream.cut()
        assert names(stream) == expected(table, shown)


def of_postgres(op: str, number: int, lsn: int, kind: str, name: str = "x") -> Record:
    """A row whose key is an ``integer``, or a ``text`` by now, which its schema alone tells."""
    told: Any = number if kind == "int32" else str(number)
    plain = postgres_row(op, told, (lsn, lsn + 1), name=name)
    value = json.loads(with_schema(plain).value or b"")
    for image in value["schema"]["fields"]:
        image["fields"][0]["type"] = kind
    key = {"schema": {"type": "struct", "fields": [value["schema"]["fields"][0]["fields"][0]]}}
    key["payload"] = {"id": told}
    return Record(json.dumps(value).encode(), json.dumps(key).encode())


def test_records_alone_tell_another_type_of_the_key(world: World) -> None:
    """SCHEMA-13: by USING the source may have made other keys, as 1 became 001."""
    stream = Stream(world, format="debezium-postgres", gate="none").create()
    older = [of_postgres("c", number, 100 * number, "int32") for number in (1, 2, 3)]
    stream.send(older)
    stream.cut()
    before = rows_of(stream)
    stream.send([of_postgres("c", 4, 400, "int32"), of_postgres("u", 1, 500, "string", "one")])
    with pytest.raises(TableStoppedError, match="column id of its key changed from"):
        stream.cut()
    assert rows_of(stream) == before


@pytest.mark.parametrize("mode", ["soft-delete", "history", "append"])
def test_a_target_that_keeps_more_than_a_mirror_stops(world: World, mode: str) -> None:
    """SCHEMA-13, SCHEMA-16: with the way on."""
    stream, table = opened(world, "ticdc")
    stream.table = {"mode": mode}
    at = begin(stream, table)
    table.modify(TEXT, str)
    send(stream, table.sent[at:], table)
    with pytest.raises(TableStoppedError, match=f"mode {mode} keeps what became of rows by it"):
        stream.cut()
