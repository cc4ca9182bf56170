"""Avro in Confluent's wire format as JSON text, so that the runner knows what it sends."""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

HEADER = 5


def json_of(part: bytes, schemas: Mapping[int, Any]) -> str:
    """A key or value as JSON; bytes are base64. ValueError when it is not what its schema says."""
    number = int.from_bytes(part[1:HEADER])
    if part[0] != 0 or number not in schemas:
        raise ValueError("no record of these schemas")
    reader = _Reader(part[HEADER:], dict(_named(schemas[number], "")))
    content = reader.read(schemas[number], "")
    if reader.body[reader.at :] not in (b"", b"\n"):
        raise ValueError("bytes are left behind the body")
    return json.dumps(content)


def _named(schema: Any, space: str) -> Iterator[tuple[str, Any]]:
    """Every record of ``schema`` by its full name."""
    if isinstance(schema, list):
        for branch in schema:
            yield from _named(branch, space)
    elif isinstance(schema, dict):
        own = schema.get("namespace", space)
        if schema["type"] == "record":
            yield f"{own}.{schema['name']}", schema
        inner = [field["type"] for field in schema.get("fields", ())]
        for part in (*inner, schema.get("items"), schema.get("values"), schema["type"]):
            yield from _named(part, own)


class _Reader:
    """Walks through one body; known: records by their full names."""

    def __init__(self, body: bytes, known: Mapping[str, Any]) -> None:
        self.at = 0
        self.body = body
        self._known = known

    def read(self, schema: Any, space: str) -> Any:
        if isinstance(schema, list):
            return self.read(schema[self._number()], space)
        kind = schema["type"] if isinstance(schema, dict) else schema
        if not isinstance(kind, str):
            return self.read(kind, space)
        if kind == "record":
            return self._record(schema, space)
        if kind in ("array", "map"):
            return self._blocks(schema, space)
        simple = getattr(self, f"_{kind}", None)
        if simple is not None:
            return simple()
        known = self._known.get(kind) or self._known[f"{space}.{kind}"]
        return self.read(known, space)

    def _record(self, schema: Mapping[str, Any], space: str) -> dict[str, Any]:
        own = schema.get("namespace", space)
        return {field["name"]: self.read(field["type"], own) for field in schema["fields"]}

    def _blocks(self, schema: Mapping[str, Any], space: str) -> Any:
        items: list[Any] = []
        while count := self._number():
            if count < 0:
                count = -count
                self._number()
            for _ in range(count):
                if schema["type"] == "array":
                    items.append(self.read(schema["items"], space))
                else:
                    items.append((self._string(), self.read(schema["values"], space)))
        return dict(items) if schema["type"] == "map" else items

    def _number(self) -> int:
        column_rename = value = 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << column_rename
            column_rename += 7
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)

    _int = _long = _number

    def _null(self) -> None:
        return None

    def _boolean(self) -> bool:
        return self._take(1) == b"\x01"

    def _float(self) -> float:
        value: float = struct.unpack("<f", self._take(4))[0]
        return value

    def _double(self) -> float:
        value: float = struct.unpack("<d", self._take(8))[0]
        return value

    def _string(self) -> str:
        return self._take(self._number()).decode()

    def _bytes(self) -> str:
        return b64encode(self._take(self._number())).decode()

    def _take(self, size: int) -> bytes:
        taken = self.body[self.at : self.at + size]
        if len(taken) < size:
            raise ValueError("the body is cut off")
        self.at += size
        return taken
