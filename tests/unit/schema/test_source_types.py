from __future__ import annotations

import json
from typing import Any

import pytest

from tidemark.errors import NameRefusedError, SchemaUnknownError, TableStoppedError
from tidemark.model.columns import SourceColumn, ValueEncoding
from tidemark.model.modes import (
    BigintUnsignedMode,
    BinaryMode,
    ConnectorModes,
    DecimalMode,
    FieldNameMode,
    TimeMode,
)
from tidemark.schema.source_types import canal_column, debezium_column, table_change_columns
from tidemark.schema.type_text import parse_type

DEFAULTS = ConnectorModes()
GEOMETRY = "struct<srid:int,wkb:binary>"


def form(column: SourceColumn) -> tuple[str, str, int]:
    return column.iceberg, column.encoding.value, column.digits


@pytest.mark.parametrize(
    ("text", "iceberg", "encoding", "digits"),
    [
        ("tinyint", "int", "integer", 0),
        ("TINYINT(1)", "int", "integer", 0),
        ("bool", "int", "integer", 0),
        ("tinyint unsigned", "int", "integer", 0),
        ("smallint unsigned", "int", "integer", 0),
        ("mediumint(8) unsigned zerofill", "int", "integer", 0),
        ("int(11)", "int", "integer", 0),
        ("INTEGER", "int", "integer", 0),
        ("int unsigned", "bigint", "integer", 0),
        ("int(10) zerofill", "bigint", "integer", 0),
        ("bigint", "bigint", "integer", 0),
        ("bigint(20) unsigned", "decimal(20,0)", "unsigned-as-signed", 0),
        ("serial", "decimal(20,0)", "unsigned-as-signed", 0),
        ("year(4)", "int", "integer", 0),
        ("float", "float", "float", 0),
        ("float(7,3)", "float", "float", 0),
        ("float(24)", "float", "float", 0),
        ("float(25)", "double", "double", 0),
        ("double precision(10,7) unsigned zerofill", "double", "double", 0),
        ("real", "double", "double", 0),
        ("decimal", "decimal(10,0)", "decimal-base64", 0),
        ("decimal(12)", "decimal(12,0)", "decimal-base64", 0),
        ("DECIMAL(12,2)", "decimal(12,2)", "decimal-base64", 2),
        ("numeric(38, 30) unsigned", "decimal(38,30)", "decimal-base64", 30),
        ("fixed(40,3)", "string", "decimal-base64", 3),
        ("bit", "boolean", "boolean", 1),
        ("bit(1)", "boolean", "boolean", 1),
        ("bit(12)", "binary", "bits", 12),
        ("char(10)", "string", "text", 0),
        ("national character varying(20)", "string", "text", 0),
        ("longtext", "string", "text", 0),
        ("enum('a','b')", "string", "text", 0),
        ("set ('a', 'b')", "string", "text", 0),
        ("json", "string", "text", 0),
        ("uuid", "string", "text", 0),
        ("binary(16)", "binary", "base64", 0),
        ("mediumblob", "binary", "base64", 0),
        ("date", "date", "days", 0),
        ("time", "string", "time-micros", 0),
        ("time(3)", "string", "time-micros", 3),
        ("datetime", "timestamp_ntz", "timestamp-millis", 0),
        ("datetime(3)", "timestamp_ntz", "timestamp-millis", 0),
        ("datetime(4)", "timestamp_ntz", "timestamp-micros", 0),
        ("timestamp(6)", "timestamp", "zoned-text", 0),
        ("geometrycollection", GEOMETRY, "geometry", 0),
        ("point", GEOMETRY, "geometry", 0),
    ],
)
def test_debezium_default_modes(text: str, iceberg: str, encoding: str, digits: int) -> None:
    assert form(debezium_column("c", text, DEFAULTS)) == (iceberg, encoding, digits)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (
            TimeMode.ADAPTIVE,
            ["days", "timestamp-millis", "timestamp-micros", "time-millis", "time-micros"],
        ),
        (TimeMode.CONNECT, ["days", *["timestamp-millis"] * 2, *["time-millis"] * 2]),
        (TimeMode.ISOSTRING, ["date-text", *["timestamp-text"] * 2, *["time-text"] * 2]),
        (TimeMode.MICROSECONDS, ["days", *["timestamp-micros"] * 2, *["time-micros"] * 2]),
        (TimeMode.NANOSECONDS, ["days", *["timestamp-nanos"] * 2, *["time-nanos"] * 2]),
    ],
)
def test_time_modes(mode: TimeMode, expected: list[str]) -> None:
    types = ("date", "datetime(3)", "datetime(6)", "time(3)", "time(6)", "timestamp")
    encodings = [
        debezium_column("c", text, ConnectorModes(time=mode)).encoding.value for text in types
    ]
    assert encodings == [*expected, "zoned-text"]


@pytest.mark.parametrize(
    ("modes", "text", "iceberg", "encoding"),
    [
        (
            ConnectorModes(decimal=DecimalMode.STRING),
            "decimal(5,1)",
            "decimal(5,1)",
            "decimal-text",
        ),
        (
            ConnectorModes(decimal=DecimalMode.DOUBLE),
            "decimal(5,1)",
            "decimal(5,1)",
            "decimal-text",
        ),
        (ConnectorModes(decimal=DecimalMode.STRING), "decimal(65,1)", "string", "decimal-text"),
        (
            ConnectorModes(bigint_unsigned=BigintUnsignedMode.PRECISE),
            *("bigint unsigned", "decimal(20,0)", "decimal-base64"),
        ),
        (ConnectorModes(binary=BinaryMode.HEX), "blob", "binary", "hex"),
        (ConnectorModes(binary=BinaryMode.BASE64), "blob", "binary", "base64"),
        (ConnectorModes(binary=BinaryMode.BASE64_URL_SAFE), "blob", "binary", "base64-url"),
        (ConnectorModes(binary=BinaryMode.HEX), "bit(9)", "binary", "bits"),
    ],
)
def test_other_modes(modes: ConnectorModes, text: str, iceberg: str, encoding: str) -> None:
    assert form(debezium_column("c", text, modes))[:2] == (iceberg, encoding)


@pytest.mark.parametrize(
    "text",
    [
        *("", "(3)", "money", "float32[]", "int four", "decimal(9999999999)"),
        *(f"int{' ' * 100_000}!", f"int({'9' * 100_000})", f"int{' unsigned' * 20_000} !"),
    ],
    ids=lambda text: text[:20],
)
def test_a_type_outside_the_table_is_refused_by_name(text: str) -> None:
    """POISON-6: at once, however long it is."""
    with pytest.raises(SchemaUnknownError, match="column weight has the type"):
        debezium_column("weight", text, DEFAULTS)


def test_a_column_name_is_checked() -> None:
    with pytest.raises(NameRefusedError):
        debezium_column("_tidemark_op", "int", DEFAULTS)


def test_table_change_states_sizes_and_labels_beside_the_type() -> None:
    def column(
        name: str, text: str, length: int | None, scale: int | None, *labels: str
    ) -> dict[str, object]:
        return {
            "name": name,
            "typeName": text,
            "typeExpression": text,
            "length": length,
            "scale": scale,
            "enumValues": list(labels) or None,
        }

    schema = table_change_columns(
        {
            "primaryKeyColumnNames": ["id", "rating"],
            "columns": [
                column("id", "BIGINT UNSIGNED", 20, None),
                column("rating", "DECIMAL", 3, 1),
                column("sold_at", "DATETIME", 6, None),
                column("flag", "BIT", 1, None),
                column("type", "ENUM", 1, None, "'SHIPPING'", "'it''s'"),
                column("g", "GEOMETRY", None, None),
            ],
        },
        DEFAULTS,
    )
    assert schema.key == ("id", "rating")
    assert [(c.source_type, *form(c)) for c in schema.columns] == [
        ("bigint(20) unsigned", "decimal(20,0)", "unsigned-as-signed", 0),
        ("decimal(3,1)", "decimal(3,1)", "decimal-base64", 1),
        ("datetime(6)", "timestamp_ntz", "timestamp-micros", 0),
        ("bit(1)", "boolean", "boolean", 1),
        ("enum('SHIPPING','it''s')", "string", "text", 0),
        ("geometry", GEOMETRY, "geometry", 0),
    ]


@pytest.mark.parametrize(
    ("mysql_type", "ddl_type", "iceberg", "encoding", "digits"),
    [
        ("tinyint unsigned", None, "int", "integer", 0),
        ("BOOLEAN", None, "int", "integer", 0),
        ("INT(8) unsigned zerofill", None, "bigint", "integer", 0),
        ("bigint", "BIGINT(20)", "bigint", "integer", 0),
        ("bigint unsigned", None, "decimal(20,0)", "decimal-text", 0),
        ("SERIAL", None, "decimal(20,0)", "decimal-text", 0),
        ("float", None, "float", "float", 0),
        ("REAL", None, "double", "double", 0),
        ("decimal", None, "string", "decimal-text", 0),
        ("decimal", "DECIMAL(12,2)", "decimal(12,2)", "decimal-text", 2),
        ("decimal", "NUMERIC", "decimal(10,0)", "decimal-text", 0),
        ("decimal", "varchar(12)", "string", "decimal-text", 0),
        ("DECIMAL(8, 0) unsigned", None, "decimal(8,0)", "decimal-text", 0),
        ("decimal", "decimal(65,30)", "string", "decimal-text", 30),
        ("bit", None, "decimal(20,0)", "decimal-text", 0),
        ("bit", "BIT", "boolean", "boolean", 1),
        ("bit", "bit(17)", "binary", "bits-number", 17),
        ("enum", "ENUM('a','b')", "int", "integer", 0),
        ("set", None, "bigint", "integer", 0),
        ("date", None, "date", "date-text", 0),
        ("datetime", "DATETIME(6)", "timestamp_ntz", "timestamp-text", 0),
        ("timestamp", None, "timestamp_ntz", "timestamp-text", 0),
        ("time", "time(2)", "string", "time-text", 2),
        ("year", None, "int", "integer", 0),
        ("json", None, "string", "text", 0),
        ("longtext", None, "string", "text", 0),
        ("varbinary", "VARBINARY(9)", "binary", "latin1", 0),
        ("vector", None, "string", "text", 0),
        ("VARCHAR(255)", None, "string", "text", 0),
        ("NUMERIC(8,3) unsigned zerofill", None, "decimal(8,3)", "decimal-text", 3),
        ("FIXED(40,3)", None, "string", "decimal-text", 3),
        ("decimal(8,4)", "decimal(9,4)", "decimal(8,4)", "decimal-text", 4),
        ("bit(8)", None, "binary", "bits-number", 8),
        ("TINYINT(1)", None, "int", "integer", 0),
        ("DOUBLE PRECISION(10,7) unsigned", None, "double", "double", 0),
        ("VARBINARY(10)", None, "binary", "latin1", 0),
        ("timestamp(6)", None, "timestamp_ntz", "timestamp-text", 0),
        ("MULTIPOLYGON", None, GEOMETRY, "geometry-latin1", 0),
    ],
)
def test_canal(
    mysql_type: str, ddl_type: str | None, iceberg: str, encoding: str, digits: int
) -> None:
    assert form(canal_column("c", mysql_type, ddl_type, None)) == (iceberg, encoding, digits)


def test_canal_timestamp_has_a_zone_where_one_is_declared() -> None:
    column = canal_column("c", "timestamp", "TIMESTAMP(3)", "Europe/Berlin")
    assert (column.iceberg, column.encoding, column.zone) == (
        *("timestamp", ValueEncoding.LOCAL_TEXT, "Europe/Berlin"),
    )
    assert canal_column("c", "datetime", None, "UTC").zone == ""


@pytest.mark.parametrize(
    ("mysql_type", "encoding", "labels"),
    [
        ("ENUM('value1','it''s','A,b')", "enum-index", ("value1", "it's", "A,b")),
        ("set('a','B')", "set-mask", ("a", "B")),
    ],
)
def test_labels_that_a_record_tells(
    mysql_type: str, encoding: str, labels: tuple[str, ...]
) -> None:
    """TYPE-32: then the value is the label; what only DDL tells does not make it one."""
    column = canal_column("c", mysql_type, None, None)
    assert (column.iceberg, column.encoding.value, column.labels) == ("string", encoding, labels)
    assert canal_column("c", mysql_type[:4].strip("('"), mysql_type, None).labels == ()
    assert SourceColumn.from_json(json.loads(json.dumps(column.to_json()))) == column


@pytest.mark.parametrize("mysql_type", ["", "money", "int four"])
def test_canal_types_that_are_refused(mysql_type: str) -> None:
    with pytest.raises(SchemaUnknownError, match="column c has the type"):
        canal_column("c", mysql_type, None, None)


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("ENUM('a','b,c','it''s','q\\'x')", "enum('a','b,c','it''s','q''x')"),
        ("set('(x)','')", "set('(x)','')"),
        ("  double   precision ( 10 , 7 )  UNSIGNED  ", "double(10,7) unsigned"),
        ("BIGINT UNSIGNED ZEROFILL", "bigint unsigned"),
        ("serial", "bigint unsigned"),
    ],
)
def test_type_text(text: str, again: str) -> None:
    parsed = parse_type(text)
    assert str(parsed) == again
    assert parse_type(again) == parsed


def told(name: str) -> dict[str, Any]:
    """A column as ``tableChanges`` tells it."""
    return {"name": name, "typeName": "INT", "typeExpression": "INT", "length": None, "scale": None}


def test_a_schema_change_names_columns_as_records_do() -> None:
    """MSG-20"""
    table = {"columns": [told("id"), told("unit-price")], "primaryKeyColumnNames": ["unit-price"]}
    schema = table_change_columns(table, ConnectorModes(), FieldNameMode.AVRO)
    assert (schema.names, schema.key) == (("id", "unit_price"), ("unit_price",))
    assert table_change_columns(table, ConnectorModes()).names == ("id", "unit-price")


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(None, id="no table"),
        pytest.param({"columns": {}}, id="columns that are no list"),
        pytest.param({"columns": [None]}, id="a column that is nothing"),
        pytest.param({"columns": [{**told("a"), "name": ["a"]}]}, id="a name that is no text"),
        pytest.param({"columns": [{"name": "a"}]}, id="no type"),
        pytest.param({"columns": [{**told("a"), "length": "9"}]}, id="a length as text"),
        pytest.param({"columns": [{**told("a"), "enumValues": 7}]}, id="labels that are no list"),
        pytest.param({"columns": [], "primaryKeyColumnNames": [1]}, id="a key that is no name"),
    ],
)
def test_a_state_of_another_shape_is_refused(table: Any) -> None:
    """MSG-22"""
    with pytest.raises(SchemaUnknownError, match="tells its columns in no way"):
        table_change_columns(table, ConnectorModes())


def test_two_columns_that_records_name_alike_are_refused() -> None:
    """MSG-20"""
    table = {"columns": [told("a-b"), told("a.b")], "primaryKeyColumnNames": ["a-b"]}
    with pytest.raises(TableStoppedError, match=r"a-b and a\.b are both written as a_b"):
        table_change_columns(table, ConnectorModes(), FieldNameMode.AVRO)


@pytest.mark.parametrize(
    ("name", "avro", "unicode"),
    [
        pytest.param("plain", "plain", "plain", id="nothing to change"),
        pytest.param("a_b", "a_b", "a_u005fb", id="an underscore is the sign of unicode"),
        pytest.param("unit-price", "unit_price", "unit_u002dprice", id="a dash"),
        pytest.param("2nd", "_2nd", "_u0032nd", id="a digit in front"),
        pytest.param("größe", "gr__e", "gr_u00f6_u00dfe", id="umlauts"),
        pytest.param("ā", "_", "_u101", id="three digits stay three"),
        pytest.param("\U0001f30a", "__", "_ud83c_udf0a", id="two characters of Java"),
    ],
)
def test_names_are_written_as_debezium_adjusts_them(name: str, avro: str, unicode: str) -> None:
    """MSG-20"""
    assert FieldNameMode.NONE.written(name) == name
    assert FieldNameMode.AVRO.written(name) == avro
    assert FieldNameMode.AVRO_UNICODE.written(name) == unicode
