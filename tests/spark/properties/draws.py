"""How values of a kind are drawn: evenly in size and not in number, so that small ones come too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from random import Random
from struct import unpack
from typing import Any

from tests.spark.properties.cases import Values
from tests.spark.properties.numerals import DAY, micros_of, scaled, single

SECOND = 1_000_000
LAST_DURATION = (838 * 3600 + 59 * 60 + 59) * SECOND
FIRST_MOMENT, LAST_MOMENT = micros_of("0001-01-01"), micros_of("9999-12-31T23:59:59.999999")
ODD_CHARACTERS = (
    "\0\x01\x1f\x7f\x80\x85\xa0\xad\u0301\u200b\u200d\u200e\u202e\u2028\u2029\ufeff\ufffd\uffff"
    "\ud7ff\ue000\U0001f600\U0010ffff\U00020000'\"\\/`$%{}[]<>&,:;\t\r\n ☕ßИ字aZ09"
)
ODD_TEXTS = (
    *("", " ", "  x  ", "\0", "null", "NULL", "NaN", "true", "1e3", "007", "-0", "{}", "[]"),
    *('{"a":1,"a":2}', "[1,null]", '"quoted"', "it's", "a\\u0041b", "\\", "\\\\'", "\ufeffbom"),
    *('","payload":{', '{"schema":null,"payload":null}', "e\u0301 is not é", "\U0001f600" * 50),
    *("\u202egnirts", "2026-01-01", "\r\n", "x" * 5000, "ß" * 3000, "${env:HOME}", "$1\\1"),
)


def whole(low: int, high: int) -> Values:
    """Integers of all sizes."""
    edges = (low, high, 0, 1, -1, low + 1, high - 1, 127, 128, 2**31 - 1, 2**31, 2**53 + 1, 2**63)
    return Values([n for n in dict.fromkeys(edges) if low <= n <= high], sized(low, high))


def sized(low: int, high: int) -> Callable[[Random], int]:
    """Integers with as many bits as chance has it."""

    def draw(rng: Random) -> int:
        size = rng.getrandbits(rng.randint(1, max(high.bit_length(), low.bit_length())))
        return min(max(size if low == 0 or rng.random() < 0.5 else -size, low), high)

    return draw


def decimals(precision: int, scale: int) -> Values:
    """Decimals that the type holds; all have its scale, as a database writes them."""
    limit = 10**precision - 1
    edges = {0, 1, -1, limit, -limit, limit // 3, *(2**n for n in (7, 15, 31, 63, 64, 127))}
    draw = sized(-limit, limit)
    fit = sorted(n for n in edges if abs(n) <= limit)
    return Values([scaled(n, scale) for n in fit], lambda rng: scaled(draw(rng), scale))


def of_any_scale(digits: int, scales: int) -> Values:
    """Decimals each of its own scale."""
    draw = sized(-(10**digits) + 1, 10**digits - 1)
    edges = [Decimal(text) for text in ("0", "0.00", "500", "500.00", "-0.001", "0.0000001")]
    return Values(edges, lambda rng: scaled(draw(rng), rng.randint(0, scales)))


def floats(*, is_single: bool, has_special: bool) -> Values:
    """Any bits but those of a NaN; the infinite ones where the source has them."""
    edges = [0.0, -0.0, 1.0, 0.1, -2.5, 1e7, 9_999_999.0, 1e-3, 9.99e-4, 123456789.125]
    edges += [3.4028234663852886e38, 1.401298464324817e-45, 1.1754943508222875e-38]
    if not is_single:
        edges += [1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, 2.0**53 + 2]
    special = [float("inf"), float("-inf"), float("nan")] if has_special else []
    form, size = (">f", 4) if is_single else (">d", 8)

    def draw(rng: Random) -> float:
        while True:
            (number,) = unpack(form, rng.randbytes(size))
            if number - number == 0:
                return float(number)

    kept = [single(n) for n in edges] if is_single else edges
    return Values([*kept, *special], draw)


def spread(low: int, high: int, *edges: int, unit: int = 1) -> Values:
    """Numbers of one range, evenly, and as multiples of ``unit``."""
    always = [n // unit * unit for n in (low, high, *edges)]
    always = [n for n in dict.fromkeys(always) if low <= n <= high]
    return Values(always, lambda rng: rng.randint(-(-low // unit), high // unit) * unit)


def moments(digits: int, *, low: int = FIRST_MOMENT, high: int = LAST_MOMENT) -> Values:
    """Microseconds since 1970 with so many digits of a fraction."""
    days = ("1582-10-10", "1883-11-18T12:03:58", "1969-12-31T23:59:59.999999", "2000-02-29T12:00")
    edges = (0, 1, -1, SECOND, *map(micros_of, days))
    return spread(low, high, *edges, unit=10 ** (6 - digits))


def durations(digits: int) -> Values:
    """MySQL's TIME: signed, and beyond a day."""
    edges = (0, 1, -1, SECOND, DAY, DAY - 1, -DAY, 100 * 3600 * SECOND, 120_000, -LAST_DURATION)
    return spread(-LAST_DURATION, LAST_DURATION, *edges, unit=10 ** (6 - digits))


def times_of_day(digits: int) -> Values:
    """A time that is one of a day."""
    return spread(0, DAY - 1, 1, SECOND, 120_000, DAY // 2, unit=10 ** (6 - digits))


def texts(longest: int = 40) -> Values:
    """Texts of odd characters; those that stand for something elsewhere."""
    edges = [text[:longest] if longest < 40 else text for text in ODD_TEXTS]

    def draw(rng: Random) -> str:
        return "".join(rng.choices(ODD_CHARACTERS, k=rng.randint(0, longest)))

    return Values(edges, draw)


def contents(longest: int = 60, *, exactly: int = 0) -> Values:
    """Bytes; exactly: of that length."""
    edges = [b"", b"\0", b"\0\0a", b"a\0\0", b"\xff", bytes(range(256)), b"\xfb\xff\xfe", b"true"]
    if exactly:
        edges = [content[:exactly].ljust(exactly, b"\0") for content in edges]
    return Values(edges, lambda rng: rng.randbytes(exactly or rng.randint(0, longest)))


def bits(size: int) -> Values:
    """Digits of bits, so many of them."""
    edges = ["0" * size, "1" * size, "1".zfill(size), "1".ljust(size, "0")]
    return Values(edges, lambda rng: f"{rng.getrandbits(size):b}".zfill(size))


def one_of(*choices: Any) -> Values:
    """One of some."""
    return Values(choices, lambda rng: rng.choice(choices))


def lists(of: Values, *edges: Sequence[Any]) -> Values:
    """Lists of them, with nulls."""

    def draw(rng: Random) -> list[Any]:
        return of.take(len(of.edges) + 4, rng)[-rng.randint(0, 4) or len(of.edges) + 4 :]

    return Values([list(of.edges), [], [None], *map(list, edges)], draw)
