"""Rows that audits read, and suites written as an operator writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

MARKER = "Qx7marker"


class Person(NamedTuple):
    """A row; every value that must not leave the table carries the marker or stands alone."""

    id: int
    email: str | None
    age: int | None


TABLE = [
    Person(1, f"a@{MARKER}", 31),
    Person(2, f"b@{MARKER}", None),
    Person(3, None, 77310977),
    Person(4, f"d.{MARKER}", -5),
    Person(5, f"a@{MARKER}", 40),
]
CHANGED = [person for person in TABLE if person.id in (2, 3, 4)]


def _frame(spark: SparkSession, people: list[Person]) -> DataFrame:
    frame = spark.createDataFrame(people, "id BIGINT, email STRING, age INT").coalesce(1).cache()
    frame.count()
    return frame


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Iterator[DataFrame]:
    frame = _frame(spark, TABLE)
    yield frame
    frame.unpersist()


@pytest.fixture(scope="module")
def changed(spark: SparkSession) -> Iterator[DataFrame]:
    frame = _frame(spark, CHANGED)
    yield frame
    frame.unpersist()
