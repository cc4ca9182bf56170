"""What one record says about the columns of its table; read from an example per schema.

Landing has looked at the envelope of a record alone, so that here it may be of any shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidemark.model.json_kind import JsonKind
from tidemark.model.position import Place, Position

ROUTED_FROM = "__dbz__physicalTableIdentifier"
"""What Debezium's ByLogicalTableRouter adds to keys: the topic that a record would have gone to."""


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """Columns and key as a record describes them, in its format's own terms.

    fields: Connect's field list of a row image. types: column -> ``mysqlType``. key: names of the
    key columns. Each is empty where the record does not tell. position: of the record; None stands
    above all statements. kinds: of the values in its row image, by their columns, where it tells
    nothing else of them. has_rows: it reads rows of the cut, and not only keys of deletes. flaw:
    why nobody can say what it tells; empty when all is well. schema_id: of the events that it tells
    of. begins_at: the lowest place of those in the cut; streamed_from: of those of its rows that no
    snapshot read.
    """

    fields: Sequence[Mapping[str, Any]] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    position: Position | None = None
    kinds: Mapping[str, JsonKind] = field(default_factory=dict)
    has_rows: bool = True
    flaw: str = ""
    schema_id: int | None = None
    begins_at: Place | None = None
    streamed_from: Place | None = None


class InvalidSchemaError(ValueError):
    """A part of a record that is not what its place is for."""


def json_record_schema(key: bytes | None, value: bytes) -> RecordSchema:
    """From a record in JSON: the schema wrapper where it has one, and the names in its key."""
    try:
        return _json_record_schema(key, value)
    except (InvalidSchemaError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        return RecordSchema(flaw=str(error))


def _json_record_schema(key: bytes | None, value: bytes) -> RecordSchema:
    content = _object(json.loads(value), "the value")
    change = _object(content.get("payload", content), "the payload")
    image = _object(change.get("after") or {}, "after")
    fields = _image_fields(content.get("schema") or {})
    return RecordSchema(
        kinds={} if fields else {name: JsonKind.of(value) for name, value in image.items()},
        fields=fields,
        key=key_names(key),
    )


def _object(part: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(part, dict):
        raise InvalidSchemaError(f"{what} is no object")
    return part


def _image_fields(wrapper: Any) -> Sequence[Mapping[str, Any]]:
    """The fields of the first image that has any; empty where there is no schema."""
    for part in _fields_of(_object(wrapper, "the schema")):
        if part.get("field") in ("before", "after") and part.get("fields"):
            return _fields_of(part)
    return ()


def _fields_of(struct: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    fields = struct.get("fields", [])
    if not isinstance(fields, list):
        raise InvalidSchemaError("the schema has fields that are no list")
    named = [_object(connect_field, "a field of the schema") for connect_field in fields]
    if not all(isinstance(connect_field.get("field"), str) for connect_field in named):
        raise InvalidSchemaError("the schema has a field without a name")
    return named


def key_names(key: bytes | None) -> tuple[str, ...]:
    """The columns of a record's key in JSON, which Connect may have wrapped; none of another key.

    Raises what `json` and its decoding raise.
    """
    if key is None:
        return ()
    content = json.loads(key)
    if not isinstance(content, dict):
        return ()
    payload = content.get("payload")
    is_wrapped = isinstance(payload, dict) and set(content) <= {"schema", "payload"}
    names = payload if is_wrapped and payload is not None else content
    return tuple(name for name in names if name != ROUTED_FROM)


def canal_record_schema(_key: bytes | None, value: bytes) -> RecordSchema:
    """From a Canal-JSON record: ``mysqlType`` in the order of the row's columns, ``pkNames``.

    Columns that the row leaves out come last (UNAV-4).
    """
    try:
        content = _object(json.loads(value), "the value")
        types = _object(content.get("mysqlType") or {}, "mysqlType")
        rows, key = content.get("data"), content.get("pkNames") or []
        row = _object(rows[0] if isinstance(rows, list) and rows else None, "a row of data")
    except (InvalidSchemaError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        return RecordSchema(flaw=str(error))
    if not isinstance(key, list) or not all(isinstance(t, str) for t in (*types.values(), *key)):
        return RecordSchema(flaw="mysqlType or pkNames holds something else than texts")
    ordered = dict.fromkeys((*row, *types))
    return RecordSchema(
        types={name: types[name] for name in ordered if name in types},
        key=tuple(key),
    )
