"""What Debezium's MySQL connector sends of a real server's tables, written by its documentation.

Rows and statements are those of the server; only their form is ours (semantics 9.2, MSG-22).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from tests.support.binlog_server import DATABASE, Server
from tests.support.records import Record, mysql_source
from tests.support.server import Column

Row = Mapping[str, str | None]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
MILLIS = 3
_SIZES = re.compile(r"\((.*)\)")


@dataclass
class Connector:
    """The records of everything that happens on ``server``, in its order.

    place: of the newest change. rows, statements: what is to be sent to the two topics.
    """

    server: Server
    place: int = 0
    rows: list[Record] = field(default_factory=list)
    statements: list[Record] = field(default_factory=list)

    def rows_of(self, table: str, statement: str) -> None:
        """A statement that changes rows of ``table``."""
        before = self._by_key(table)
        self.server.run(statement)
        self._changed(table, before)

    def taken(self) -> tuple[list[Record], list[Record]]:
        """What is to be sent since the last time: of rows, of statements."""
        taken = self.rows, self.statements
        self.rows, self.statements = [], []
        return taken

    def truncate(self, table: str) -> None:
        """TRUNCATE TABLE, which is a record among the rows."""
        self.server.run(f"TRUNCATE TABLE `{table}`")
        self.place += 1
        value = {"op": "t", "before": None, "after": None, "source": self._source(table)}
        self.rows.append(Record(json.dumps(value).encode(), None))

    def state(self, statement: str, *tables: str, verb: str = "ALTER") -> None:
        """A statement about ``tables``, which are what they are called behind it."""
        self.place += 1
        second = mysql_source(0, at=self.place)["ts_ms"] // 1000
        self.server.run(f"SET timestamp = {second}; {statement}")
        changes = [
            {
                "type": verb,
                "id": f'"{DATABASE}"."{table}"',
                "table": None if verb == "DROP" else self._state(table),
            }
            for table in tables
        ]
        value = {
            "source": self._source(tables[0]),
            "ts_ms": 1,
            "databaseName": DATABASE,
            "schemaName": None,
            "ddl": statement,
            "tableChanges": changes,
        }
        key = json.dumps({"databaseName": DATABASE}).encode()
        self.statements.append(Record(json.dumps(value).encode(), key))

    def _source(self, table: str) -> dict[str, Any]:
        return mysql_source(100 * self.place, table=table, at=self.place)

    def _by_key(self, table: str) -> dict[tuple[str | None, ...], Row]:
        key = self.server.key(table)
        return {tuple(row[name] for name in key): row for row in self.server.rows(table)}

    def _changed(self, table: str, before: Mapping[tuple[str | None, ...], Row]) -> None:
        after = self._by_key(table)
        columns = self.server.columns(table)
        key = self.server.key(table)
        for at in sorted(before.keys() | after.keys(), key=repr):
            old, new = before.get(at), after.get(at)
            if old == new:
                continue
            op = "c" if old is None else "d" if new is None else "u"
            self.place += 1
            value = {
                "before": None if old is None else image(columns, old),
                "after": None if new is None else image(columns, new),
                "source": self._source(table),
                "transaction": None,
                "op": op,
                "ts_ms": 1,
            }
            names = image(columns, new or old or {})
            self.rows.append(
                Record(
                    json.dumps(value).encode(),
                    json.dumps({name: names[name] for name in key}).encode(),
                )
            )

    def _state(self, table: str) -> dict[str, Any]:
        columns = enumerate(self.server.columns(table), start=1)
        return {
            "defaultCharsetName": "utf8mb4",
            "primaryKeyColumnNames": self.server.key(table),
            "columns": [_column_state(column, place) for place, column in columns],
            "comment": None,
        }


def _column_state(column: Column, place: int) -> dict[str, Any]:
    sizes = _SIZES.search(column.text)
    labels = column.kind in {"enum", "set"}
    numbers = sizes[1].split(",") if sizes and not labels else []
    name = column.kind.upper() + (" UNSIGNED" if "unsigned" in column.text else "")
    return {
        "name": column.name,
        "jdbcType": 4,
        "typeName": name,
        "typeExpression": name,
        "charsetName": None,
        "length": int(numbers[0]) if numbers else None,
        "scale": int(numbers[1]) if len(numbers) > 1 else None,
        "position": place,
        "optional": column.is_nullable,
        "autoIncremented": False,
        "generated": False,
        "enumValues": sizes[1].split(",") if sizes and labels else [],
    }


def image(columns: Sequence[Column], row: Row) -> dict[str, Any]:
    """A row as a record has it."""
    return {
        column.name: None if row[column.name] is None else _written(column, str(row[column.name]))
        for column in columns
    }


def _written(column: Column, text: str) -> Any:
    return _WRITTEN.get(column.kind, _text)(column, text)


def _text(_: Column, text: str) -> str:
    return text


def _whole(_: Column, text: str) -> int:
    return int(text)


def _unsigned_as_signed(_: Column, text: str) -> int:
    return int(text) - (2**64 if int(text) >= 2**63 else 0)


def _double(_: Column, text: str) -> float:
    return float(text)


def _decimal(_: Column, text: str) -> str:
    exponent = Decimal(text).as_tuple().exponent
    unscaled = int(Decimal(text).scaleb(-int(exponent)))
    return _base64(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True))


def _binary(_: Column, text: str) -> str:
    return _base64(bytes.fromhex(text))


def _date(_: Column, text: str) -> int:
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - _EPOCH).days


def _datetime(column: Column, text: str) -> int:
    micros = (datetime.fromisoformat(text).replace(tzinfo=UTC) - _EPOCH) // _MICRO
    return micros if column.digits > MILLIS else micros // 1000


def _timestamp(_: Column, text: str) -> str:
    return f"{text.replace(' ', 'T')}Z"


def _time(_: Column, text: str) -> int:
    at = time.fromisoformat(text)
    return (at.hour * 3600 + at.minute * 60 + at.second) * 1_000_000 + at.microsecond


def _bit(column: Column, text: str) -> bool | str:
    if column.digits == 1:
        return bool(int(text))
    return _base64(int(text).to_bytes((column.digits + 7) // 8, "little"))


_WRITTEN: Mapping[str, Callable[[Column, str], Any]] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "year"), _whole),
    **dict.fromkeys(("varbinary", "binary", "blob"), _binary),
    "bigint": _unsigned_as_signed,
    "double": _double,
    "decimal": _decimal,
    "date": _date,
    "datetime": _datetime,
    "timestamp": _timestamp,
    "time": _time,
    "bit": _bit,
}
"""Base type -> how its value is written; all others are texts."""


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
