"""Winners that have no image to be decoded, and those of a column that changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.formats.masked import PayloadMask
from tidemark.formats.rows import RowImage, typed_rows
from tidemark.model.column_rename import ColumnRename
from tidemark.model.column_rules import ColumnRules, Mask
from tidemark.model.columns import (
    CONVERSION_ERROR,
    POSITION,
    UNAVAILABLE,
    SourceColumn,
    TableSchema,
    ValueEncoding,
)
from tidemark.model.names import ColumnName
from tidemark.model.position import Position

ID, NAME = ColumnName("id"), ColumnName("name")
SCHEMA = TableSchema(
    (
        SourceColumn(ID, "int", ValueEncoding.INTEGER, "int"),
        SourceColumn(NAME, "string", ValueEncoding.TEXT, "varchar"),
    ),
    (ID,),
)


def told() -> RowImage:
    return RowImage(F.col("image"), F.array().cast("array<string>"), F.lit(False))


def test_an_upsert_without_an_image_has_conversion_error_and_not_a_row_of_nulls(
    spark: SparkSession,
) -> None:
    """TYPE-2: nothing turns into null in silence; a delete needs no image."""
    winners = spark.createDataFrame(
        [("U", (1,), ("1", "a")), ("U", (2,), None), ("D", (3,), None)],
        "op STRING, row_key STRUCT<id: INT>, image STRUCT<id: STRING, name: STRING>",
    ).selectExpr("*", "'P' AS position", "current_timestamp() AS commit_time")
    rows = typed_rows(winners, SCHEMA, told()).orderBy("id").collect()
    assert [(row["id"], row["name"], row[CONVERSION_ERROR], row[UNAVAILABLE]) for row in rows] == [
        (1, "a", None, None),
        (2, None, "id", None),
        (3, None, None, None),
    ]


def test_rows_up_to_a_change_are_read_by_the_type_that_was(spark: SparkSession) -> None:
    """SCHEMA-4: a float stays a float, and what was no double is not misread for that."""
    weight, key = ColumnName("weight"), SCHEMA.columns[0]
    former = SourceColumn(weight, "float", ValueEncoding.FLOAT, "float")
    column = SourceColumn(
        *(weight, "double", ValueEncoding.DOUBLE, "double"), former=former, changed_at=Position("5")
    )
    winners = spark.createDataFrame(
        [("4", (1,), ("1", "9.9")), ("5", (2,), ("2", "1e300")), ("6", (3,), ("3", "9.9"))],
        "position STRING, row_key STRUCT<id: INT>, image STRUCT<id: STRING, weight: STRING>",
    ).selectExpr("*", "'U' AS op", "current_timestamp() AS commit_time")
    schema = TableSchema((key, column), (ID,))
    rows = typed_rows(winners, schema, told()).orderBy("id").collect()
    assert [(row["weight"], row[CONVERSION_ERROR]) for row in rows] == [
        (9.899999618530273, None),
        (None, "weight"),
        (9.9, None),
    ]


def test_a_row_that_has_another_key_than_its_record_has_conversion_error(
    spark: SparkSession,
) -> None:
    """KEY-1, KEY-2: by their values; what an image leaves out of the key says nothing."""
    winners = spark.createDataFrame(
        [
            ("U", (1,), ("1", "a")),
            ("U", (2,), ("02", "a")),
            ("U", (3,), ("4", "a")),
            ("U", (5,), ("x", "a")),
            ("U", (6,), (None, "a")),
            ("U", (7,), ("__debezium_unavailable_value", "a")),
            ("D", (8,), ("9", "a")),
        ],
        "op STRING, row_key STRUCT<id: INT>, image STRUCT<id: STRING, name: STRING>",
    ).selectExpr("*", "'P' AS position", "current_timestamp() AS commit_time")
    rows = typed_rows(winners, SCHEMA, told()).orderBy("id").collect()
    assert [row["id"] for row in rows if row[CONVERSION_ERROR] == "id"] == [3, 5]


@pytest.mark.parametrize(
    ("hidden", "wrong"),
    [({"email"}, None), ({"email", "name"}, "name"), ({"first"}, "name"), ({"*"}, "name")],
)
def test_a_text_that_looks_masked_where_nobody_masks_is_one(
    spark: SparkSession, hidden: set[str], wrong: str | None
) -> None:
    """MASK-1."""
    winners = spark.createDataFrame(
        [("U", (1,), ("1", "tidemark:masked"))],
        "op STRING, row_key STRUCT<id: INT>, image STRUCT<id: STRING, name: STRING>",
    ).selectExpr("*", "'5' AS position", "current_timestamp() AS commit_time")
    row_image = replace(told(), hidden=frozenset(hidden))
    renames = (ColumnRename(Position("2"), ((ColumnName("first"), NAME),)),)
    schema = replace(SCHEMA, column_renames=renames)
    (row,) = typed_rows(winners, schema, row_image).collect()
    assert row["name"] == "tidemark:masked"
    assert row[CONVERSION_ERROR] == wrong


TOKENS = (
    *("7", "-70", "0", str(2**63 - 1), str(-(2**63)), str(2**63), "true", "false", "7.0"),
    *('"7"', '"007"', '"-0"', '"+7"', '" 7 "', '"true"', '"False"', '"x"', '""', '"7.0"', "null"),
)


@pytest.mark.parametrize(
    ("now", "former"),
    [("bigint", None), ("string", None), ("string", "bigint"), ("bigint", "string")],
)
def test_a_masked_record_tells_the_hash_of_each_value_that_is_read(
    spark: SparkSession, now: str, former: str | None
) -> None:
    """MASK-1, TYPE-9, SCHEMA-4: each record is read as its table was then."""
    encodings = {"bigint": ValueEncoding.INTEGER, "string": ValueEncoding.TEXT}

    def of(iceberg: str, **fields: Any) -> SourceColumn:
        return SourceColumn(NAME, iceberg, encodings[iceberg], iceberg, **fields)

    column = of(now)
    if former is not None:
        column = of(now, former=of(former), changed_at=Position("5"))
    rules = ColumnRules(hashed=(NAME,))
    schema = TableSchema((SCHEMA.columns[0], replace(column, mask=Mask.HASH)), (ID,))
    mask = PayloadMask(rules, is_canal=False)
    read = {}
    for is_masked in (False, True):
        records = []
        for number, token in enumerate(TOKENS):
            value = f'{{"after":{{"id":{number},"name":{token}}}}}'
            value = mask.masked(value.encode()).decode() if is_masked else value
            records += [(position, (number,), value) for position in ("5", "6")]
        form = "STRUCT<after: STRUCT<id: STRING, name: STRING>>"
        winners = spark.createDataFrame(
            records, "position STRING, row_key STRUCT<id: INT>, value STRING"
        ).selectExpr(
            "*",
            f"from_json(value, '{form}').after AS image",
            "'U' AS op",
            "current_timestamp() AS commit_time",
        )
        row_image = replace(told(), hidden=frozenset({"name"} if is_masked else ()))
        rows = typed_rows(winners, schema, row_image).collect()
        read[is_masked] = {
            (TOKENS[row["id"]], row[POSITION]): row["name"]
            for row in rows
            if row[CONVERSION_ERROR] is None
        }
    raw, masked = read[False], read[True]
    assert len(raw) > len(TOKENS)
    # A number with a fraction is read through a double, so that its text is not the one it has.
    kept = {at: value for at, value in raw.items() if at[0] not in ("7.0", str(2**63))}
    assert {at: masked.get(at) for at in kept} == kept
