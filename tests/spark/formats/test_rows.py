"""Winners that have no image to be decoded, and those of a column that changed."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.formats.rows import RowImage, typed_rows
from tidemark.model.columns import (
    CONVERSION_ERROR,
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
