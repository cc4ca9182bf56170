"""Statements that stand where others do."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.model.position import EPOCH_DIGITS, NUMBER_DIGITS, OFFSET_DIGITS
from tidemark.runs.ddl.records import stands_at

STATEMENTS = 2_000


def test_the_statements_of_years_are_found_by_their_events(spark: SparkSession) -> None:
    """MSG-24: more events than a chain of conditions bears, and two copies at each."""
    place, offset = (f"{{:0{n}X}}" for n in (8 + NUMBER_DIGITS + 1, OFFSET_DIGITS))
    events = {
        n: "0" * (EPOCH_DIGITS - 1) + "1" + place.format(10 * n) for n in range(1, STATEMENTS + 1)
    }
    stored = [f"{event}{offset.format(copy)}" for event in events.values() for copy in (1, 2)]
    landed = spark.createDataFrame([(position,) for position in stored], "position string")
    wanted = {event for n, event in events.items() if n % 2}
    there = landed.where(stands_at(wanted)).groupBy(F.col("position").substr(1, 29)).count()
    assert {row[0]: row[1] for row in there.collect()} == dict.fromkeys(wanted, 2)
