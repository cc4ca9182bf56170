"""A value's text as it stands in a record, to the value of the target's type.

A builder never fails on a value: what it cannot read exactly becomes null, and `conversion_error`
tells, so that nothing turns into null, rounds or is cut in silence (TYPE-2). The session runs in
UTC with ANSI on (TYPE-7); Spark's TIMESTAMP_NTZ is Iceberg's timestamp, its TIMESTAMP the
timestamptz.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.formats.decimals import (
    decimal_from_base64,
    decimal_from_scaled,
    decimal_from_text,
)
from tidemark.formats.special import infinite
from tidemark.model.columns import SourceColumn, ValueEncoding

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31 in days since 1970: what sources write, and every reader can read."""
DAY_MILLIS = 86_400_000
FIRST_MILLI, LAST_MILLI = FIRST_DAY * DAY_MILLIS, (LAST_DAY + 1) * DAY_MILLIS - 1
LAST_DURATION_MILLI = 839 * 3_600_000 - 1
"""A TIME of MySQL reaches 838:59:59, in both directions."""
TIME = r"^-?[0-9]{2,3}:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?Z?$"
MICRO_DIGITS = 6
ZERO_DATE = r"^[0-9]{4}-(00-[0-9]{2}|[0-9]{2}-00)"
_DATES = (ValueEncoding.DATE_TEXT, ValueEncoding.TIMESTAMP_TEXT, ValueEncoding.LOCAL_TEXT)


def typed(raw: Column, column: SourceColumn) -> Column:
    """The value of ``raw`` in the type ``column.iceberg``; null where it cannot be read.

    raw: the JSON value as `from_json` reads it into a STRING: a number's text, a string without
    quotes, an object's JSON.
    """
    element = column.element
    return _array(raw, element) if element else _READERS[column.encoding](raw, column)


def conversion_error(
    raw: Column, value: Column, column: SourceColumn, *, has_zero_dates: bool = True
) -> Column:
    """Whether ``value``, typed from ``raw``, lost what was there.

    Infinity has no value. has_zero_dates: nor has a date whose month or day is zero (TYPE-12).
    """
    lost = raw.isNotNull() & value.isNull()
    if has_zero_dates and column.encoding in _DATES:
        lost = lost & ~raw.rlike(ZERO_DATE)
    return lost & ~infinite(raw, column) if column.has_infinity else lost


def _array(raw: Column, element: SourceColumn) -> Column:
    """Elements of one type; null when any of them is lost."""
    texts = F.from_json(raw, "ARRAY<STRING>")
    lost = F.exists(texts, lambda text: conversion_error(text, typed(text, element), element))
    return F.when(~lost, F.transform(texts, lambda text: typed(text, element)))


def _integer(raw: Column, column: SourceColumn) -> Column:
    of_boolean = F.when(raw == "true", F.lit(1)).when(raw == "false", F.lit(0))
    return F.coalesce(raw.try_cast(column.iceberg), of_boolean.cast(column.iceberg))


def _unsigned_as_signed(raw: Column, column: SourceColumn) -> Column:
    signed = raw.try_cast("bigint")
    overflowed = F.when(signed < 0, F.lit(Decimal(2**64))).otherwise(F.lit(Decimal(0)))
    return (signed + overflowed).cast(column.iceberg)


def _floating(raw: Column, column: SourceColumn) -> Column:
    number = raw.try_cast(column.iceberg)
    return F.when((F.abs(number) != float("inf")) | raw.endswith("Infinity"), number)


def _boolean(raw: Column, _: SourceColumn) -> Column:
    return F.when(raw.isin("true", "1"), F.lit(True)).when(raw.isin("false", "0"), F.lit(False))


def _text(raw: Column, _: SourceColumn) -> Column:
    return raw


def _base64(raw: Column, _: SourceColumn) -> Column:
    return F.try_to_binary(raw, F.lit("base64"))


def _base64_url(raw: Column, _: SourceColumn) -> Column:
    return F.try_to_binary(F.translate(raw, "-_", "+/"), F.lit("base64"))


def _hex(raw: Column, _: SourceColumn) -> Column:
    return F.when(F.length(raw) % 2 == 0, F.try_to_binary(raw, F.lit("hex")))


def _latin1(raw: Column, _: SourceColumn) -> Column:
    return F.encode(F.when(~raw.rlike(r"[^\x00-\xFF]"), raw), "ISO-8859-1")


def _bits(raw: Column, column: SourceColumn) -> Column:
    """Debezium writes the least significant byte first, targets hold the most significant first."""
    return _left_padded(_mirrored(F.try_to_binary(raw, F.lit("base64"))), column)


def _mirrored(least_first: Column) -> Column:
    """Hexadecimal text of bytes in reverse order."""
    return F.regexp_replace(F.reverse(F.hex(least_first)), "(.)(.)", "$2$1")


def _bits_text(raw: Column, column: SourceColumn) -> Column:
    """As many digits as the type has bits; none that is set may lie beyond them (TYPE-23)."""
    set_bits = F.ltrim(_bytes_text(raw, column), F.lit("0"))
    fits = F.when(F.length(set_bits) <= column.digits, F.lit(column.digits))
    return F.lpad(set_bits, fits, F.lit("0"))


def _bytes_text(raw: Column, _: SourceColumn) -> Column:
    """Digits of whole bytes: of a BIT VARYING the leading zeros are lost at the source."""
    digits = F.split(_mirrored(F.try_to_binary(raw, F.lit("base64"))), "")
    bits = F.transform(digits, lambda digit: F.lpad(F.conv(digit, 16, 2), 4, "0"))
    return F.array_join(bits, "")


def _bits_number(raw: Column, column: SourceColumn) -> Column:
    holds = raw.try_cast("decimal(20,0)") < Decimal(2**column.digits)
    return _left_padded(F.conv(F.when(raw.rlike("^[0-9]+$") & holds, raw), 10, 16), column)


def _enum_label(raw: Column, column: SourceColumn) -> Column:
    """The label that an index from 1 names; 0 is MySQL's empty text for what was invalid."""
    index = F.when(raw.rlike("^[0-9]+$"), raw.try_cast("int"))
    labels = F.array(*map(F.lit, ("", *column.labels)))
    return F.get(labels, index)


def _set_labels(raw: Column, column: SourceColumn) -> Column:
    """The labels whose bits are set, the first one's the lowest; 0 is the empty text."""
    holds = raw.try_cast("decimal(20,0)") < Decimal(2 ** len(column.labels))
    mask = F.conv(F.when(raw.rlike("^[0-9]+$") & holds, raw), 10, -10).cast("bigint")
    chosen = (
        F.when(F.getbit(mask, F.lit(bit)) == 1, F.lit(label))
        for bit, label in enumerate(column.labels)
    )
    return F.when(mask.isNotNull(), F.concat_ws(",", *chosen))


def _left_padded(hexadecimal: Column, column: SourceColumn) -> Column:
    width = 2 * column.bit_bytes
    fits = F.when(F.length(hexadecimal) <= width, F.lit(width))
    return F.unhex(F.lpad(hexadecimal, fits, F.lit("0")))


def _days(raw: Column, _: SourceColumn) -> Column:
    days = raw.try_cast("int")
    return F.when(days.between(FIRST_DAY, LAST_DAY), F.date_from_unix_date(days))


def _date_text(raw: Column, _: SourceColumn) -> Column:
    date = F.rtrim(raw, F.lit("Z"))
    return F.when(_has_year(raw) & (F.length(date) == 10), date.try_cast("date"))


def _timestamp_text(raw: Column, _: SourceColumn) -> Column:
    return F.when(_has_year(raw) & (F.length(raw) >= 19), raw.try_cast("timestamp_ntz"))


def _zoned_text(raw: Column, _: SourceColumn) -> Column:
    return F.when(_has_year(raw) & (F.length(raw) >= 19), raw.try_cast("timestamp"))


def _local_text(raw: Column, column: SourceColumn) -> Column:
    return F.to_utc_timestamp(_timestamp_text(raw, column).cast("timestamp"), column.zone)


def _has_year(raw: Column) -> Column:
    """A year of four digits that is not 0000: zero dates are no dates (TYPE-12)."""
    return (F.substring(raw, 5, 1) == "-") & ~raw.startswith("0000")


def _timestamp_millis(raw: Column, _: SourceColumn) -> Column:
    millis = _within(raw, FIRST_MILLI, LAST_MILLI)
    return F.timestamp_millis(millis).cast("timestamp_ntz")


def _timestamp_micros(raw: Column, _: SourceColumn) -> Column:
    micros = _within(raw, FIRST_MILLI * 1_000, LAST_MILLI * 1_000 + 999)
    return F.timestamp_micros(micros).cast("timestamp_ntz")


def _timestamp_nanos(raw: Column, column: SourceColumn) -> Column:
    moment = F.timestamp_micros(_whole_micros(raw.try_cast("bigint"))).cast("timestamp_ntz")
    # In this unit alone the numbers that stand for infinity are dates, of 1677 and 2262.
    return F.when(~infinite(raw, column), moment) if column.has_infinity else moment


def _time_millis(raw: Column, column: SourceColumn) -> Column:
    return _duration(_within(raw, -LAST_DURATION_MILLI, LAST_DURATION_MILLI) * 1_000, column)


def _time_micros(raw: Column, column: SourceColumn) -> Column:
    last = LAST_DURATION_MILLI * 1_000 + 999
    return _duration(_within(raw, -last, last), column)


def _time_nanos(raw: Column, column: SourceColumn) -> Column:
    last = LAST_DURATION_MILLI * 1_000_000 + 999_999
    return _duration(_whole_micros(_within(raw, -last, last)), column)


def _time_text(raw: Column, column: SourceColumn) -> Column:
    time = F.rtrim(F.when(raw.rlike(TIME), raw), F.lit("Z"))
    if not column.digits:
        return time
    point = F.instr(time, ".")
    padded = F.rpad(time, F.greatest(F.length(time), point + F.lit(column.digits)), F.lit("0"))
    return F.when(point == 0, F.concat(time, F.lit(f".{'0' * column.digits}"))).otherwise(padded)


def _within(raw: Column, first: int, last: int) -> Column:
    number = raw.try_cast("bigint")
    return F.when(number.between(first, last), number)


def _whole_micros(nanos: Column) -> Column:
    return F.when(nanos % 1_000 == 0, _div(nanos, 1_000))


def _duration(micros: Column, column: SourceColumn) -> Column:
    """``[-]HH:MM:SS[.ffffff]`` with the column's fraction digits, or more if there are more."""
    size = F.abs(micros)
    seconds = _div(size, 1_000_000)
    hours = _div(seconds, 3_600).cast("string")
    unit = 10 ** (MICRO_DIGITS - column.digits)
    fraction = F.concat(F.lit("."), F.lpad((size % 1_000_000).cast("string"), 6, "0"))
    as_declared = F.left(fraction, F.lit(column.digits + 1)) if column.digits else F.lit("")
    return F.concat(
        F.when(micros < 0, F.lit("-")).otherwise(F.lit("")),
        F.when(F.length(hours) < 2, F.concat(F.lit("0"), hours)).otherwise(hours),
        F.lit(":"),
        F.lpad((_div(seconds, 60) % 60).cast("string"), 2, "0"),
        F.lit(":"),
        F.lpad((seconds % 60).cast("string"), 2, "0"),
        F.when(size % unit == 0, as_declared).otherwise(F.rtrim(fraction, F.lit("0"))),
    )


def _div(number: Column, by: int) -> Column:
    return F.call_function("div", number, F.lit(by))


def _geometry(raw: Column, _: SourceColumn) -> Column:
    written = F.from_json(raw, "wkb STRING, srid STRING")
    wkb = F.try_to_binary(written["wkb"], F.lit("base64"))
    srid = written["srid"].try_cast("int")
    read = wkb.isNotNull() & (srid.isNotNull() | written["srid"].isNull())
    return F.when(read, F.struct(srid.alias("srid"), wkb.alias("wkb")))


def _geometry_latin1(raw: Column, column: SourceColumn) -> Column:
    """As MySQL stores it: four bytes of SRID, the least significant first, then the WKB."""
    stored = _latin1(raw, column)
    srid = F.conv(_mirrored(F.substring(stored, 1, 4)), 16, 10).try_cast("int")
    read = (F.length(stored) > 4) & srid.isNotNull()
    return F.when(
        read,
        F.struct(srid.alias("srid"), F.substring(stored, F.lit(5), F.length(stored)).alias("wkb")),
    )


def _map(raw: Column, column: SourceColumn) -> Column:
    return F.from_json(raw, column.iceberg)


_READERS: Mapping[ValueEncoding, Callable[[Column, SourceColumn], Column]] = {
    ValueEncoding.INTEGER: _integer,
    ValueEncoding.UNSIGNED_AS_SIGNED: _unsigned_as_signed,
    ValueEncoding.FLOAT: _floating,
    ValueEncoding.DOUBLE: _floating,
    ValueEncoding.BOOLEAN: _boolean,
    ValueEncoding.TEXT: _text,
    ValueEncoding.BASE64: _base64,
    ValueEncoding.BASE64_URL: _base64_url,
    ValueEncoding.HEX: _hex,
    ValueEncoding.LATIN1: _latin1,
    ValueEncoding.BITS: _bits,
    ValueEncoding.BITS_NUMBER: _bits_number,
    ValueEncoding.ENUM_INDEX: _enum_label,
    ValueEncoding.SET_MASK: _set_labels,
    ValueEncoding.BITS_TEXT: _bits_text,
    ValueEncoding.BYTES_TEXT: _bytes_text,
    ValueEncoding.DECIMAL_TEXT: decimal_from_text,
    ValueEncoding.DECIMAL_BASE64: decimal_from_base64,
    ValueEncoding.DECIMAL_SCALED: decimal_from_scaled,
    ValueEncoding.DAYS: _days,
    ValueEncoding.TIMESTAMP_MILLIS: _timestamp_millis,
    ValueEncoding.TIMESTAMP_MICROS: _timestamp_micros,
    ValueEncoding.TIMESTAMP_NANOS: _timestamp_nanos,
    ValueEncoding.TIMESTAMP_TEXT: _timestamp_text,
    ValueEncoding.DATE_TEXT: _date_text,
    ValueEncoding.ZONED_TEXT: _zoned_text,
    ValueEncoding.LOCAL_TEXT: _local_text,
    ValueEncoding.TIME_MILLIS: _time_millis,
    ValueEncoding.TIME_MICROS: _time_micros,
    ValueEncoding.TIME_NANOS: _time_nanos,
    ValueEncoding.TIME_TEXT: _time_text,
    ValueEncoding.GEOMETRY: _geometry,
    ValueEncoding.GEOMETRY_LATIN1: _geometry_latin1,
    ValueEncoding.MAP: _map,
}


def typed_variant(raw: Column, variant: SourceColumn, column: SourceColumn) -> Column:
    """The value of ``raw``, which records hold as ``variant`` of ``column``.

    Numbers of a column that may hold decimals have a point (`formats.number_tokens`).
    """
    integers = (ValueEncoding.INTEGER, ValueEncoding.UNSIGNED_AS_SIGNED)
    encodings = {known.encoding for known in column.variants}
    is_pointed = ValueEncoding.DECIMAL_BASE64 in encodings and variant.encoding in integers
    return typed(F.rtrim(raw, F.lit(".")) if is_pointed else raw, variant)


def value_of(raw: Column, column: SourceColumn, schema_id: Column, position: Column) -> Column:
    """``raw`` as a value of ``column``; null where it is none (SCHEMA-4)."""

    def read(variant: SourceColumn) -> Column:
        value = typed_variant(raw, _with_bytes_of(column, variant), column)
        return value if variant.iceberg == column.iceberg else value.try_cast(column.iceberg)

    return read_as_of(column, schema_id, position, read)


def read_as_of(
    column: SourceColumn,
    schema_id: Column,
    position: Column,
    read: Callable[[SourceColumn], Column],
) -> Column:
    """``read`` of the column as the record at ``position`` holds it.

    Records hold what their schema says; without one, at and below a change of type, what it was
    then.
    """

    def of(variant: SourceColumn) -> Column:
        if variant.former is None:
            return read(variant)
        is_former = position <= F.lit(variant.changed_at)
        return F.when(is_former, of(variant.former)).otherwise(read(variant))

    return read_by_schema(column, schema_id, of)


def _with_bytes_of(column: SourceColumn, variant: SourceColumn) -> SourceColumn:
    """``variant``; of a BIT with as many bytes as that has by now."""
    have_bits = variant.has_bits and column.has_bits
    return replace(variant, digits=column.digits) if have_bits else variant


def read_by_schema(
    column: SourceColumn, schema_id: Column, read: Callable[[SourceColumn], Column]
) -> Column:
    """``read`` of the column as records with the schema ``schema_id`` hold it (SCHEMA-4)."""
    value = read(column)
    for ids, variant in column.by_schema:
        value = F.when(schema_id.isin(*ids), read(variant)).otherwise(value)
    return value
