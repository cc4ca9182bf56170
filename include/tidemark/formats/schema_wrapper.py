"""The schema that Connect's JSON converter may write in front of each payload (MSG-15)."""

from __future__ import annotations

import msgspec

from tidemark.formats.encoding import PAYLOAD_NEXT, SCHEMA_FIRST
from tidemark.formats.json_guards import has_twice, is_deep
from tidemark.formats.record_reader import AnObject, spark_hash

WRAPPED = SCHEMA_FIRST.encode()
"""How a wrapped key or value begins."""
_NEXT = PAYLOAD_NEXT.encode()


class _Wrapped(msgspec.Struct, forbid_unknown_fields=True):
    schema: AnObject
    payload: AnObject


_DECODER = msgspec.json.Decoder(_Wrapped)


class SchemaWrapper:
    """Takes payloads out of values that begin as WRAPPED.

    The last schema is remembered: the records of a topic hardly ever change it. schema_id: of that.
    """

    def __init__(self) -> None:
        self.schema_id = 0
        self._wrapper = b""

    def payload(self, value: bytes) -> bytes | None:
        """The payload of ``value``; None, or msgspec.DecodeError, where it is wrapped otherwise."""
        if not self._wrapper or not value.startswith(self._wrapper):
            _DECODER.decode(value)
            schema, separator, _ = value.partition(_NEXT)
            if not separator or is_deep(schema) or has_twice(schema + b"}"):
                return None
            self._wrapper, self.schema_id = schema + separator, spark_hash(schema)
        return value[len(self._wrapper) : -1] if value.endswith(b"}") else None
