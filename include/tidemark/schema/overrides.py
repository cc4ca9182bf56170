"""Types that a person declares for columns that the stream tells as well (SCHEMA-1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidemark.model.columns import SourceColumn, Wire
from tidemark.schema.connect_types import refine

_TEXTS = (
    *(Wire.TEXT, Wire.INTEGER, Wire.BOOLEAN, Wire.DECIMAL_TEXT),
    *(Wire.DATE_TEXT, Wire.TIME_TEXT, Wire.TIMESTAMP_TEXT, Wire.ZONED_TEXT, Wire.LOCAL_TEXT),
)
"""What stands in records is a text that says it all, or as good as one."""
_NUMBERS = (Wire.DECIMAL_BASE64, Wire.DECIMAL_SCALED, Wire.UNSIGNED_AS_SIGNED)
"""Read as the text of a number, whatever stands in records."""
_OF_INTEGER = (
    *(Wire.DAYS, Wire.TIME_MILLIS, Wire.TIME_MICROS, Wire.TIME_NANOS),
    *(Wire.TIMESTAMP_MILLIS, Wire.TIMESTAMP_MICROS, Wire.TIMESTAMP_NANOS),
)
"""Written as an integer that only its type tells apart from others."""
_OF_TEXT: Mapping[str, Wire] = {
    "int": Wire.INTEGER,
    "bigint": Wire.INTEGER,
    "float": Wire.FLOAT,
    "double": Wire.DOUBLE,
    "boolean": Wire.BOOLEAN,
    "date": Wire.DATE_TEXT,
    "timestamp_ntz": Wire.TIMESTAMP_TEXT,
    "timestamp": Wire.ZONED_TEXT,
}
"""A target's type -> how a text is read into it."""
_INTEGERS = ("int", "bigint")


def overridden(
    record: SourceColumn,
    declared: SourceColumn,
    *,
    tells_singles: bool = False,
    may_be_unsigned: bool = False,
) -> SourceColumn | None:
    """``declared``, read from what records hold, ``record``; None where that cannot be done.

    No value may be lost on the way, but for one that does not fit: a conversion error.
    tells_singles: as of `refine`. may_be_unsigned: a bigint may be an unsigned one, so that its
    numbers are not what stands in records.
    """
    if (record.element is None) != (declared.element is None):
        return None
    refined = refine(record, declared, tells_singles=tells_singles)
    if refined is not record:
        return refined
    wire = _wire(record, declared, may_be_unsigned=may_be_unsigned)
    if record.element is not None or wire is None:
        return None
    digits = record.digits if wire in _NUMBERS else declared.digits
    return replace(declared, wire=wire, digits=digits)


def _wire(record: SourceColumn, declared: SourceColumn, *, may_be_unsigned: bool) -> Wire | None:
    is_text, is_decimal = declared.iceberg == "string", declared.iceberg.startswith("decimal")
    is_whole = record.wire is Wire.INTEGER and not (record.iceberg == "bigint" and may_be_unsigned)
    if is_text and record.wire in _NUMBERS:
        return record.wire
    if is_text and record.wire in _TEXTS:
        return Wire.TEXT if record.wire is not Wire.INTEGER or is_whole else None
    if record.wire is Wire.TEXT:
        return _OF_TEXT.get(declared.iceberg)
    if is_whole or record.wire is Wire.DECIMAL_TEXT:
        if is_decimal:
            return Wire.DECIMAL_TEXT
        if declared.iceberg in _INTEGERS:
            return Wire.INTEGER
    is_count = record.wire is Wire.INTEGER and declared.wire in _OF_INTEGER
    return declared.wire if is_count else None


def read_as_text(record: SourceColumn, *, may_be_unsigned: bool) -> bool:
    """Whether a column that is declared as text can be read from what records hold of it."""
    text = SourceColumn(record.name, "string", Wire.TEXT, "text")
    return overridden(record, text, may_be_unsigned=may_be_unsigned) is not None
