"""Avro schemas of Confluent's converter as the Connect schemas that they were made from (MSG-20).

The converter keeps a type's semantic name and parameters in ``connect.name`` and
``connect.parameters``. Told to leave them out (``connect.meta.data=false``) it still writes Avro's
logical types, and names records after their Connect schemas.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.formats.avro.schema import AvroType, parse_schema
from tidemark.formats.record_schema import ROUTED_FROM

_CONNECT = "org.apache.kafka.connect.data."
DECIMAL = f"{_CONNECT}Decimal"
_KINDS: Mapping[str, str] = {
    "int": "int32",
    "long": "int64",
    "fixed": "bytes",
    "enum": "string",
    "record": "struct",
}
_LOGICAL: Mapping[str, str] = {
    "decimal": DECIMAL,
    "date": f"{_CONNECT}Date",
    "time-millis": f"{_CONNECT}Time",
    "timestamp-millis": f"{_CONNECT}Timestamp",
}
Field = dict[str, Any]


def image_fields(value_schema: str) -> Sequence[Field]:
    """Connect's field list of the row images that a value of ``value_schema`` holds."""
    images = dict(parse_schema(value_schema).required.fields)
    image = images.get("after") or images.get("before")
    return [connect_field(name, inner) for name, inner in image.required.fields] if image else ()


def fillable_fields(value_schema: str) -> Sequence[Field]:
    """Of each field of `image_fields` its name, whether it is optional, and its default.

    The converter puts null first in an optional field without a default alone, also where it is
    told to leave defaults out; of one with a default the type.
    """
    images = dict(parse_schema(value_schema).required.fields)
    image = images.get("after") or images.get("before")
    fields = image.required.fields if image else ()
    return [
        {
            "field": name,
            "optional": inner.is_optional and inner.inner[0].kind == "null",
            "default": connect_field(name, inner).get("default"),
        }
        for name, inner in fields
    ]


def key_names(key_schema: str) -> tuple[str, ...]:
    """The columns of a key of ``key_schema``."""
    names = (name for name, _ in parse_schema(key_schema).required.fields)
    return tuple(name for name in names if name != ROUTED_FROM)


def connect_field(name: str, avro: AvroType) -> Field:
    """A field as the JSON converter would describe it."""
    return {"field": name, "optional": avro.is_optional, **_connect_type(avro.required)}


def _connect_type(avro: AvroType) -> Field:
    """A default of bytes is text of one character each in Avro, and base64 in JSON."""
    properties = avro.properties
    kind = str(properties.get("connect.type") or _KINDS.get(avro.kind, avro.kind))
    made: Field = {"type": kind}
    if avro.kind == "array":
        made["items"] = _connect_type(avro.inner[0].required)
    elif avro.kind == "map":
        made |= {"keys": {"type": "string"}, "values": _connect_type(avro.inner[0].required)}
    elif avro.kind == "record":
        made["fields"] = [connect_field(name, inner) for name, inner in avro.fields]
    semantic = properties.get("connect.name") or _semantic(avro)
    if semantic:
        made["name"] = semantic
    default = properties.get("connect.default")
    if default is not None:
        is_bytes = kind == "bytes" and isinstance(default, str)
        made["default"] = b64encode(default.encode("latin-1")).decode() if is_bytes else default
    parameters = properties.get("connect.parameters") or _parameters(avro, semantic)
    return made | ({"parameters": parameters} if parameters else {})


def _semantic(avro: AvroType) -> str:
    if avro.kind == "record":
        return avro.name
    return _LOGICAL.get(str(avro.properties.get("logicalType")), "")


def _parameters(avro: AvroType, semantic: str) -> dict[str, str]:
    if semantic != DECIMAL:
        return {}
    parameters = {"scale": avro.properties.get("scale", 0)}
    if "precision" in avro.properties:
        parameters["connect.decimal.precision"] = avro.properties["precision"]
    return {name: str(value) for name, value in parameters.items()}
