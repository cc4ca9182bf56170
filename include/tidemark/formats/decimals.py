"""Exact decimals: from text without rounding, and from Connect's base64 two's complement.

Spark has no conversion from bytes to decimal, so the bytes go through hexadecimal text. A decimal
literal may have an exponent: ``12345E-2`` places the point of an unscaled number exactly.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.model.columns import SourceColumn

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_LONG_DIGITS = 18
_LONG_HEX = 16
_WORD = Decimal(2**64)
_ONES_COMPLEMENT = ("0123456789ABCDEF", "FEDCBA9876543210")

# A number of up to 28 bytes (65 digits, MySQL's largest): four words of 56 bits are folded into
# limbs of 18 digits. 10^18 * 2^56 + 10^18 still fits a decimal of 38 digits.
_WIDE_HEX, _WIDE_WORD_HEX, _WIDE_WORD = 56, 14, Decimal(2**56)
_LIMBS, _LIMB_DIGITS = 4, 18


def decimal_from_text(raw: Column, column: SourceColumn) -> Column:
    """The number in ``raw``; null where the type of ``column`` would round or not hold it."""
    if column.iceberg == "string":
        return F.when(raw.rlike(r"^[-+]?[0-9]+(\.[0-9]*)?$"), raw)
    _, scale = _sizes(column)
    exact, point = raw.try_cast(column.iceberg), F.instr(raw, ".")
    fits = (point == 0) | (F.length(raw) - point <= scale)
    zeros_beyond = raw.rlike(rf"\.[0-9]{{{scale}}}0+$")
    # Only doubles are written with an exponent, so a double is what must not be lost.
    exponent = raw.contains("E") | raw.contains("e")
    same = exact.cast("double") == raw.try_cast("double")
    return F.when(exponent, F.when(same, exact)).when(fits | zeros_beyond, exact)


def decimal_from_base64(raw: Column, column: SourceColumn) -> Column:
    """The two's complement, big-endian, unscaled number of ``raw``, at its scale."""
    digits = F.hex(F.try_to_binary(raw, F.lit("base64")))
    if column.iceberg == "string":
        return _wide(digits, column.digits)
    precision, scale = _sizes(column)
    unscaled = _long(digits) if precision <= _LONG_DIGITS else _two_longs(digits)
    return F.concat(unscaled, F.lit(f"E-{scale}")).try_cast(column.iceberg)


def decimal_from_scaled(raw: Column, column: SourceColumn) -> Column:
    """The number of a JSON object with its ``scale`` and its unscaled ``value`` in base64.

    Exact text, or the decimal that was declared; the scale may differ from row to row.
    """
    written = F.from_json(raw, "scale INT, value STRING")
    return _once(
        F.struct(
            written["scale"].alias("scale"),
            F.hex(F.try_to_binary(written["value"], F.lit("base64"))).alias("digits"),
        ),
        lambda number: _once(
            _scaled(_wide(number["digits"], 0), number["scale"]),
            lambda text: decimal_from_text(text, column),
        ),
    )


def _scaled(unscaled: Column, scale: Column) -> Column:
    """The text of an integer with its point moved ``scale`` digits to the left."""

    def moved(integer: Column) -> Column:
        size = F.ltrim(integer, F.lit("-"))
        padded = F.lpad(size, F.greatest(F.length(size), scale + 1), F.lit("0"))
        whole = F.left(padded, F.length(padded) - scale)
        number = (
            F.when((scale == 0) | (size == "0"), size)
            .when(scale > 0, F.concat(whole, F.lit("."), F.right(padded, scale)))
            .otherwise(F.concat(size, F.repeat(F.lit("0"), -scale)))
        )
        return F.when(integer.startswith("-"), F.concat(F.lit("-"), number)).otherwise(number)

    return _once(unscaled, moved)


def _once(value: Column, reading: Callable[[Column], Column]) -> Column:
    """``reading`` of ``value``, which Spark would otherwise compute wherever it is named."""
    return F.get(F.transform(F.array(value), reading), F.lit(0))


def _sizes(column: SourceColumn) -> tuple[int, int]:
    match = _DECIMAL.fullmatch(column.iceberg)
    if match is None:
        raise ValueError(f"{column.name}: {column.iceberg} is no decimal type")
    return int(match[1]), int(match[2])


def _long(digits: Column) -> Column:
    """Hexadecimal two's complement of up to 8 bytes as decimal text."""
    sign = F.when(digits >= "8", F.lit("F")).otherwise(F.lit("0"))
    return F.conv(_padded(digits, _LONG_HEX, sign), 16, -10)


def _two_longs(digits: Column) -> Column:
    """Hexadecimal two's complement of up to 16 bytes as decimal text; null from 10^38 on.

    A negative number is its ones' complement, which is positive, from -1: so no step on the way
    is larger than the result.
    """
    magnitude = _padded(_without_sign(digits), 2 * _LONG_HEX, F.lit("0"))
    high, low = (
        F.conv(F.substring(magnitude, start, _LONG_HEX), 16, 10).cast("decimal(20,0)")
        for start in (1, 1 + _LONG_HEX)
    )
    number = F.try_add(F.try_multiply(high, F.lit(_WORD)), low)
    signed = F.when(digits >= "8", F.try_subtract(F.lit(Decimal(-1)), number)).otherwise(number)
    return signed.cast("string")


def _wide(digits: Column, scale: int) -> Column:
    """Hexadecimal two's complement of up to 28 bytes as text with ``scale`` fraction digits."""
    negative = digits >= "8"
    padded = _padded(_without_sign(digits), _WIDE_HEX, F.lit("0"))
    words = F.array(
        *(
            F.conv(F.substring(padded, start, _WIDE_WORD_HEX), 16, 10).cast("decimal(38,0)")
            for start in range(1, _WIDE_HEX, _WIDE_WORD_HEX)
        )
    )
    zeros = F.array_repeat(F.lit(Decimal(0)).cast("decimal(38,0)"), _LIMBS)
    limbs = F.aggregate(words, zeros, lambda limbs, word: _carried(limbs, _WIDE_WORD, word))
    one_more = F.when(negative, F.lit(Decimal(1))).otherwise(F.lit(Decimal(0)))
    limbs = _carried(limbs, Decimal(1), one_more.cast("decimal(38,0)"))
    texts = F.transform(limbs, lambda limb: F.lpad(limb.cast("string"), _LIMB_DIGITS, "0"))
    number = F.array_join(F.reverse(texts), "")
    whole = F.ltrim(F.substring(number, 1, _LIMB_DIGITS * _LIMBS - scale), F.lit("0"))
    fraction = F.concat(F.lit("."), F.right(number, F.lit(scale))) if scale else F.lit("")
    sign = F.when(negative, F.lit("-")).otherwise(F.lit(""))
    read = F.concat(sign, F.when(whole == "", F.lit("0")).otherwise(whole), fraction)
    return F.when(padded.isNotNull(), read)


def _carried(limbs: Column, factor: Decimal, carry: Column) -> Column:
    """``limbs`` (least significant first) times ``factor`` plus ``carry``, below 10^18 each."""

    def step(done: Column, limb: Column) -> Column:
        number = (limb * F.lit(factor) + done["carry"]).cast("string")
        text = F.lpad(number, 2 * _LIMB_DIGITS, "0")
        low, high = F.right(text, F.lit(_LIMB_DIGITS)), F.left(text, F.lit(_LIMB_DIGITS))
        return F.struct(
            high.cast("decimal(38,0)").alias("carry"),
            F.concat(done["low"], F.array(low.cast("decimal(38,0)"))).alias("low"),
        )

    none = F.array().cast("array<decimal(38,0)>")
    start = F.struct(carry.alias("carry"), none.alias("low"))
    return F.aggregate(limbs, start, step)["low"]


def _without_sign(digits: Column) -> Column:
    return F.when(digits >= "8", F.translate(digits, *_ONES_COMPLEMENT)).otherwise(digits)


def _padded(digits: Column, width: int, fill: Column) -> Column:
    """``digits`` filled up on the left to ``width``; null when there are none, or too many."""
    fits = F.when(F.length(digits).between(2, width), F.lit(width))
    return F.lpad(digits, fits, fill)
