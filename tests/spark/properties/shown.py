"""What a reader of the target must find for a value, after docs/types.md, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import EllipsisType
from typing import Any

from tests.spark.properties.connectors import (
    FOREVER,
    NEVER,
    SPECIAL,
    Sent,
    TypeText,
    hstore_json,
    postgres_sent,
    variable_scale,
)
from tests.spark.properties.numerals import DAY, clock, instant, scaled, wall
from tidemark.model.modes import ConnectorModes, DecimalMode, HstoreMode

Show = Callable[[Any], Any]

REFUSED: EllipsisType = ...
"""In place of a value that the column cannot hold: its row must be told as misread."""
PRECISION = 38
_INFINITE = (FOREVER, NEVER)
_FIRST_DAY, _LAST_DAY = (day.toordinal() - 719_163 for day in (date.min, date.max))


def mysql_shown(text: str) -> Show:
    """A column of MySQL or MariaDB whose source type is known."""
    known = TypeText.of(text)
    base, digits = known.base, (*known.numbers, 0)[0]
    if base == "bit":
        return same if digits < 2 else lambda n: n.to_bytes(-(-digits // 8), "big")
    if base == "decimal":
        return decimal_shown(*known.numbers)
    shows: Mapping[str, Show] = {
        "bigint unsigned": Decimal,
        "serial": Decimal,
        "date": _date,
        "time": lambda micros: clock(micros, digits),
        "datetime": _wall,
        "timestamp": instant_shown,
    }
    return shows.get(base, same)


def postgres_shown(text: str, modes: ConnectorModes) -> Show:
    """A column of PostgreSQL whose source type is known."""
    if text.endswith("[]"):
        return _listed(postgres_shown(text.removesuffix("[]"), modes))
    known = TypeText.of(text)
    base = known.base
    shows: Mapping[str, Show] = {
        "numeric": decimal_shown(*known.numbers) if known.numbers else _UNSIZED[modes.decimal],
        "money": decimal_shown(19, 2),
        "date": _date,
        "time": lambda micros: clock(micros, 6, strip=True),
        "timestamp": _wall,
        "timestamp with time zone": instant_shown,
        "bit": same if known.numbers not in {(), (1,)} else lambda bits: bits == "1",
        "bit varying": (lambda bits: bits == "1") if known.numbers == (1,) else _whole_bytes,
    }
    if base == "hstore":
        return hstore_json if modes.hstore is HstoreMode.JSON else same
    return shows.get(base, same)


def record_shown(text: str, modes: ConnectorModes, sent: Sent, shown: Show) -> Show:
    """A column of which nothing is known but its type of Connect.

    shown: of its source type. What Connect has no name for is what its literal is.
    """
    if text.endswith("[]"):
        inner = text.removesuffix("[]")
        element = postgres_sent(inner, modes)
        return _listed(record_shown(inner, modes, element, postgres_shown(inner, modes)))
    known = TypeText.of(text)
    if not sent.connect.name and sent.connect.type != "map":
        return sent.encode
    if known.base == "time":
        return lambda micros: clock(micros, 6, strip=True)
    if known.base == "bit varying" and known.numbers:
        return lambda bits: bits.zfill(known.numbers[0])
    return shown


def decimal_shown(precision: int, scale: int = 0) -> Show:
    """A decimal, or its exact text where it has more digits than Iceberg holds."""
    if precision > PRECISION:
        return plain_shown

    def show(value: Any) -> Any:
        if value in SPECIAL:
            return REFUSED
        sign, digits, exponent = value.as_tuple()
        size = int("".join(map(str, digits)) + "0" * (scale + exponent))
        return scaled(-size if sign else size, scale)

    return show


def same(value: Any) -> Any:
    """What it was at the source."""
    return value


def plain_shown(value: Any) -> Any:
    """A number's text without an exponent."""
    return REFUSED if value in SPECIAL else f"{value:f}"


def instant_shown(micros: Any) -> Any:
    """An instant; an infinite one is null."""
    return _moment(micros, instant)


def _stripped(value: Decimal) -> str:
    sent = variable_scale(value)
    number = int.from_bytes(sent["value"], "big", signed=True)
    return f"{scaled(number, sent['scale']):f}"


_UNSIZED: Mapping[DecimalMode, Show] = {
    DecimalMode.PRECISE: _stripped,
    DecimalMode.DOUBLE: float,
    DecimalMode.STRING: plain_shown,
}


def _listed(element: Show) -> Show:
    """Null elements stay; no array where one element is refused."""

    def show(values: Any) -> Any:
        shown = [None if value is None else element(value) for value in values]
        return REFUSED if any(one is REFUSED for one in shown) else shown

    return show


def _date(days: Any) -> Any:
    if days in _INFINITE:
        return None
    return date(1970, 1, 1) + timedelta(days=days) if _FIRST_DAY <= days <= _LAST_DAY else REFUSED


def _wall(micros: Any) -> Any:
    return _moment(micros, wall)


def _moment(micros: Any, shown: Callable[[int], datetime]) -> Any:
    if micros in _INFINITE:
        return None
    return shown(micros) if _FIRST_DAY <= micros // DAY <= _LAST_DAY else REFUSED


def _whole_bytes(bits: str) -> str:
    """Records hold no zero bytes in front, and do not tell how many bits there were."""
    number = int(bits or "0", 2)
    return f"{number:b}".zfill(-(-number.bit_length() // 8) * 8) if number else ""
