"""Positions built in Spark: the same fixed-width text that `model.position` describes."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.model.position import EPOCH, EPOCH_DIGITS, NUMBER_DIGITS, OFFSET_DIGITS

FIRST_MILLI, LAST_MILLI = -62_135_596_800_000, 253_402_300_799_999


def hexadecimal(number: Column, digits: int) -> Column:
    """A non-negative number as upper-case hexadecimal text of fixed width; null stays null."""
    return F.lpad(F.hex(number.cast("long")), digits, "0")


def position(*fields: Column) -> Column:
    """A position of this epoch from its fields, most significant first, the offset last."""
    epoch = F.lit(f"{EPOCH:0{EPOCH_DIGITS}X}")
    return F.concat(epoch, *fields, hexadecimal(F.col("offset"), OFFSET_DIGITS))


def number(text: Column) -> Column:
    """A number that may be written as digits or as a string of digits (MSG-5); else null."""
    return text.try_cast("long")


def commit_position(commit_ts: Column, *rest: Column) -> Column:
    """A TiCDC position: commitTs, then ``rest``, then the offset."""
    return position(hexadecimal(commit_ts, NUMBER_DIGITS), *rest)


def millis_to_time(millis: Column) -> Column:
    """Milliseconds since 1970 as a timestamp of the years 1 to 9999; else null, as of null."""
    epoch_ms = number(millis)
    return F.when(epoch_ms.between(FIRST_MILLI, LAST_MILLI), F.timestamp_millis(epoch_ms))
