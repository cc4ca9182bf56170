"""Rows that differ between two cuts, by their keys."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tidemark.lake.feed import CHANGE_TYPE
from tidemark.runs.changes import ChangedKey, Changes, changed_keys

KEY, OTHER = "a.b`c", "n.`m"


def changes(spark: SparkSession) -> Changes:
    """Of rows 7 to 10 and one without a key."""
    types = f"`{CHANGE_TYPE}` string, `a.b``c` int, key_0 double, `n.``m` map<string, int>"
    rows = spark.createDataFrame(
        [
            ("INSERT", 10, 1.0, None),
            ("DELETE", 9, 1.0, {"x": 1}),
            ("UPDATE_BEFORE", 8, float("nan"), {"x": 1, "y": 2}),
            ("UPDATE_AFTER", 8, float("nan"), {"y": 2, "x": 3}),
            ("UPDATE_AFTER", 7, 2.0, None),
            ("UPDATE_BEFORE", 7, None, None),
            ("INSERT", None, None, None),
        ],
        types,
    )
    return Changes(rows, (KEY,), (KEY, "key_0", OTHER), ())


def test_keys_of_any_name_come_in_their_own_order(spark: SparkSession) -> None:
    """FEED-1: 10 is behind 9, and of an update those columns are named that have other values."""
    expected = [
        ChangedKey((None,), "INSERT"),
        ChangedKey((7,), "UPDATE", ("key_0",)),
        ChangedKey((8,), "UPDATE", (OTHER,)),
        ChangedKey((9,), "DELETE"),
        ChangedKey((10,), "INSERT"),
    ]
    assert changed_keys(changes(spark), 9) == expected
    assert changed_keys(changes(spark), 3) == expected[:3]
