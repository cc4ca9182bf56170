"""What Spark is given to decode a body with: the writer's layout, and a mark behind it.

Spark reads as much of a body as the schema takes and asks for no more, so a body that is longer
passes. A mark behind the body, read as one more field, stands where it should only when the body
ended exactly there: too short a body eats of the mark, too long a one leaves its rest in its place.
"""

from __future__ import annotations

import json
from base64 import b64encode
from functools import lru_cache
from typing import Any

from tidemark.formats.avro.schema import AvroType, InvalidAvroSchemaError, parse_schema

PAYLOAD, END = "payload", "end"
MARK = b"\x9d\x3f\xc1\x07tidemark"
"""No part of it at its end is what it begins with, so it is not found where it is displaced."""
MOST_TYPES = 50_000
"""In one layout; types that name each other in turn would grow to any number."""
LINE_BREAK = b"\n"
"""Tools that send files leave one behind a body; it says nothing, and is passed over."""


def _last_characters(behind: bytes) -> str:
    return f',"{END}":"{b64encode(behind[: len(MARK)]).decode()}"}}'


ENDINGS = (_last_characters(MARK), _last_characters(LINE_BREAK + MARK))
"""How the JSON of a body ends that fitted its schema."""


@lru_cache(maxsize=4096)
def framed_schema(text: str) -> str:
    """The schema of a body that was written with ``text`` and has the mark behind it.

    Only the layout is kept: without logical types, decimals stay bytes and times numbers, as
    Connect's JSON has them. Every type is declared in place under a name of its own, and of two
    fields whose names differ in case alone the second gets another one, as Spark does not tell them
    apart; what the record really calls its fields says `connect.image_fields`.
    """
    payload = _Layout().of(parse_schema(text))
    end = {"type": "fixed", "name": "TidemarkMark", "size": len(MARK)}
    fields = [{"name": PAYLOAD, "type": payload}, {"name": END, "type": end}]
    return json.dumps({"type": "record", "name": "TidemarkFrame", "fields": fields})


class _Layout:
    """Numbers the named types of one schema, and counts all of them."""

    def __init__(self) -> None:
        self._made = self._named = 0

    def of(self, avro: AvroType) -> Any:
        self._made += 1
        if self._made > MOST_TYPES:
            raise InvalidAvroSchemaError(f"it comes to more than {MOST_TYPES} types")
        if avro.kind == "union":
            return [self.of(branch) for branch in avro.inner]
        if avro.kind == "array":
            return {"type": "array", "items": self.of(avro.inner[0])}
        if avro.kind == "map":
            return {"type": "map", "values": self.of(avro.inner[0])}
        return self._named_type(avro) if avro.name else avro.kind

    def _named_type(self, avro: AvroType) -> dict[str, Any]:
        self._named += 1
        made: dict[str, Any] = {"type": avro.kind, "name": f"T{self._named}"}
        if avro.kind == "fixed":
            return made | {"size": avro.properties["size"]}
        if avro.kind == "enum":
            return made | {"symbols": avro.properties["symbols"]}
        seen: set[str] = set()
        fields = []
        for number, (name, inner) in enumerate(avro.fields):
            unique_name = name if name.casefold() not in seen else f"{name}__{number}"
            seen.add(unique_name.casefold())
            fields.append({"name": unique_name, "type": self.of(inner)})
        return made | {"fields": fields}
