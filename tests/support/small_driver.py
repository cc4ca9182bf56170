"""A driver that refuses what a collect of many values would bring to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

SETTING = "spark.driver.maxResultSize"


@contextmanager
def small_driver(spark: SparkSession, most_bytes: int) -> Iterator[None]:
    """Let no job of the session give more than ``most_bytes`` to the driver."""
    conf = spark.sparkContext._jsc.sc().conf()  # noqa: SLF001  PySpark has a copy of it
    before = conf.get(SETTING, "1g")
    conf.set(SETTING, str(most_bytes))
    try:
        yield
    finally:
        conf.set(SETTING, before)
