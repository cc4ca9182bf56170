"""What is told of a value that does not fit its column."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.formats.conversion_errors import MAX_CHARACTERS, change_reason, conversion_reason
from tidemark.formats.values import conversion_error, typed
from tidemark.model.columns import (
    CHANGE,
    CONVERSION_ERROR,
    UNAVAILABLE,
    SourceColumn,
    TableSchema,
    ValueEncoding,
)
from tidemark.model.event import Reason
from tidemark.model.names import ColumnName

CASES = [
    ("int", ValueEncoding.INTEGER, "3000000000", Reason.VALUE_OUT_OF_RANGE),
    ("int", ValueEncoding.INTEGER, "heavy", Reason.TYPE_MISMATCH),
    ("int", ValueEncoding.INTEGER, '{"a":1}', Reason.TYPE_MISMATCH),
    ("float", ValueEncoding.FLOAT, "1e300", Reason.VALUE_OUT_OF_RANGE),
    ("decimal(4,2)", ValueEncoding.DECIMAL_TEXT, "123.45", Reason.DECIMAL_OVERFLOW),
    ("decimal(4,2)", ValueEncoding.DECIMAL_TEXT, "NaN", Reason.TYPE_MISMATCH),
    ("date", ValueEncoding.DATE_TEXT, "0000-01-01", Reason.TEMPORAL_INVALID),
    ("timestamp_ntz", ValueEncoding.TIMESTAMP_MILLIS, "99999999999999999", Reason.TEMPORAL_INVALID),
    ("binary", ValueEncoding.HEX, "abc", Reason.BINARY_INVALID),
    ("string", ValueEncoding.ENUM_INDEX, "9", Reason.ENUM_UNKNOWN),
    ("boolean", ValueEncoding.BOOLEAN, "maybe", Reason.TYPE_MISMATCH),
    ("array<int>", ValueEncoding.INTEGER, "[1,3000000000]", Reason.TYPE_MISMATCH),
]


@pytest.mark.parametrize(("iceberg", "wire", "raw", "reason"), CASES)
def test_a_conversion_reason_has_a_reason(
    spark: SparkSession, iceberg: str, wire: ValueEncoding, raw: str, reason: Reason
) -> None:
    """POISON-1, TYPE-2."""
    column = SourceColumn(ColumnName("c"), iceberg, wire, iceberg, digits=2, labels=("a", "b"))
    rows = spark.createDataFrame([(raw,)], "raw STRING")
    lost = conversion_error(F.col("raw"), typed(F.col("raw"), column), column)
    found = rows.select(
        lost.alias("lost"), conversion_reason(F.col("raw"), column).alias("why")
    ).collect()[0]
    assert (found["lost"], found["why"]) == (True, reason.value)


def test_a_record_without_an_image_may_be_too_large(spark: SparkSession) -> None:
    """POISON-6: what the reader of JSON does not take is no row, however whole it is."""
    rows = spark.createDataFrame(
        [("c", ((None,), MAX_CHARACTERS + size, False, None), None) for size in (0, 1)],
        f"{CONVERSION_ERROR} STRING, {CHANGE} STRUCT<image: STRUCT<c: STRING>, bytes: LONG, "
        f"contradicts: BOOLEAN, key_reason: STRING>, {UNAVAILABLE} ARRAY<STRING>",
    ).withColumn(CHANGE, F.col(CHANGE).withField("image", F.lit(None)))
    column = SourceColumn(ColumnName("c"), "string", ValueEncoding.TEXT, "text")
    why = change_reason(TableSchema((column,)), F.lit("U"))
    found = rows.select(why).collect()
    assert [row[0] for row in found] == ["IMAGE_MISSING", "RECORD_TOO_LARGE"]
