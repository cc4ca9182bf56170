"""A value that is needed more than once in one expression."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F


def once(value: Column, reading: Callable[[Column], Column]) -> Column:
    """``reading`` of ``value``, which Spark would otherwise compute wherever it is named."""
    return F.get(F.transform(F.array(value), reading), F.lit(0))
