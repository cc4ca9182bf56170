"""Types of Kafka Connect, and their values as its JSON converter and Confluent's Avro have them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from typing import Any

from tests.spark.properties.numerals import java_float

DECIMAL = "org.apache.kafka.connect.data.Decimal"
_AVRO_KINDS = {"int8": "int", "int16": "int", "int32": "int", "int64": "long"}
_AVRO_LOGICAL = {
    DECIMAL: "decimal",
    "org.apache.kafka.connect.data.Date": "date",
    "org.apache.kafka.connect.data.Time": "time-millis",
    "org.apache.kafka.connect.data.Timestamp": "timestamp-millis",
}


@dataclass(frozen=True)
class Connect:
    """A type; name: its meaning. fields: of a struct. items: of an array, or values of a map."""

    type: str
    name: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Connect] = field(default_factory=dict)
    items: Connect | None = None

    def schema(self) -> dict[str, Any]:
        """As the JSON converter describes it."""
        made: dict[str, Any] = {"type": self.type, "optional": True}
        if self.type == "array" and self.items:
            made["items"] = self.items.schema()
        if self.type == "map" and self.items:
            made |= {"keys": {"type": "string", "optional": False}, "values": self.items.schema()}
        if self.type == "struct":
            made["fields"] = [{**one.schema(), "field": name} for name, one in self.fields.items()]
        if self.name:
            made |= {"name": self.name, "version": 1}
        return made | ({"parameters": dict(self.parameters)} if self.parameters else {})

    def json(self, value: Any) -> str:
        """As the JSON converter writes it; a Decimal is one of ``decimal.format=NUMERIC``."""
        if value is None:
            return "null"
        if self.type in ("float", "double"):
            text = java_float(value, is_single=self.type == "float")
            return text if isfinite(value) else f'"{text}"'
        if isinstance(value, bytes):
            return f'"{b64encode(value).decode()}"'
        if isinstance(value, Decimal):
            return str(value)
        if self.items is not None and isinstance(value, list):
            return f"[{','.join(map(self.items.json, value))}]"
        if isinstance(value, dict):
            pairs = (f"{quoted(name)}:{self._of(name).json(v)}" for name, v in value.items())
            return "{" + ",".join(pairs) + "}"
        return quoted(value)

    def _of(self, name: str) -> Connect:
        return self.items or self.fields[name]

    def avro(self) -> Any:
        """As Confluent's converter declares it in Avro, every type in its place."""
        return ["null", self._avro()]

    def _avro(self) -> Any:
        made: dict[str, Any] = {"type": _AVRO_KINDS.get(self.type, self.type)}
        if self.type in ("int8", "int16"):
            made["connect.type"] = self.type
        if self.type == "array" and self.items:
            made["items"] = self.items.avro()
        if self.type == "map" and self.items:
            made["values"] = self.items.avro()
        if self.type == "struct":
            space, _, own = self.name.rpartition(".")
            fields = [{"name": name, "type": one.avro()} for name, one in self.fields.items()]
            made = {"type": "record", "name": own, "namespace": space, "fields": fields}
        if self.name:
            made |= {"connect.name": self.name, "connect.version": 1}
        if self.name in _AVRO_LOGICAL:
            made["logicalType"] = _AVRO_LOGICAL[self.name]
        if self.name == DECIMAL:
            made["scale"] = int(self.parameters["scale"])
            made["precision"] = int(self.parameters.get("connect.decimal.precision", 64))
        return made | ({"connect.parameters": dict(self.parameters)} if self.parameters else {})


def quoted(value: Any) -> str:
    """A text, a number or a boolean in JSON, and in it every character as it is."""
    return json.dumps(value, ensure_ascii=False)


def array_of(items: Connect) -> Connect:
    """An array; its elements may be null."""
    return Connect("array", items=items)


def named_once(schema: Any, known: set[str] | None = None) -> Any:
    """An Avro schema with each record declared where it comes first, and named from then on."""
    known = set() if known is None else known
    if isinstance(schema, list):
        return [named_once(branch, known) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    if schema["type"] == "record":
        full = f"{schema.get('namespace', '')}.{schema['name']}"
        if full in known:
            return full
        known.add(full)
        fields = [{**f, "type": named_once(f["type"], known)} for f in schema["fields"]]
        return {**schema, "fields": fields}
    inner = {
        name: named_once(schema[name], known) for name in ("items", "values") if name in schema
    }
    return {**schema, **inner}
