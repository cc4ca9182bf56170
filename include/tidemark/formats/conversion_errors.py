"""Why a value does not fit its column, as far as its text tells (POISON-1)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.formats.aliased import whole_key
from tidemark.model.columns import (
    CHANGE,
    CONVERSION_ERROR,
    UNAVAILABLE,
    SourceColumn,
    TableSchema,
    ValueEncoding,
)
from tidemark.model.event import Op, Reason

MAX_CHARACTERS = 20_000_000
"""The longest text that Spark's reader of JSON takes."""
NUMBER = r"^[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?$"
_TEMPORAL = (
    *(
        ValueEncoding.DAYS,
        ValueEncoding.DATE_TEXT,
        ValueEncoding.ZONED_TEXT,
        ValueEncoding.LOCAL_TEXT,
    ),
    *(
        ValueEncoding.TIMESTAMP_MILLIS,
        ValueEncoding.TIMESTAMP_MICROS,
        ValueEncoding.TIMESTAMP_NANOS,
        ValueEncoding.TIMESTAMP_TEXT,
    ),
    *(
        ValueEncoding.TIME_MILLIS,
        ValueEncoding.TIME_MICROS,
        ValueEncoding.TIME_NANOS,
        ValueEncoding.TIME_TEXT,
    ),
)
_BINARY = (
    *(
        ValueEncoding.BASE64,
        ValueEncoding.BASE64_URL,
        ValueEncoding.HEX,
        ValueEncoding.LATIN1,
        ValueEncoding.GEOMETRY,
        ValueEncoding.GEOMETRY_LATIN1,
    ),
    *(
        ValueEncoding.BITS,
        ValueEncoding.BITS_NUMBER,
        ValueEncoding.BITS_TEXT,
        ValueEncoding.BYTES_TEXT,
    ),
)
_BY_ENCODING: Mapping[ValueEncoding, Reason] = {
    **dict.fromkeys(_TEMPORAL, Reason.TEMPORAL_INVALID),
    **dict.fromkeys(_BINARY, Reason.BINARY_INVALID),
    **dict.fromkeys((ValueEncoding.ENUM_INDEX, ValueEncoding.SET_MASK), Reason.ENUM_UNKNOWN),
    **dict.fromkeys(
        (ValueEncoding.DECIMAL_BASE64, ValueEncoding.DECIMAL_SCALED), Reason.DECIMAL_OVERFLOW
    ),
}
_NUMBERS: Mapping[ValueEncoding, Reason] = {
    ValueEncoding.DECIMAL_TEXT: Reason.DECIMAL_OVERFLOW,
    **dict.fromkeys(
        (
            ValueEncoding.INTEGER,
            ValueEncoding.UNSIGNED_AS_SIGNED,
            ValueEncoding.FLOAT,
            ValueEncoding.DOUBLE,
        ),
        Reason.VALUE_OUT_OF_RANGE,
    ),
}


def conversion_reason(raw: Column, column: SourceColumn) -> Column:
    """The reason for a value ``raw`` that `formats.values.conversion_error` found lost."""
    if column.encoding in _BY_ENCODING:
        return F.lit(_BY_ENCODING[column.encoding].value)
    mismatch = F.lit(Reason.TYPE_MISMATCH.value)
    if column.encoding not in _NUMBERS or column.element is not None:
        return mismatch
    return F.when(raw.rlike(NUMBER), F.lit(_NUMBERS[column.encoding].value)).otherwise(mismatch)


def key_reason(schema: TableSchema, texts: Column, image: Column, *, from_images: bool) -> Column:
    """Why a change is of no row, if its key is at fault (KEY-1, KEY-3).

    In: changes of a table with their ``row_key``. texts: `Decoder.key_texts`. image: the texts of
    the row. from_images: whether that tells the key, and not the record's own.
    """
    record_key = whole_key(texts, schema)
    has_others = texts.isNotNull() & record_key.isNull() & ~F.lit(from_images)
    first, second = (image, record_key) if from_images else (record_key, image)
    nulls = (
        F.when(first.isNotNull(), first[name]).otherwise(second[name]).isNull()
        for name in schema.key
    )
    has_key = first.isNotNull() | second.isNotNull()
    is_typed = reduce(and_, (F.col("row_key")[name].isNotNull() for name in schema.key))
    return (
        F.when(is_typed | has_others, F.lit(Reason.KEY_MISMATCH.value))
        .when(has_key & reduce(or_, nulls), F.lit(Reason.KEY_NULL.value))
        .otherwise(F.lit(Reason.KEY_UNDECODABLE.value))
    )


def change_reason(schema: TableSchema, op: Column) -> Column:
    """Why a change cannot be applied; null where it can.

    In: `formats.rows.typed_rows` of ``schema`` with CHANGE, whose ``image`` holds the texts of the
    row, ``bytes`` the size of its record, ``contradicts`` whether that says two things about one
    name, and ``key_reason`` what `key_reason` says. op: of the change.
    """
    image, column = F.col(f"{CHANGE}.image"), F.col(CONVERSION_ERROR)
    conversion_errors = (
        F.when(column == field.name, conversion_reason(image[field.name], field))
        for field in schema.columns
        if field.name not in schema.key
    )
    no_image = column.isNotNull() & (op == Op.UPSERT.value) & image.isNull()
    is_large = F.col(f"{CHANGE}.bytes") > MAX_CHARACTERS
    return (
        F.when(F.col(f"{CHANGE}.contradicts"), F.lit(Reason.JSON_DUPLICATE_KEY.value))
        .when(no_image & is_large, F.lit(Reason.RECORD_TOO_LARGE.value))
        .when(no_image, F.lit(Reason.IMAGE_MISSING.value))
        .when(column.isin(*schema.key), F.col(f"{CHANGE}.key_reason"))
        .when(column.isNotNull(), F.coalesce(*conversion_errors, F.lit(Reason.TYPE_MISMATCH.value)))
        .when(F.col(UNAVAILABLE).isNotNull(), F.lit(Reason.UNAVAILABLE_UNRESOLVED.value))
    )
