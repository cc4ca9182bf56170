"""Types that a person declares for columns that the stream tells as well (SCHEMA-1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidemark.model.columns import SourceColumn, ValueEncoding
from tidemark.schema.connect_types import as_sent, refine

_TEXTS = (
    *(ValueEncoding.TEXT, ValueEncoding.INTEGER, ValueEncoding.BOOLEAN, ValueEncoding.DECIMAL_TEXT),
    *(
        ValueEncoding.DATE_TEXT,
        ValueEncoding.TIME_TEXT,
        ValueEncoding.TIMESTAMP_TEXT,
        ValueEncoding.ZONED_TEXT,
        ValueEncoding.LOCAL_TEXT,
    ),
)
"""What stands in records is a text that says it all, or as good as one."""
_NUMBERS = (
    ValueEncoding.DECIMAL_BASE64,
    ValueEncoding.DECIMAL_SCALED,
    ValueEncoding.UNSIGNED_AS_SIGNED,
)
"""Read as the text of a number, whatever stands in records."""
_OF_INTEGER = (
    *(
        ValueEncoding.DAYS,
        ValueEncoding.TIME_MILLIS,
        ValueEncoding.TIME_MICROS,
        ValueEncoding.TIME_NANOS,
    ),
    *(
        ValueEncoding.TIMESTAMP_MILLIS,
        ValueEncoding.TIMESTAMP_MICROS,
        ValueEncoding.TIMESTAMP_NANOS,
    ),
)
"""Written as an integer that only its type tells apart from others."""
_OF_TEXT: Mapping[str, ValueEncoding] = {
    "int": ValueEncoding.INTEGER,
    "bigint": ValueEncoding.INTEGER,
    "float": ValueEncoding.FLOAT,
    "double": ValueEncoding.DOUBLE,
    "boolean": ValueEncoding.BOOLEAN,
    "date": ValueEncoding.DATE_TEXT,
    "timestamp_ntz": ValueEncoding.TIMESTAMP_TEXT,
    "timestamp": ValueEncoding.ZONED_TEXT,
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
    encoding = _encoding(record, declared, may_be_unsigned=may_be_unsigned)
    if record.element is not None or encoding is None:
        return None
    digits = record.digits if encoding in _NUMBERS else declared.digits
    return as_sent(replace(declared, encoding=encoding, digits=digits), record)


def _encoding(
    record: SourceColumn, declared: SourceColumn, *, may_be_unsigned: bool
) -> ValueEncoding | None:
    is_text, is_decimal = declared.iceberg == "string", declared.iceberg.startswith("decimal")
    is_whole = record.encoding is ValueEncoding.INTEGER and not (
        record.iceberg == "bigint" and may_be_unsigned
    )
    if is_text and record.encoding in _NUMBERS:
        return record.encoding
    if is_text and record.encoding in _TEXTS:
        return (
            ValueEncoding.TEXT if record.encoding is not ValueEncoding.INTEGER or is_whole else None
        )
    if record.encoding is ValueEncoding.TEXT:
        return _OF_TEXT.get(declared.iceberg)
    if is_whole or record.encoding is ValueEncoding.DECIMAL_TEXT:
        if is_decimal:
            return ValueEncoding.DECIMAL_TEXT
        if declared.iceberg in _INTEGERS:
            return ValueEncoding.INTEGER
    is_count = record.encoding is ValueEncoding.INTEGER and declared.encoding in _OF_INTEGER
    return declared.encoding if is_count else None


def read_as_text(record: SourceColumn, *, may_be_unsigned: bool) -> bool:
    """Whether a column that is declared as text can be read from what records hold of it."""
    text = SourceColumn(record.name, "string", ValueEncoding.TEXT, "text")
    return overridden(record, text, may_be_unsigned=may_be_unsigned) is not None
