"""Avro schemas: as Spark gets them, and as the Connect schemas that they were."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidemark.formats.avro.connect import connect_field, image_fields, key_names
from tidemark.formats.avro.framed import ENDINGS, MARK, framed_schema
from tidemark.formats.avro.schema import InvalidAvroSchemaError, parse_schema
from tidemark.formats.avro.wire_format import named_in

VALUE = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
    ],
    "connect.name": "shop.items.Value",
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "namespace": "shop.items",
    "fields": [
        {"name": "before", "type": ["null", VALUE], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "op", "type": "string"},
    ],
}


def described(declared: Any) -> dict[str, Any]:
    """A column of the Avro type ``declared`` as Connect would describe it."""
    field = connect_field("c", parse_schema(json.dumps(declared)))
    assert field.pop("field") == "c"
    return field


def layout(declared: Any) -> Any:
    """What Spark is told of ``declared``."""
    return json.loads(framed_schema(json.dumps(declared)))["fields"][0]["type"]


def doubled(times: int) -> Any:
    """A record of two records of two records, and so on: each is declared once."""
    declared: Any = "int"
    for number in range(times):
        name = "int" if number == 0 else f"R{number - 1}"
        fields = [{"name": "a", "type": declared}, {"name": "b", "type": name}]
        declared = {"type": "record", "name": f"R{number}", "fields": fields}
    return declared


@pytest.mark.parametrize(
    ("declared", "field"),
    [
        pytest.param("long", {"type": "int64", "optional": False}, id="a plain type"),
        pytest.param(
            ["null", "string"], {"type": "string", "optional": True}, id="null stands first"
        ),
        pytest.param(
            ["string", "null"], {"type": "string", "optional": True}, id="null stands last"
        ),
        pytest.param(
            {"type": "int", "connect.type": "int16"},
            {"type": "int16", "optional": False},
            id="a shorter integer",
        ),
        pytest.param(
            [
                "null",
                {"type": "int", "connect.version": 1, "connect.name": "io.debezium.time.Date"},
            ],
            {"type": "int32", "optional": True, "name": "io.debezium.time.Date"},
            id="a semantic name",
        ),
        pytest.param(
            {
                "type": "bytes",
                "scale": 2,
                "precision": 64,
                "connect.parameters": {"scale": "2", "connect.decimal.precision": "10"},
                "connect.name": "org.apache.kafka.connect.data.Decimal",
                "logicalType": "decimal",
            },
            {
                "type": "bytes",
                "optional": False,
                "name": "org.apache.kafka.connect.data.Decimal",
                "parameters": {"scale": "2", "connect.decimal.precision": "10"},
            },
            id="a decimal: Connect's parameters tell more than Avro's",
        ),
        pytest.param(
            {"type": "bytes", "scale": 2, "precision": 10, "logicalType": "decimal"},
            {
                "type": "bytes",
                "optional": False,
                "name": "org.apache.kafka.connect.data.Decimal",
                "parameters": {"scale": "2", "connect.decimal.precision": "10"},
            },
            id="a decimal of a converter without connect.meta.data",
        ),
        pytest.param(
            {"type": "int", "logicalType": "date"},
            {"type": "int32", "optional": False, "name": "org.apache.kafka.connect.data.Date"},
            id="a date of a converter without connect.meta.data",
        ),
        pytest.param(
            {"type": "int", "logicalType": "time-millis"},
            {"type": "int32", "optional": False, "name": "org.apache.kafka.connect.data.Time"},
            id="a time of a converter without connect.meta.data",
        ),
        pytest.param(
            {"type": "long", "logicalType": "timestamp-millis"},
            {"type": "int64", "optional": False, "name": "org.apache.kafka.connect.data.Timestamp"},
            id="a timestamp of a converter without connect.meta.data",
        ),
        pytest.param(
            ["null", {"type": "array", "items": ["null", "long"]}],
            {"type": "array", "optional": True, "items": {"type": "int64"}},
            id="an array",
        ),
        pytest.param(
            {"type": "map", "values": ["null", "string"]},
            {
                "type": "map",
                "optional": False,
                "keys": {"type": "string"},
                "values": {"type": "string"},
            },
            id="a map",
        ),
        pytest.param(
            {
                "type": "record",
                "name": "VariableScaleDecimal",
                "namespace": "io.debezium.data",
                "fields": [{"name": "scale", "type": "int"}],
            },
            {
                "type": "struct",
                "optional": False,
                "name": "io.debezium.data.VariableScaleDecimal",
                "fields": [{"field": "scale", "type": "int32", "optional": False}],
            },
            id="a record is named after its Connect schema",
        ),
        pytest.param(
            {
                "type": "enum",
                "name": "E",
                "symbols": ["a"],
                "connect.name": "io.debezium.data.Enum",
            },
            {"type": "string", "optional": False, "name": "io.debezium.data.Enum"},
            id="an enum of the enhanced converter",
        ),
        pytest.param(
            {"type": "fixed", "name": "F", "size": 4},
            {"type": "bytes", "optional": False, "name": ""},
            id="fixed bytes",
        ),
    ],
)
def test_a_type_is_described_as_connect_had_it(declared: Any, field: dict[str, Any]) -> None:
    """MSG-20"""
    assert described(declared) == {k: v for k, v in field.items() if v != ""}


def test_the_image_is_found_where_another_field_declares_it() -> None:
    """MSG-20"""
    fields = image_fields(json.dumps(ENVELOPE))
    assert [field["field"] for field in fields] == ["id", "note"]
    assert [field["optional"] for field in fields] == [False, True]


def test_a_key_names_its_columns() -> None:
    assert key_names(json.dumps(VALUE)) == ("id", "note")
    router = {"name": "__dbz__physicalTableIdentifier", "type": "string"}
    routed = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}, router]}
    assert key_names(json.dumps(routed)) == ("id",)


def test_spark_gets_the_layout_alone() -> None:
    """Logical types would round, and defaults and odd names be checked for nothing."""
    declared = {
        "type": "record",
        "name": "a.b.R",
        "fields": [
            {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 4}},
            {"name": "s", "type": ["string", "null"], "default": "x"},
        ],
    }
    assert layout(declared) == {
        "type": "record",
        "name": "T1",
        "fields": [{"name": "d", "type": "bytes"}, {"name": "s", "type": ["string", "null"]}],
    }


def test_a_name_that_is_used_again_is_declared_again() -> None:
    names = [
        branch["name"]
        for field in layout(ENVELOPE)["fields"][:2]
        for branch in field["type"]
        if branch != "null"
    ]
    assert names == ["T2", "T3"]


def test_names_that_differ_in_case_alone_are_told_apart() -> None:
    """Spark does not; the table stops later, for its columns' true names (COLUMN_COLLISION)."""
    fields = [{"name": name, "type": "int"} for name in ("id", "Id", "ID")]
    made = layout({"type": "record", "name": "R", "fields": fields})
    assert [field["name"] for field in made["fields"]] == ["id", "Id__1", "ID__2"]


def test_the_mark_is_not_found_where_it_is_displaced() -> None:
    assert all(MARK[-n:] != MARK[:n] for n in range(1, len(MARK)))
    assert len(set(ENDINGS)) == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("{", "it is not JSON", id="no JSON"),
        pytest.param("7", "declared by neither name nor object", id="a number"),
        pytest.param('{"name": "x"}', "declared by neither name nor object", id="no type"),
        pytest.param('"Missing"', "'Missing' is declared nowhere", id="an unknown name"),
        pytest.param('{"type": "record", "name": "a-b"}', "'a-b' is no name", id="a wrong name"),
        pytest.param('{"type": "enum", "name": "E"}', "E has no symbols", id="an empty enum"),
        pytest.param('{"type": "fixed", "name": "F"}', "F has no size", id="bytes without size"),
        pytest.param(
            '{"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]}',
            "'R' is declared nowhere before it, or holds itself",
            id="a list of itself",
        ),
        pytest.param(
            '{"type": "record", "name": "R", "fields": [{"name": "1a", "type": "int"}]}',
            "'1a' is no name",
            id="a wrong name of a field",
        ),
        pytest.param(
            '{"type": "record", "name": "R", "fields": 7}', "fields that are none", id="a number"
        ),
        pytest.param(
            '{"type": "record", "name": "R", "fields": ["f"]}', "fields that are none", id="a text"
        ),
        pytest.param("[" * 100_000, "nested too deep", id="unions of unions"),
        pytest.param(json.dumps(doubled(40)), "more than 50000 types", id="types of types"),
    ],
)
def test_what_is_no_schema_of_a_converter_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidAvroSchemaError, match=why):
        framed_schema(text)


def test_schema_ids_name_the_schemas_of_key_and_value() -> None:
    """MSG-19"""
    schemas = {1: "key", 2: "value", 3: "other"}
    assert named_in(schemas, [(1 << 32) + 2]) == {1: "key", 2: "value"}
    assert named_in(schemas, [2]) == {2: "value"}
    assert named_in(schemas, [None]) == {}
