"""Records as Debezium's MySQL connector writes them, as JSON without record schemas."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from tests.bench.columns import image, table_change

DATABASE = "shop"
SCHEMA_TOPIC = "schema-changes"
PARTITIONS = 4
OPS = "uuuucuuuuduuuucuuuuduuuuc"
"""80 % updates, 12 % inserts, 8 % deletes, in turn: no part of a topic differs from another."""
STRIDE = 0.618_033_988_75
"""Steps of the golden section visit every part of a range evenly."""

_BLOCK = (
    b'{"version":"3.6.3.Final","connector":"mysql","name":"bench","ts_ms":%(ms)d,'
    b'"snapshot":"false","db":"shop","sequence":null,"ts_us":%(ms)d000,"ts_ns":%(ms)d000000,'
    b'"table":"%(table)b","server_id":223344,"gtid":null,"file":"mysql-bin.000002",'
    b'"pos":%(pos)d,"row":0,"thread":31,"query":null}'
)
_VALUE = (
    b'{"before":%(before)b,"after":%(after)b,"source":' + _BLOCK + b',"transaction":null,'
    b'"op":"%(op)b","ts_ms":%(ms)d,"ts_us":%(ms)d417,"ts_ns":%(ms)d417113}'
)
_FIRST_MILLI = 1_795_250_000_000
_EVENT_BYTES = 1_300


@dataclass(frozen=True, slots=True)
class Message:
    """One record for the broker."""

    topic: str
    partition: int
    key: bytes
    value: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Row changes with distinct keys, uniform over a table with ids from 1 to ``rows``."""

    rows: int
    changes: int

    @property
    def stride(self) -> int:
        """Its multiples, modulo ``rows``, are all different: the two have no common divisor.

        >>> Batch(rows=10, changes=5).stride
        7
        """
        stride = max(1, round(self.rows * STRIDE))
        while gcd(stride, self.rows) != 1:
            stride += 1
        return stride

    def count(self, op: str) -> int:
        """How many changes are of ``op``.

        >>> [Batch(rows=1_000, changes=100).count(op) for op in "ucd"]
        [80, 12, 8]
        """
        rounds, rest = divmod(self.changes, len(OPS))
        return rounds * OPS.count(op) + OPS[:rest].count(op)


def row_changes(table: str, batch: Batch, *, first: int = 0) -> Iterator[Message]:
    """The changes in the order of the binlog; a change's number tells its kind and its key.

    first: number of the first one, when there were others before.
    """
    stride, rows = batch.stride, batch.rows
    for number in range(first, first + batch.changes):
        op = OPS[number % len(OPS)]
        row_id = rows + 1 + number if op == "c" else 1 + number * stride % rows
        yield _row_change(table, op, row_id, number)


def _row_change(table: str, op: str, row_id: int, number: int) -> Message:
    key = b'{"id":%d}' % row_id
    value = _VALUE % {
        b"before": b"null" if op == "c" else image(row_id, 0),
        b"after": b"null" if op == "d" else image(row_id, 1),
        b"op": op.encode(),
        b"table": table.encode(),
        b"pos": 4 + number * _EVENT_BYTES,
        b"ms": _FIRST_MILLI + number // 10,
    }
    return Message(table, zlib.crc32(key) % PARTITIONS, key, value)


def schema_change(table: str) -> Message:
    """The record that declares the table, as a connector's first snapshot writes it."""
    source = _BLOCK % {b"table": table.encode(), b"pos": 4, b"ms": _FIRST_MILLI}
    value = {
        "source": {**json.loads(source), "snapshot": "true", "file": "mysql-bin.000001"},
        "ts_ms": _FIRST_MILLI,
        "databaseName": DATABASE,
        "schemaName": None,
        "ddl": f"CREATE TABLE `{table}`",
        "tableChanges": [
            {"type": "CREATE", "id": f'"{DATABASE}"."{table}"', "table": table_change()}
        ],
    }
    key = json.dumps({"databaseName": DATABASE}).encode()
    return Message(SCHEMA_TOPIC, 0, key, json.dumps(value).encode())
