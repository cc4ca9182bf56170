"""What one record says about the columns of its table; read from an example per schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidemark.model.position import Position

DECIMAL = "org.apache.kafka.connect.data.Decimal"


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """Columns and key as a record describes them, in its format's own terms.

    fields: Connect's field list of a row image. types: column -> ``mysqlType``. key: names of the
    key columns. Each is empty where the record does not tell. has_number_decimals: its converter
    writes decimals as JSON numbers, and not as bytes. position: of the record; None stands above
    all statements. names: of the columns in its row image, where it tells nothing else of them.
    """

    fields: Sequence[Mapping[str, Any]] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    has_number_decimals: bool = False
    position: Position | None = None
    names: tuple[str, ...] = ()


def json_record_schema(key: bytes | None, value: bytes) -> RecordSchema:
    """From a record in JSON: the schema wrapper where it has one, and the names in its key."""
    content = json.loads(value)
    wrapper = content.get("schema")
    fields: Sequence[Mapping[str, Any]] = ()
    if isinstance(wrapper, dict):
        images = (f for f in wrapper.get("fields", ()) if f.get("field") in ("before", "after"))
        fields = next((image["fields"] for image in images if image.get("fields")), ())
    written = _decimals(fields, content["payload"]) if fields else ()
    change = content.get("payload", content)
    return RecordSchema(
        names=() if fields else tuple(change.get("after") or ()),
        fields=fields,
        key=_key_names(key),
        has_number_decimals=any(isinstance(number, int | float) for number in written),
    )


def _decimals(fields: Sequence[Mapping[str, Any]], change: Mapping[str, Any]) -> Sequence[Any]:
    """The values of decimal columns, as they are written."""
    image = change.get("after") or change.get("before") or {}
    return [image.get(field["field"]) for field in fields if field.get("name") == DECIMAL]


def _key_names(key: bytes | None) -> tuple[str, ...]:
    if key is None:
        return ()
    content = json.loads(key)
    payload = content.get("payload") if "payload" in content else None
    is_wrapped = isinstance(payload, dict) and set(content) <= {"schema", "payload"}
    return tuple(payload if is_wrapped and payload is not None else content)


def canal_record_schema(_key: bytes | None, value: bytes) -> RecordSchema:
    """From a Canal-JSON record: ``mysqlType`` in the order of the row's columns, ``pkNames``.

    Columns that the row leaves out come last (UNAV-4).
    """
    content = json.loads(value)
    types: Mapping[str, str] = content.get("mysqlType") or {}
    ordered = dict.fromkeys((*content["data"][0], *types))
    return RecordSchema(
        types={name: types[name] for name in ordered if name in types},
        key=tuple(content.get("pkNames") or ()),
    )
