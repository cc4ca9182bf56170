"""Winners that have no image to be decoded."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.formats.rows import typed_rows
from tidemark.model.columns import LEFT_OUT, MISREAD, SourceColumn, TableSchema, Wire
from tidemark.model.names import ColumnName

ID, NAME = ColumnName("id"), ColumnName("name")
SCHEMA = TableSchema(
    (
        SourceColumn(ID, "int", Wire.INTEGER, "int"),
        SourceColumn(NAME, "string", Wire.TEXT, "varchar"),
    ),
    (ID,),
)


def test_an_upsert_without_an_image_is_misread_and_not_a_row_of_nulls(spark: SparkSession) -> None:
    """TYPE-2: nothing turns into null in silence; a delete needs no image."""
    winners = spark.createDataFrame(
        [("U", (1,), ("1", "a")), ("U", (2,), None), ("D", (3,), None)],
        "op STRING, row_key STRUCT<id: INT>, image STRUCT<id: STRING, name: STRING>",
    ).selectExpr("*", "'P' AS position", "current_timestamp() AS commit_time")
    left_out = F.array().cast("array<string>")
    rows = typed_rows(winners, SCHEMA, F.col("image"), left_out).orderBy("id").collect()
    assert [(row["id"], row["name"], row[MISREAD], row[LEFT_OUT]) for row in rows] == [
        (1, "a", None, None),
        (2, None, "id", None),
        (3, None, None, None),
    ]
