"""What an example record tells of its columns, whatever shape it has."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidemark.formats.record_schema import canal_record_schema, json_record_schema
from tidemark.model.json_kind import JsonKind

ID = {"field": "id", "type": "int32"}
IMAGE = {"field": "after", "type": "struct", "fields": [ID]}


def of_json(schema: Any, payload: Any = None, key: Any = None) -> Any:
    value = {"schema": schema, "payload": payload or {"op": "c", "after": {"id": 1}}}
    return json_record_schema(
        None if key is None else json.dumps(key).encode(), json.dumps(value).encode()
    )


def test_columns_and_key_of_a_record_with_its_schema() -> None:
    """MSG-16: of whichever image has fields."""
    told = of_json(
        {"fields": [{"field": "before"}, IMAGE]}, key={"schema": {}, "payload": {"id": 1}}
    )
    assert (told.fields, told.key, told.kinds, told.flaw) == ([ID], ("id",), {}, "")
    plain = json_record_schema(b'{"id": 1}', b'{"op": "d", "after": null, "before": {"id": 1}}')
    assert (plain.fields, plain.key, plain.kinds, plain.flaw) == ((), ("id",), {}, "")
    routed = json_record_schema(
        b'{"id": 1, "__dbz__physicalTableIdentifier": "s.shop.t1"}', b'{"op": "d", "before": {}}'
    )
    assert routed.key == ("id",)
    value = b'{"op": "c", "after": {"id": 1, "at": null}}'
    shown = json_record_schema(None, value).kinds
    assert shown == {"id": JsonKind.INTEGER, "at": JsonKind.NULL}


@pytest.mark.parametrize(
    ("schema", "flaw"),
    [
        (7, "the schema is no object"),
        ({"fields": {}}, "the schema has fields that are no list"),
        ({"fields": ["after"]}, "a field of the schema is no object"),
        ({"fields": [{"type": "struct"}]}, "the schema has a field without a name"),
        ({"fields": [{**IMAGE, "fields": [{}]}]}, "the schema has a field without a name"),
    ],
)
def test_a_schema_of_another_shape_is_a_flaw(schema: Any, flaw: str) -> None:
    assert of_json(schema).flaw == flaw


@pytest.mark.parametrize(
    ("value", "flaw"),
    [
        (b"[]", "the value is no object"),
        (b'{"payload": 7}', "the payload is no object"),
        (b'{"after": 7}', "after is no object"),
        (b"{", "Expecting property name"),
        (b'{"after": "\xff"}', "can't decode byte 0xff"),
        (b'{"after":' + b"[" * 100_000, "maximum recursion depth"),
    ],
    ids=lambda part: str(part[:20]),
)
def test_a_value_of_another_shape_is_a_flaw(value: bytes, flaw: str) -> None:
    assert flaw in json_record_schema(None, value).flaw


@pytest.mark.parametrize(
    ("record", "flaw"),
    [
        ({"data": []}, "a row of data is no object"),
        ({"data": [None]}, "a row of data is no object"),
        ({"data": [{}], "mysqlType": []}, ""),
        ({"data": [{}], "mysqlType": [1]}, "mysqlType is no object"),
        ({"data": [{}], "mysqlType": {"a": []}}, "something else than texts"),
        ({"data": [{}], "pkNames": 7}, "something else than texts"),
        ({"data": [{}], "pkNames": [7]}, "something else than texts"),
    ],
)
def test_a_row_of_canal_of_another_shape_is_a_flaw(record: Any, flaw: str) -> None:
    told = canal_record_schema(None, json.dumps(record).encode())
    assert flaw in told.flaw
    assert bool(told.flaw) == bool(flaw)
