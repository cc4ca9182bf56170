"""Records of shop.items that hold some cells, in each form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.spark.properties.cases import Cell, Form
from tests.spark.properties.connect import named_once, quoted
from tests.support.avro import wire

KEY_ID, VALUE_ID = 1, 2
KEY_SCHEMA = {
    "type": "record",
    "name": "Key",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "int"}],
}
COMMIT_TS = 445_644_800_000_000_000
NUMBERS = re.compile(r"(decimal|double|bigint( unsigned)?)\b")
Cells = Mapping[str, Cell]
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Sending:
    """The records of one form. cells: by the name of their column."""

    form: Form
    cells: Cells

    @property
    def schemas(self) -> Mapping[int, str]:
        """What a registry would have of them."""
        if not self.form.is_avro:
            return {}
        declared = {KEY_ID: KEY_SCHEMA, VALUE_ID: named_once(self._avro())}
        return {number: json.dumps(schema) for number, schema in declared.items()}

    def records(self, rows: Sequence[Row]) -> Iterator[tuple[bytes | None, bytes]]:
        """Key and value of an insert of each row: by column, what `Cell.encoded` made."""
        for number, row in enumerate(rows):
            if self.form.is_canal:
                yield None, self._canal(number, row)
            elif self.form.is_avro:
                yield self._avro_record(number, row)
            else:
                yield self._json_record(number, row)

    def shown(self, name: str, encoded: Any) -> str:
        """What stands in a record, for a message."""
        if self.form.is_avro:
            return repr(encoded)
        return self.cells[name].sent.connect.json(encoded)

    def _canal(self, number: int, row: Row) -> bytes:
        types = {"id": "int"} | {name: cell.mysql_type for name, cell in self.cells.items()}
        record = {
            "id": 0,
            "database": "shop",
            "table": "items",
            "pkNames": ["id"],
            "isDdl": False,
            "type": "INSERT",
            "es": 1_700_000_000_000,
            "ts": 1_700_000_000_001,
            "sql": "",
            "sqlType": dict.fromkeys(types, 12),
            "mysqlType": types,
            "old": None,
            "data": [],
        }
        if self.form.startswith("ticdc"):
            record["_tidb"] = {"commitTs": COMMIT_TS + number}
        cells = (f"{quoted(name)}:{self._canal_value(name, text)}" for name, text in row.items())
        image = ",".join((f'"id":"{number}"', *cells))
        empty = json.dumps(record, ensure_ascii=False)
        return empty.replace('"data": []', f'"data": [{{{image}}}]').encode()

    def _canal_value(self, name: str, text: str | None) -> str:
        is_number = self.form.has_numbers and NUMBERS.match(self.cells[name].mysql_type)
        return text if is_number and text is not None else quoted(text)

    def _source(self, number: int) -> dict[str, Any]:
        common = {"connector": "x", "ts_ms": 1_700_000_000_000, "snapshot": "false", "db": "shop"}
        if self.form.is_postgres:
            sequence = json.dumps(["100", str(200 + number)])
            return {**common, "sequence": sequence, "schema": "shop", "table": "items", "lsn": 200}
        return {**common, "table": "items", "file": "bin.000007", "pos": 1000 + number}

    def _json_record(self, number: int, row: Row) -> tuple[bytes, bytes]:
        cells = (f"{quoted(n)}:{self.cells[n].sent.connect.json(v)}" for n, v in row.items())
        image = ",".join((f'"id":{number}', *cells))
        source = quoted(self._source(number))
        value = f'{{"before":null,"after":{{{image}}},"source":{source},"op":"c","ts_ms":1}}'
        key = f'{{"id":{number}}}'
        if self.form.has_schema:
            key = f'{{"schema":{quoted(self._schema({"id": _ID}))},"payload":{key}}}'
            value = f'{{"schema":{quoted(self._envelope())},"payload":{value}}}'
        return key.encode(), value.encode()

    def _envelope(self) -> dict[str, Any]:
        columns = {"id": _ID} | {n: cell.sent.connect.schema() for n, cell in self.cells.items()}
        image = self._schema(columns)
        return self._schema({"before": image, "after": image})

    @staticmethod
    def _schema(fields: Mapping[str, Any]) -> dict[str, Any]:
        named = [{**schema, "field": name} for name, schema in fields.items()]
        return {"type": "struct", "fields": named, "optional": True}

    def _avro_record(self, number: int, row: Row) -> tuple[bytes, bytes]:
        value = {
            "before": None,
            "after": {"id": number, **row},
            "source": self._source(number),
            "op": "c",
            "ts_ms": 1,
        }
        key = wire(KEY_ID, KEY_SCHEMA, {"id": number})
        return key, wire(VALUE_ID, self._avro(), value)

    def _avro(self) -> dict[str, Any]:
        columns = {"id": "int"} | {n: cell.sent.connect.avro() for n, cell in self.cells.items()}
        image = ["null", _record("Value", columns)]
        source = {
            name: "long" if isinstance(value, int) else "string"
            for name, value in self._source(0).items()
        }
        fields = {
            "before": image,
            "after": image,
            "source": _record("Source", source),
            "op": "string",
            "ts_ms": ["null", "long"],
        }
        return _record("Envelope", fields)


_ID = {"type": "int32", "optional": False}


def _record(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    listed = [{"name": field, "type": kind} for field, kind in fields.items()]
    return {"type": "record", "name": name, "namespace": "shop", "fields": listed}
