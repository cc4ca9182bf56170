"""What values lose on their way into a record, and which setting of the source spares it (TYPE-3).

`docs/types.md` lists what cannot be had at all.
"""

from __future__ import annotations

from tidemark.model.columns import SourceColumn, ValueEncoding
from tidemark.model.modes import DecimalMode, IntervalMode, TimeMode
from tidemark.model.uncertain_nulls import has_uncertain_nulls
from tidemark.schema.postgres_types import PostgresType, parse_postgres_type
from tidemark.schema.source_types import MILLIS_DIGITS
from tidemark.schema.type_text import parse_type
from tidemark.spec import SourceFormat, SourceSpec

_DECIMALS = ("decimal", "numeric", "money")
_MILLIS = (ValueEncoding.TIMESTAMP_MILLIS, ValueEncoding.TIME_MILLIS)
_POSTGRES_DIGITS = 6
"""Fraction digits of a time or timestamp that PostgreSQL shows without any."""

_NULLED = (
    "large values that an update does not change, which are sent as null: where a row had such a "
    "value, a null is in doubt; REPLICA IDENTITY FULL sends them"
)
_MASKED = (
    "large values that an update does not change, for which the hash of a placeholder is sent "
    "where column.mask.hash is set; REPLICA IDENTITY FULL sends them"
)


def loss_of(column: SourceColumn, source: SourceSpec) -> str | None:
    """What records lack of the values of ``column``; None where type and settings tell nothing."""
    if source.format is SourceFormat.DEBEZIUM_POSTGRES:
        return _of_postgres(column, source)
    parsed = parse_type(column.source_type)
    if parsed is None:
        return None
    if source.format.is_canal:
        return _of_canal(column, parsed.base, source)
    return _of_connector(column, parsed.base, parsed.numbers, source)


def _of_connector(
    column: SourceColumn, base: str, numbers: tuple[int, ...], source: SourceSpec
) -> str | None:
    if base in _DECIMALS and source.modes.decimal is DecimalMode.DOUBLE:
        return "digits beyond the 15 of a double; decimal.handling.mode=precise sends all"
    if column.encoding in _MILLIS and numbers and numbers[0] > MILLIS_DIGITS:
        return "microseconds; any other time.precision.mode than connect sends them"
    if base == "time" and source.modes.time is TimeMode.ISOSTRING:
        return (
            "times outside of a day, which are sent as null; "
            "time.precision.mode=adaptive_time_microseconds sends them"
        )
    return None


def _of_postgres(column: SourceColumn, source: SourceSpec) -> str | None:
    parsed = parse_postgres_type(column.source_type)
    if parsed is None:
        return None
    lost = (
        _of_postgres_modes(column, parsed, source),
        _NULLED if has_uncertain_nulls(column) else None,
        _MASKED if column.is_masked_at_source and column.may_be_unavailable else None,
    )
    return "; and ".join(filter(None, lost)) or None


def _of_postgres_modes(
    column: SourceColumn, parsed: PostgresType, source: SourceSpec
) -> str | None:
    if parsed.base == "interval" and source.modes.interval is IntervalMode.NUMERIC:
        return "months, which count as 30.4375 days; interval.handling.mode=string sends them"
    if parsed.base == "bit varying" and column.encoding is ValueEncoding.BYTES_TEXT:
        return "its length; targets hold whole bytes"
    return _of_connector(column, parsed.base, parsed.numbers or (_POSTGRES_DIGITS,), source)


def _of_canal(column: SourceColumn, base: str, source: SourceSpec) -> str | None:
    if base in {"enum", "set"} and column.encoding is ValueEncoding.INTEGER:
        return "labels; records hold their numbers"
    if base == "timestamp" and source.zone is None:
        return "its zone; source.zone says in which one they are written"
    if base == "binary" and source.format is SourceFormat.CANAL_JSON:
        return "zero bytes at the end; VARBINARY keeps them"
    return None
