"""How the values of a column are read from JSON by msgspec, and made a column of Arrow.

What a value means is said by `formats.values`. A reading takes what connectors write as they write
it, and refuses all else.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from binascii import unhexlify
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, datetime
from decimal import Decimal
from functools import partial
from types import GenericAlias
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from tidemark.formats.decimals import LEAST_SCALE, MOST_SCALE
from tidemark.formats.json_shapes import JsonType
from tidemark.formats.number_tokens import DOUBLE_DIGITS
from tidemark.formats.special import ENDS_OF_TIME
from tidemark.formats.values import (
    FIRST_DAY,
    FIRST_MILLI,
    LAST_DAY,
    LAST_DURATION_MILLI,
    LAST_MILLI,
    MICRO_DIGITS,
)
from tidemark.model.columns import SourceColumn, ValueEncoding

LONG_DIGITS, DECIMAL_BYTES = 18, 16
MICROS_IN_MILLI = NANOS_IN_MICRO = 1_000
MOST_BYTES = 416
"""Of an unscaled number of 1,000 digits (POISON-6)."""
FLAG = "tinyint(1)"
DECIMAL = "decimal"
_ZONED = (
    r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
    r"(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])\Z"
)
_INT, _LONG = struct.Struct("<i"), struct.Struct("<q")
_HALF, _BELOW_FLOAT = 1 << 28, (1 << 29) - 1
"""Of a double's last 29 bits, which a float does not have: half of its last place, and all."""
_LEAST_FLOAT, _MOST_FLOAT = 2.0**-126, (2 - 2.0**-24) * 2.0**127


@dataclass(frozen=True, slots=True)
class ValueReading:
    """How the values of a column are read.

    json: the type that JSON must hold. arrow: of the column. convert: from the one to the other,
    where they differ; ValueError for what is odd. layout: what an array is made of that is then
    taken for ``arrow``, where that is not it. pack: a value as Spark hashes it, where a key may
    have the column.
    """

    json: JsonType
    arrow: pa.DataType
    convert: Callable[[Any], Any] | None = None
    layout: pa.DataType | None = None
    pack: Callable[[Any], bytes] | None = None


def reading_of(column: SourceColumn) -> ValueReading | None:
    """None where values of the column are left to the expressions."""
    if column.mask is not None:
        return None
    if column.element is not None:
        return _array(column.element)
    kind = (column.encoding, DECIMAL if column.decimal_sizes else column.iceberg)
    make = _BY_COLUMN.get(kind)
    return make(column) if make else _FIXED.get(kind)


def _array(element: SourceColumn) -> ValueReading | None:
    """Of elements that an array is made of as they are; null ones stay (TYPE-24)."""
    inner = reading_of(element)
    if inner is None or inner.layout is not None:
        return None
    kind, arrow = GenericAlias(list, inner.json | None), pa.list_(inner.arrow)
    convert = inner.convert
    if convert is None:
        return ValueReading(kind, arrow)
    return ValueReading(
        kind, arrow, lambda values: [None if value is None else convert(value) for value in values]
    )


def _between(first: int, last: int) -> JsonType:
    return Annotated[int, msgspec.Meta(ge=first, le=last)]


def _matching(pattern: str) -> JsonType:
    return Annotated[str, msgspec.Meta(pattern=pattern)]


def _int(column: SourceColumn) -> ValueReading:
    """A converter may write booleans of what MySQL calls ``tinyint(1)``."""
    kind = _between(-(2**31), 2**31 - 1)
    reading = ValueReading(kind, pa.int32(), pack=_INT.pack)
    is_flag = column.source_type == FLAG
    return replace(reading, json=kind | bool, convert=int) if is_flag else reading


def _as_float(number: float) -> float:
    """A double whose nearest float is that of its shortest text too: it stands between no two."""
    (bits,) = struct.unpack("<q", struct.pack("<d", number))
    size = abs(number)
    if abs((bits & _BELOW_FLOAT) - _HALF) <= 1 or (size and not _LEAST_FLOAT <= size < _MOST_FLOAT):
        raise ValueError(f"{number} is near no float")
    return number


def _bits(column: SourceColumn) -> ValueReading:
    """Debezium writes the least significant byte first."""
    width = column.bit_bytes
    kind = Annotated[bytes, msgspec.Meta(max_length=width)]
    return ValueReading(kind, pa.binary(), lambda least: least[::-1].rjust(width, b"\0"))


def _bits_text(column: SourceColumn) -> ValueReading:
    def convert(least: bytes) -> str:
        number = int.from_bytes(least, "little")
        if number.bit_length() > column.digits:
            raise ValueError(f"{number} has more than {column.digits} bits")
        return f"{number:0{column.digits}b}"

    return ValueReading(_SOME_BYTES, pa.string(), convert)


def _bytes_text(least: bytes) -> str:
    return f"{int.from_bytes(least, 'little'):0{8 * len(least)}b}"


def _unsigned(column: SourceColumn) -> ValueReading:
    return ValueReading(
        _LONGS,
        _arrow_decimal(column),
        lambda number: Decimal(number % 2**64),
        pack=lambda number: _least_bytes(number % 2**64),
    )


def _decimal_base64(column: SourceColumn) -> ValueReading:
    precision, _ = column.decimal_sizes or (0, 0)
    most = 10**precision
    plain = (most.bit_length() - 1) // 8
    width = 8 if precision <= LONG_DIGITS else DECIMAL_BYTES

    def convert(unscaled: bytes) -> bytes:
        """As Arrow has it: as many bytes, the least significant first."""
        if len(unscaled) > plain:
            number = int.from_bytes(unscaled, "big", signed=True)
            if not -most < number < most:
                raise ValueError(f"{number} has more than {precision} digits")
        sign = b"\xff" if unscaled[0] & 0x80 else b"\0"
        return unscaled[::-1].ljust(DECIMAL_BYTES, sign)

    def pack(unscaled: bytes) -> bytes:
        number = int.from_bytes(unscaled, "big", signed=True)
        if _least_bytes(number) != unscaled:
            raise ValueError(f"{number} is written in more bytes than another {number}")
        return _LONG.pack(number) if precision <= LONG_DIGITS else unscaled

    kind = Annotated[bytes, msgspec.Meta(min_length=1, max_length=width)]
    return ValueReading(kind, _arrow_decimal(column), convert, pa.binary(DECIMAL_BYTES), pack)


def _decimal_digits(column: SourceColumn) -> ValueReading:
    """Of more digits than a decimal has; the number stands as text."""
    kind = Annotated[bytes, msgspec.Meta(min_length=1, max_length=MOST_BYTES)]
    return ValueReading(kind, pa.string(), lambda unscaled: _scaled(unscaled, column.digits))


class _Scaled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scale: Annotated[int, msgspec.Meta(ge=LEAST_SCALE, le=MOST_SCALE)]
    value: Annotated[bytes, msgspec.Meta(min_length=1, max_length=MOST_BYTES)]


def _decimal_scaled(column: SourceColumn) -> ValueReading:
    if column.iceberg == "string":
        return ValueReading(
            _Scaled, pa.string(), lambda scaled: _scaled(scaled.value, scaled.scale)
        )
    fits = _decimal_that_fits(column)
    return ValueReading(
        _Scaled, _arrow_decimal(column), lambda scaled: fits(_scaled(scaled.value, scaled.scale))
    )


def _scaled(unscaled: bytes, scale: int) -> str:
    """All digits of a number, without an exponent."""
    number = int.from_bytes(unscaled, "big", signed=True)
    sign, digits = "-" if number < 0 else "", str(abs(number))
    if scale <= 0:
        return f"{sign}{digits}{'0' * -scale if number else ''}"
    digits = digits.rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


def _least_bytes(number: int) -> bytes:
    """Two's complement, big-endian, as Java's BigInteger writes it."""
    bits = (number if number >= 0 else ~number).bit_length()
    return number.to_bytes(bits // 8 + 1, "big", signed=True)


def _decimal_that_fits(column: SourceColumn) -> Callable[[str | float], Decimal]:
    precision, scale = column.decimal_sizes or (0, 0)
    most = Decimal(10) ** (precision - scale)

    def convert(value: str | float) -> Decimal:
        number = Decimal(repr(value) if isinstance(value, float) else value)
        if not -most < number < most or -int(number.as_tuple().exponent) > scale:
            raise ValueError(f"{value} does not fit {column.iceberg}")
        return number

    return convert


def _decimal_text(column: SourceColumn) -> ValueReading:
    precision, scale = column.decimal_sizes or (0, 0)
    fraction = rf"(\.[0-9]{{1,{scale}}})?" if scale else ""
    text = _matching(rf"\A-?[0-9]{{1,38}}{fraction}\Z")
    # A double that holds all digits of a number has no others in its shortest text.
    kind = text | float if precision <= DOUBLE_DIGITS else text
    return ValueReading(kind, _arrow_decimal(column), _decimal_that_fits(column))


def _arrow_decimal(column: SourceColumn) -> pa.DataType:
    return pa.decimal128(*(column.decimal_sizes or ()))


def _as_moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if not text.endswith("Z") and not MINYEAR < moment.year < MAXYEAR:
        raise ValueError(f"{text} may be of another year in UTC")
    return moment


def _micros(nanos: int) -> int:
    micros, rest = divmod(nanos, NANOS_IN_MICRO)
    if rest:
        raise ValueError(f"{nanos} ns are no whole microseconds")
    return micros


def _timestamp_nanos(column: SourceColumn) -> ValueReading:
    def convert(nanos: int) -> int:
        if column.has_infinity and nanos in ENDS_OF_TIME:
            raise ValueError(f"{nanos} stands for infinity")
        return _micros(nanos)

    return ValueReading(_LONGS, pa.timestamp("us"), convert)


def _time_nanos(column: SourceColumn) -> ValueReading:
    last = LAST_DURATION_MILLI * MICROS_IN_MILLI * NANOS_IN_MICRO
    return ValueReading(
        _between(-last, last),
        pa.string(),
        lambda nanos: _duration(1, column.digits, _micros(nanos)),
    )


def _time(column: SourceColumn, micros: int) -> ValueReading:
    """micros: in a record's unit."""
    last = LAST_DURATION_MILLI * MICROS_IN_MILLI // micros
    convert = partial(_duration, micros, column.digits)
    return ValueReading(_between(-last, last), pa.string(), convert)


def _duration(micros: int, digits: int, number: int) -> str:
    """``[-]HH:MM:SS[.ffffff]`` with ``digits`` of a fraction, or more if there are more."""
    seconds, rest = divmod(abs(number) * micros, 1_000_000)
    minutes, hours = seconds // 60 % 60, seconds // 3_600
    fraction = f".{rest:06}"
    is_short = rest % 10 ** (MICRO_DIGITS - digits) == 0
    shown = (fraction[: digits + 1] if digits else "") if is_short else fraction.rstrip("0")
    return f"{'-' if number < 0 else ''}{hours:02}:{minutes:02}:{seconds % 60:02}{shown}"


_SOME_BYTES = Annotated[bytes, msgspec.Meta(min_length=1)]
_LONGS = _between(-(2**63), 2**63 - 1)
_MILLIS = _between(FIRST_MILLI, LAST_MILLI)
_MICROS = _between(FIRST_MILLI * MICROS_IN_MILLI, (LAST_MILLI + 1) * MICROS_IN_MILLI - 1)
_FIXED: Mapping[tuple[ValueEncoding, str], ValueReading] = {
    (ValueEncoding.INTEGER, "bigint"): ValueReading(_LONGS, pa.int64(), pack=_LONG.pack),
    (ValueEncoding.FLOAT, "float"): ValueReading(float, pa.float32(), _as_float),
    (ValueEncoding.DOUBLE, "double"): ValueReading(float, pa.float64()),
    # Those of MySQL are numbers.
    (ValueEncoding.BOOLEAN, "boolean"): ValueReading(
        bool | _between(0, 1), pa.bool_(), bool, pack=_INT.pack
    ),
    (ValueEncoding.TEXT, "string"): ValueReading(str, pa.string(), pack=str.encode),
    (ValueEncoding.BASE64, "binary"): ValueReading(bytes, pa.binary(), pack=bytes),
    (ValueEncoding.BASE64_URL, "binary"): ValueReading(
        str, pa.binary(), partial(b64decode, altchars=b"-_", validate=True)
    ),
    (ValueEncoding.HEX, "binary"): ValueReading(str, pa.binary(), unhexlify),
    (ValueEncoding.LATIN1, "binary"): ValueReading(
        str, pa.binary(), lambda text: text.encode("latin-1")
    ),
    (ValueEncoding.BYTES_TEXT, "string"): ValueReading(_SOME_BYTES, pa.string(), _bytes_text),
    (ValueEncoding.DECIMAL_TEXT, "string"): ValueReading(
        _matching(r"\A[-+]?[0-9]+(\.[0-9]*)?\Z"), pa.string()
    ),
    (ValueEncoding.DAYS, "date"): ValueReading(
        _between(FIRST_DAY, LAST_DAY), pa.date32(), pack=_INT.pack
    ),
    (ValueEncoding.TIMESTAMP_MILLIS, "timestamp_ntz"): ValueReading(
        _MILLIS,
        pa.timestamp("us"),
        lambda millis: millis * MICROS_IN_MILLI,
        pack=lambda millis: _LONG.pack(millis * MICROS_IN_MILLI),
    ),
    (ValueEncoding.TIMESTAMP_MICROS, "timestamp_ntz"): ValueReading(
        _MICROS, pa.timestamp("us"), pack=_LONG.pack
    ),
    (ValueEncoding.ZONED_TEXT, "timestamp"): ValueReading(
        _matching(_ZONED), pa.timestamp("us", tz="UTC"), _as_moment
    ),
}
_BY_COLUMN: Mapping[tuple[ValueEncoding, str], Callable[[SourceColumn], ValueReading]] = {
    (ValueEncoding.INTEGER, "int"): _int,
    (ValueEncoding.BITS, "binary"): _bits,
    (ValueEncoding.BITS_TEXT, "string"): _bits_text,
    (ValueEncoding.UNSIGNED_AS_SIGNED, DECIMAL): _unsigned,
    (ValueEncoding.DECIMAL_BASE64, DECIMAL): _decimal_base64,
    (ValueEncoding.DECIMAL_BASE64, "string"): _decimal_digits,
    (ValueEncoding.DECIMAL_TEXT, DECIMAL): _decimal_text,
    (ValueEncoding.DECIMAL_SCALED, "string"): _decimal_scaled,
    (ValueEncoding.DECIMAL_SCALED, DECIMAL): _decimal_scaled,
    (ValueEncoding.TIMESTAMP_NANOS, "timestamp_ntz"): _timestamp_nanos,
    (ValueEncoding.TIME_MILLIS, "string"): partial(_time, micros=1_000),
    (ValueEncoding.TIME_MICROS, "string"): partial(_time, micros=1),
    (ValueEncoding.TIME_NANOS, "string"): _time_nanos,
}
