"""Reasons to refuse a record: null when it is good, so that they compose by `coalesce`."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.model.event import Reason

CORRUPT = "_corrupt_record"


def because(reason: Reason, violated: Column) -> Column:
    """``reason`` where ``violated`` is true, null elsewhere."""
    return F.when(violated, F.lit(reason.value))


def first_reason(*reasons: Column) -> Column:
    """The first reason that applies, in the given order; null when the record is good."""
    return F.coalesce(*reasons)


def unparsed(text: Column, parsed: Column) -> Column:
    """The value is blank, or no JSON object (MSG-3, MSG-4).

    parsed: `from_json` of ``text`` with a field named CORRUPT, Spark's own marker.
    """
    return first_reason(
        because(Reason.EMPTY_VALUE, F.trim(text) == ""),
        because(Reason.JSON_INVALID, parsed.isNull() | parsed[CORRUPT].isNotNull()),
    )
