"""What stands in a record in place of a value: an infinite date, or one that was not sent."""

from __future__ import annotations

import json
from base64 import b64encode
from uuid import UUID

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.model.columns import SourceColumn, ValueEncoding

FIRST_POSTGRES_DAY, LAST_POSTGRES_DAY = -2_440_588, 2_145_031_948
"""4714-11-24 BC and 5874897-12-31, the ends of PostgreSQL's DATE, in days since 1970."""
_DRIVERS = (9_223_372_036_825_200_000, -9_223_372_036_832_400_000)
ENDS_OF_TIME = (*_DRIVERS, 2**63 - 1, -(2**63))
"""PostgreSQL's driver and the types of a record have these for infinity."""
_ENDS_IN_MILLIS = tuple(end // 1000 for end in _DRIVERS)
"""The driver's, taken for microseconds; in any other unit these are dates of 2262 and 1677."""
INFINITE_TEXT = (
    r"^([-+]?infinity|\+(294247|292278994|588\d{4})-.*|-(290308|292275055|292269055|587\d{4})-.*)$"
)

PLACEHOLDER = "__debezium_unavailable_value"
PLACEHOLDER_UUID = UUID("b68a35a7-17ad-35b3-af2a-ae46edb4545a")
_BASE64 = b64encode(PLACEHOLDER.encode()).decode()
PLAIN_PLACEHOLDERS = (PLACEHOLDER, json.dumps({PLACEHOLDER: PLACEHOLDER}, separators=(",", ":")))
PLACEHOLDER_ARRAYS: tuple[list[object], ...] = (
    [PLACEHOLDER],
    [_BASE64],
    [str(PLACEHOLDER_UUID)],
    list(PLACEHOLDER.encode()),
)
_ARRAYS = tuple(json.dumps(elements, separators=(",", ":")) for elements in PLACEHOLDER_ARRAYS)
_BINARY = (ValueEncoding.BASE64, ValueEncoding.BASE64_URL, ValueEncoding.HEX)


def infinite(raw: Column, column: SourceColumn) -> Column:
    """Whether ``raw`` is how a record writes PostgreSQL's ``infinity`` (TYPE-22)."""
    if column.encoding is ValueEncoding.DAYS:
        days = raw.try_cast("bigint")
        return days.isNotNull() & ~days.between(FIRST_POSTGRES_DAY, LAST_POSTGRES_DAY)
    in_millis = _ENDS_IN_MILLIS if column.encoding is ValueEncoding.TIMESTAMP_MILLIS else ()
    ends = map(str, (*ENDS_OF_TIME, *in_millis))
    return raw.isin(*ends) | F.lower(raw).rlike(INFINITE_TEXT)


def is_placeholder(raw: Column, column: SourceColumn) -> Column:
    """Whether ``raw`` says that the value did not change and was not sent (UNAV-1, UNAV-2)."""
    if column.element is not None:
        return raw.isin(*_ARRAYS)
    if column.encoding in _BINARY:
        return raw.isin(*PLAIN_PLACEHOLDERS, _BASE64)
    return raw.isin(*plain_placeholders(column))


def plain_placeholders(column: SourceColumn) -> tuple[str, ...]:
    """What stands for a text, which a connector truncates as it does all texts of the column."""
    most = column.most_chars or None
    return tuple(placeholder[:most] for placeholder in PLAIN_PLACEHOLDERS)
