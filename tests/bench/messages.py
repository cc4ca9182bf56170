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
    """Row changes, uniform over a table with ids from 1 to ``rows``.

    keys: rows that are changed, by OPS in turn. times: how often each of them is changed; all but
    the last change of a row are updates, or the insert that its updates need.
    """

    rows: int
    keys: int
    times: int = 1

    @property
    def changes(self) -> int:
        """How many records they are."""
        return self.keys * self.times

    @property
    def stride(self) -> int:
        """Its multiples, modulo ``rows``, are all different: the two have no common divisor.

        >>> Batch(rows=10, keys=5).stride
        7
        """
        stride = max(1, round(self.rows * STRIDE))
        while gcd(stride, self.rows) != 1:
            stride += 1
        return stride

    def count(self, op: str) -> int:
        """How many rows are changed by ``op`` in the end.

        >>> [Batch(rows=1_000, keys=100).count(op) for op in "ucd"]
        [80, 12, 8]
        """
        rounds, rest = divmod(self.keys, len(OPS))
        return rounds * OPS.count(op) + OPS[:rest].count(op)


def row_changes(table: str, batch: Batch, *, first: int = 0) -> Iterator[Message]:
    """The changes in the order of the binlog; a change's number tells its kind and its key.

    first: number of the first one, when there were others before.
    """
    stride, rows = batch.stride, batch.rows
    for turn in range(batch.times):
        is_first, is_last = turn == 0, turn == batch.times - 1
        for number in range(first, first + batch.keys):
            op = OPS[number % len(OPS)]
            row_id = rows + 1 + number if op == "c" else 1 + number * stride % rows
            if (op == "c" and not is_first) or (op == "d" and not is_last):
                op = "u"
            yield _row_change(table, op, row_id, turn, number + turn * batch.keys)


def _row_change(table: str, op: str, row_id: int, version: int, number: int) -> Message:
    key = b'{"id":%d}' % row_id
    value = _VALUE % {
        b"before": b"null" if op == "c" else image(row_id, version),
        b"after": b"null" if op == "d" else image(row_id, version + 1),
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
