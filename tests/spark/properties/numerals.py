"""Numbers, times and bits as text and bytes, each as the program that writes it does."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import copysign, inf, isinf, isnan

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a wall clock
MICRO = timedelta(microseconds=1)
DAY = 86_400_000_000


def single(number: float) -> float:
    """The nearest float of 32 bits."""
    try:
        (nearest,) = struct.unpack(">f", struct.pack(">f", number))
    except OverflowError:
        return copysign(inf, number)
    return float(nearest)


def _shortest(number: float, *, is_single: bool) -> str:
    """The fewest digits that are read as ``number``."""
    if not is_single:
        return repr(number)
    texts = (f"{number:.{digits}e}" for digits in range(9))
    return next(text for text in texts if single(float(text)) == number)


def java_float(number: float, *, is_single: bool = False) -> str:
    """As Java's ``toString``: with an exponent below 10^-3 and from 10^7."""
    if isnan(number) or isinf(number):
        return "NaN" if isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return str(number)
    sign, digits, exponent = Decimal(_shortest(number, is_single=is_single)).normalize().as_tuple()
    assert isinstance(exponent, int)
    power = exponent + len(digits) - 1
    if -3 <= power < 7:
        text = f"{Decimal((sign, digits, exponent)):f}"
        return text if "." in text else f"{text}.0"
    first, *rest = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(rest) or '0'}E{power}"


def go_float(number: float, *, is_single: bool = False) -> str:
    """As Go's ``FormatFloat(.., 'f', -1, ..)``: never with an exponent."""
    text = f"{Decimal(_shortest(number, is_single=is_single)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def scaled(unscaled: int, scale: int) -> Decimal:
    """``unscaled * 10^-scale`` at any size: Decimal's own arithmetic rounds to 28 digits."""
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def unscaled(number: Decimal) -> int:
    """The reverse of `scaled`."""
    sign, digits, _ = number.as_tuple()
    return int("".join(map(str, digits))) * (-1 if sign else 1)


def big_integer(number: int) -> bytes:
    """As Java's BigInteger: two's complement, big-endian, the fewest bytes that hold the sign."""
    size = (number + (number < 0)).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True)


def clock(micros: int, digits: int, *, strip: bool = False) -> str:
    """``[-]HH:MM:SS[.f]`` with ``digits`` of a fraction; strip: without its zeros at the end."""
    seconds, fraction = divmod(abs(micros), 10**6)
    text = f"{fraction:06d}"[:digits]
    text = text.rstrip("0") if strip else text
    whole = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{'-' if micros < 0 else ''}{whole}{'.' if text else ''}{text}"


def in_iso(micros: int, digits: int, *, strip: bool = False, between: str = "T") -> str:
    """A wall clock, from micros since 1970, in the years that Java writes with a sign too."""
    days, rest = divmod(micros, DAY)
    return f"{iso_date(days)}{between}{clock(rest, digits, strip=strip)}"


def iso_date(days: int) -> str:
    """A date, from days since 1970; Java writes years beyond four digits with their sign."""
    cycles, rest = divmod(days, 146_097)  # days of 400 years
    day = date(1970, 1, 1) + timedelta(days=rest)
    year = day.year + 400 * cycles
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{day:%m-%d}"


def wall(micros: int) -> datetime:
    """A wall clock from micros since 1970."""
    return EPOCH + micros * MICRO


def instant(micros: int) -> datetime:
    """An instant from micros since 1970."""
    return wall(micros).replace(tzinfo=UTC)


def micros_of(text: str) -> int:
    """Micros since 1970 of a wall clock in ISO."""
    return (datetime.fromisoformat(text) - EPOCH) // MICRO


def least_first(number: int) -> bytes:
    """Bits as a BitSet gives them: the least byte first, none behind the highest set bit."""
    return number.to_bytes((number.bit_length() + 7) // 8, "little")
