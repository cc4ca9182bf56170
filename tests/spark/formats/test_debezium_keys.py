"""Keys of Debezium's records: of exactly the columns that tell rows of the table apart."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.spark.formats.test_canal_images import at
from tidemark.formats.conversion_errors import key_reason
from tidemark.formats.debezium.images import debezium_changes, debezium_image
from tidemark.formats.encoding import JsonEncoding
from tidemark.model.column_rename import ColumnRename
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName

A, B = ColumnName("a"), ColumnName("b`b")
COLUMNS = (
    SourceColumn(A, "int", ValueEncoding.INTEGER, "int"),
    SourceColumn(B, "string", ValueEncoding.TEXT, "text"),
)
ONE, TWO = TableSchema(COLUMNS, (A,)), TableSchema(COLUMNS, (A, B))


def changes(
    spark: SparkSession,
    key: bytes | None,
    schema: TableSchema,
    *,
    after: Any = None,
    from_images: bool = False,
) -> DataFrame:
    """What a record with ``key`` does: upsert ``after``, or delete where there is none."""
    value = bytearray(json.dumps({"before": None, "after": after}).encode())
    op = "U" if after is not None else "D"
    events = spark.createDataFrame(
        [(at(5), op, key, value, None)],
        "position STRING, op STRING, key BINARY, value BINARY, schema_id LONG",
    )
    return debezium_changes(
        events,
        schema,
        key_from_images=from_images,
        backfills_before=False,
        encoding=JsonEncoding(),
    )


@pytest.mark.parametrize(
    ("key", "schema", "row_key"),
    [
        pytest.param(b'{"a":1}', ONE, (1,), id="its column"),
        pytest.param(b'{"b`b":"x","a":1}', TWO, (1, "x"), id="its columns in any order"),
        pytest.param(b'{"schema":{},"payload":{"a":1}}', ONE, (1,), id="with a schema"),
        pytest.param(
            b'{"a":1,"__dbz__physicalTableIdentifier":"shop.t1"}', ONE, (1,), id="a routed record"
        ),
        pytest.param(b'{"a":1,"b`b":"x"}', ONE, (None,), id="one more"),
        pytest.param(b'{"a":1}', TWO, (None, None), id="one less"),
        pytest.param(b'{"c":1}', ONE, (None,), id="another one"),
        pytest.param(b'{"a":1,"a":2}', ONE, (None,), id="one twice"),
        pytest.param(b"{}", ONE, (None,), id="none"),
        pytest.param(b'{"a":null}', ONE, (None,), id="nothing in it"),
        pytest.param(b"1", ONE, (None,), id="no object"),
        pytest.param(b"a", ONE, (None,), id="no JSON"),
    ],
)
def test_a_key_has_the_columns_of_its_table(
    spark: SparkSession, key: bytes, schema: TableSchema, row_key: tuple[Any, ...]
) -> None:
    """KEY-1: a row whose key has one more column may be any of several rows."""
    (row,) = changes(spark, key, schema).collect()
    assert (tuple(row["row_key"]), row["part"]) == (row_key, 0)


def test_a_key_has_the_names_of_its_time(spark: SparkSession) -> None:
    """SCHEMA-30"""
    found = []
    for renamed_at in (6, 4):
        schema = TableSchema(
            COLUMNS, (A,), column_renames=(ColumnRename(at(renamed_at), ((ColumnName("id"), A),)),)
        )
        for key in (b'{"id":1}', b'{"a":1}'):
            found += [row["row_key"]["a"] for row in changes(spark, key, schema).collect()]
    assert found == [1, None, None, 1]


ROW = {"a": 1, "b`b": "x"}


@pytest.mark.parametrize(
    ("key", "after", "from_images", "reason"),
    [
        pytest.param(b'{"a":1,"c":2}', ROW, False, "KEY_MISMATCH", id="one column more"),
        pytest.param(b'{"a":2}', ROW, False, "KEY_MISMATCH", id="not that of the row"),
        pytest.param(b'{"a":null}', ROW, False, "KEY_NULL", id="null"),
        pytest.param(b'{"a":"x"}', ROW, False, "KEY_UNDECODABLE", id="no number"),
        pytest.param(b"1", ROW, False, "KEY_UNDECODABLE", id="no object"),
        pytest.param(b'{"c":1}', None, False, "KEY_MISMATCH", id="a delete of another column"),
        pytest.param(None, {"b`b": "x"}, True, "KEY_NULL", id="a row without it"),
        pytest.param(b'{"c":1}', {"a": "x"}, True, "KEY_UNDECODABLE", id="a row with no number"),
        pytest.param(b'{"a":null}', None, True, "KEY_NULL", id="a delete with null"),
        pytest.param(None, None, True, "KEY_UNDECODABLE", id="a delete of nothing"),
    ],
)
def test_what_is_wrong_with_a_key_is_told(
    spark: SparkSession, key: bytes | None, after: Any, from_images: bool, reason: str
) -> None:
    """KEY-1, KEY-3, POISON-1"""
    encoding = JsonEncoding()
    image = debezium_image(ONE, encoding=encoding)
    why = key_reason(ONE, encoding.key_texts(), image, from_images=from_images)
    rows = changes(spark, key, ONE, after=after, from_images=from_images).withColumn("why", why)
    assert rows.select(F.col("why")).collect()[0][0] == reason


@pytest.mark.parametrize(
    "encodings",
    [
        (ValueEncoding.UNSIGNED_AS_SIGNED, ValueEncoding.DECIMAL_BASE64),
        (ValueEncoding.DECIMAL_BASE64, ValueEncoding.UNSIGNED_AS_SIGNED),
    ],
)
def test_keys_of_two_encodings(
    spark: SparkSession, encodings: tuple[ValueEncoding, ValueEncoding]
) -> None:
    """KEY-2, SCHEMA-4: numbers and decimals, as bigint.unsigned.handling.mode was and is."""
    sent = {ValueEncoding.UNSIGNED_AS_SIGNED: 5, ValueEncoding.DECIMAL_BASE64: "Bg=="}
    now, other = (SourceColumn(A, "decimal(20,0)", e, "bigint unsigned") for e in encodings)
    schema = TableSchema((replace(now, by_schema=(((2,), other),)), COLUMNS[1]), (A,))
    records = [
        (
            at(number),
            "U",
            bytearray(json.dumps({"schema": {}, "payload": {"a": sent[encoding]}}).encode()),
            bytearray(
                json.dumps(
                    {"schema": {}, "payload": {"op": "c", "after": {"a": sent[encoding]}}}
                ).encode()
            ),
            number,
        )
        for number, encoding in enumerate(encodings, 1)
    ]
    events = spark.createDataFrame(
        records, "position STRING, op STRING, key BINARY, value BINARY, schema_id LONG"
    )
    found = debezium_changes(
        events, schema, key_from_images=False, backfills_before=False, encoding=JsonEncoding()
    )
    assert sorted(str(row["row_key"]["a"]) for row in found.collect()) == ["5", "6"]


CODE, NOTE = ColumnName("code"), ColumnName("note")
CODED = TableSchema(
    (
        SourceColumn(A, "int", ValueEncoding.INTEGER, "integer"),
        SourceColumn(CODE, "string", ValueEncoding.TEXT, "text"),
        SourceColumn(NOTE, "string", ValueEncoding.TEXT, "text"),
    ),
    (CODE,),
)
NUMBERED = replace(CODED, key=(A,))
FIELDS = [
    {"field": "a", "optional": False},
    {"field": "code", "optional": False, "default": "x"},
    {"field": "note", "optional": True},
]


def image(code: str, note: str | None = None, a: int = 1) -> dict[str, Any]:
    return {"a": a, "code": code, "note": note}


BY_A, BY_CODE, BY_NOTE = b'{"a":1}', b'{"code":""}', b'{"note":"n"}'


@pytest.mark.parametrize(
    ("key", "before", "after", "schema", "ends"),
    [
        pytest.param(BY_A, image(""), None, CODED, [None], id="an empty text"),
        pytest.param(BY_A, image("c"), None, CODED, ["c"], id="a value"),
        pytest.param(BY_CODE, image(""), None, CODED, [""], id="by the key of the record"),
        pytest.param(None, image(""), None, CODED, [""], id="FULL, as no column is unique"),
        pytest.param(BY_NOTE, image("c", a=0), None, NUMBERED, [None], id="zero"),
        pytest.param(BY_NOTE, image("c", a=5), None, NUMBERED, [5], id="a number"),
        pytest.param(BY_A, image(""), image("d"), CODED, [None], id="an update"),
        pytest.param(BY_A, image("c"), image("d"), CODED, ["c", "d"], id="another key"),
        pytest.param(BY_A, image("d"), image("d"), CODED, ["d"], id="the same key"),
        pytest.param(BY_A, None, image("d"), CODED, ["d"], id="an update without before"),
        pytest.param(BY_A, image("", "n"), image("d"), CODED, ["", "d"], id="FULL by a null"),
    ],
)
@pytest.mark.parametrize("has_schema", [False, True], ids=["without schema", "with schema"])
def test_what_stands_for_null_is_no_key(  # noqa: PLR0913  what a record is
    spark: SparkSession,
    key: bytes | None,
    before: Any,
    after: Any,
    schema: TableSchema,
    ends: list[Any],
    *,
    has_schema: bool,
) -> None:
    """KEY-5: of a declared key that the replica identity of the table does not hold."""
    assert keys_of(spark, key, (before, after), schema, has_schema=has_schema) == ends


@pytest.mark.parametrize(
    ("before", "key"),
    [
        pytest.param(image("x"), None, id="a default"),
        pytest.param(image("x", "n"), "x", id="FULL by a nullable column"),
        pytest.param(image("", "n"), "", id="so that an empty text is one"),
    ],
)
def test_a_schema_tells_what_stands_for_null(
    spark: SparkSession, before: Any, key: str | None
) -> None:
    """KEY-5"""
    assert keys_of(spark, BY_A, (before, None), CODED, has_schema=True) == [key]


def keys_of(
    spark: SparkSession,
    key: bytes | None,
    images: tuple[Any, Any],
    schema: TableSchema,
    *,
    has_schema: bool,
) -> list[Any]:
    """The keys of the rows that a record of PostgreSQL ends or makes."""
    before, after = images
    value: dict[str, Any] = {"op": "u" if after else "d", "before": before, "after": after}
    if has_schema:
        parts = [{"field": part, "fields": FIELDS} for part in ("before", "after")]
        value = {"schema": {"fields": parts}, "payload": value}
    op = "U" if after else "D"
    events = spark.createDataFrame(
        [(at(5), op, key, bytearray(json.dumps(value).encode()), 1 if has_schema else None)],
        "position STRING, op STRING, key BINARY, value BINARY, schema_id LONG",
    )
    found = debezium_changes(
        events, schema, key_from_images=True, backfills_before=True, encoding=JsonEncoding()
    )
    return [row["row_key"][0] for row in found.orderBy("part").collect()]
