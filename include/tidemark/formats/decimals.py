"""Exact decimals: from text without rounding, and from Connect's base64 two's complement.

Spark has no conversion from bytes to decimal, so the bytes go through hexadecimal text. A decimal
literal may have an exponent: ``12345E-2`` places the point of an unscaled number exactly.
"""

from __future__ import annotations

from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.formats.once import once
from tidemark.model.columns import SourceColumn

_LONG_DIGITS = 18
_LONG_HEX = 16
_WORD = Decimal(2**64)
_ONES_COMPLEMENT = ("0123456789ABCDEF", "FEDCBA9876543210")

# A longer number is read in words of 56 bits, into as many limbs of 18 digits: they are 59.8 bits.
# 10^18 * 2^56 + 10^18 still fits a decimal of 38 digits.
_WORD_HEX, _WIDE_WORD = 14, Decimal(2**56)
_LIMB_DIGITS = 18
_MOST_HEX = 2 * 416
"""Of 1,000 digits, which is as precise as PostgreSQL lets a column be declared (POISON-6)."""

LEAST_SCALE, MOST_SCALE = -999, 16_383
"""From what old connectors sent for numbers with zeros at their end, to PostgreSQL's most."""

_PLAIN = r"^[-+]?[0-9]+(\.[0-9]*)?$"
_WITH_EXPONENT = r"^([-+]?)([0-9]+)(?:\.([0-9]*))?[eE]([-+]?[0-9]{1,3})$"


def decimal_from_text(raw: Column, column: SourceColumn) -> Column:
    """The number in ``raw``; null where the type of ``column`` would round or not hold it."""
    if column.iceberg == "string":
        return F.when(raw.rlike(_PLAIN), raw).otherwise(_without_exponent(raw))
    _, scale = _sizes(column)

    def exact(text: Column) -> Column:
        point = F.instr(text, ".")
        fits = (point == 0) | (F.length(text) - point <= scale)
        zeros_beyond = text.rlike(rf"\.[0-9]{{{scale}}}0+$")
        return F.when(fits | zeros_beyond, text.try_cast(column.iceberg))

    has_exponent = raw.contains("E") | raw.contains("e")
    return F.when(has_exponent, once(_without_exponent(raw), exact)).otherwise(exact(raw))


def _without_exponent(raw: Column) -> Column:
    """The same number written out; Java gives an exponent to small decimals and large doubles."""
    names = ("sign", "whole", "fraction", "exponent")
    parts = (F.regexp_extract(raw, _WITH_EXPONENT, n).alias(p) for n, p in enumerate(names, 1))

    def written_out(number: Column) -> Column:
        digits = F.ltrim(F.concat(number["whole"], number["fraction"]), F.lit("0"))
        size = F.when(digits == "", F.lit("0")).otherwise(digits)
        scale = F.length(number["fraction"]) - number["exponent"].try_cast("int")
        return _scaled(F.concat(F.ltrim(number["sign"], F.lit("+")), size), scale)

    return F.when(raw.rlike(_WITH_EXPONENT), once(F.struct(*parts), written_out))


def decimal_from_base64(raw: Column, column: SourceColumn) -> Column:
    """The two's complement, big-endian, unscaled number of ``raw``, at its scale.

    Or the number that ``raw`` is, if it has a point (`formats.number_tokens`).
    """
    number = once(F.rtrim(raw, F.lit(".")), lambda text: decimal_from_text(text, column))
    return F.coalesce(_unscaled(raw, column), F.when(raw.contains("."), number))


def _unscaled(raw: Column, column: SourceColumn) -> Column:
    digits = F.hex(F.try_to_binary(raw, F.lit("base64")))
    if column.iceberg == "string":
        return _scaled(_wide(digits), F.lit(column.digits))
    precision, scale = _sizes(column)
    unscaled = _long(digits) if precision <= _LONG_DIGITS else _two_longs(digits)
    return F.concat(unscaled, F.lit(f"E-{scale}")).try_cast(column.iceberg)


def decimal_from_scaled(raw: Column, column: SourceColumn) -> Column:
    """The number of a JSON object with its ``scale`` and its unscaled ``value`` in base64.

    Exact text, or the decimal that was declared; the scale may differ from row to row.
    """
    written = F.from_json(raw, "scale INT, value STRING")
    has_scale = written["scale"].between(LEAST_SCALE, MOST_SCALE)
    return once(
        F.struct(
            F.when(has_scale, written["scale"]).alias("scale"),
            F.hex(F.try_to_binary(written["value"], F.lit("base64"))).alias("digits"),
        ),
        lambda number: once(
            _scaled(_wide(number["digits"]), number["scale"]),
            lambda text: decimal_from_text(text, column),
        ),
    )


def _scaled(unscaled: Column, scale: Column) -> Column:
    """The text of an integer with its point moved ``scale`` digits to the left."""

    def moved(number: Column) -> Column:
        integer, places = number["unscaled"], number["scale"]
        size = F.ltrim(integer, F.lit("-"))
        padded = F.lpad(size, F.greatest(F.length(size), places + 1), F.lit("0"))
        whole = F.left(padded, F.length(padded) - places)
        text = (
            F.when(places > 0, F.concat(whole, F.lit("."), F.right(padded, places)))
            .when(size == "0", size)
            .otherwise(F.concat(size, F.repeat(F.lit("0"), -places)))
        )
        sign = F.when(integer.startswith("-"), F.lit("-")).otherwise(F.lit(""))
        return F.concat(sign, text)

    return once(F.struct(unscaled.alias("unscaled"), scale.alias("scale")), moved)


def _sizes(column: SourceColumn) -> tuple[int, int]:
    sizes = column.decimal_sizes
    if sizes is None:
        raise ValueError(f"{column.name}: {column.iceberg} is no decimal type")
    return sizes


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


def _wide(digits: Column) -> Column:
    """Hexadecimal two's complement of up to 1,000 digits as decimal text."""
    return F.when(F.length(digits).between(2, _MOST_HEX), once(digits, _in_limbs))


def _in_limbs(digits: Column) -> Column:
    negative = digits >= "8"
    count = F.ceil(F.length(digits) / _WORD_HEX).cast("int")
    padded = F.lpad(_without_sign(digits), count * _WORD_HEX, F.lit("0"))
    words = F.transform(
        F.sequence(F.lit(0), count - 1),
        lambda word: F.conv(
            F.substring(padded, word * _WORD_HEX + 1, F.lit(_WORD_HEX)), 16, 10
        ).cast("decimal(38,0)"),
    )
    zeros = F.array_repeat(F.lit(Decimal(0)).cast("decimal(38,0)"), count)
    limbs = F.aggregate(words, zeros, lambda limbs, word: _carried(limbs, _WIDE_WORD, word))
    carry = F.when(negative, F.lit(Decimal(1))).otherwise(F.lit(Decimal(0)))
    limbs = _carried(limbs, Decimal(1), carry.cast("decimal(38,0)"))
    texts = F.transform(limbs, lambda limb: F.lpad(limb.cast("string"), _LIMB_DIGITS, "0"))
    number = F.ltrim(F.array_join(F.reverse(texts), ""), F.lit("0"))
    sign = F.when(negative, F.lit("-")).otherwise(F.lit(""))
    return F.concat(sign, F.coalesce(F.nullif(number, F.lit("")), F.lit("0")))


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
