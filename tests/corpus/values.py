"""One value: what a case says about it, and what stands in the table, brought to one form.

Two values are equal when `expected_form` of the one is `actual_form` of the other. Both follow
"Values in rows" of cases/README.md. A value whose type the column may not have (a double for a
DECIMAL, text for a DATE) has the form of nothing, so it equals no expected value.
"""

from __future__ import annotations

import base64
import json
import math
import re
import struct
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

from tests.corpus.cases import Column
from tests.corpus.geometry import ewkt, parse_geojson, parse_wkb, tidy_ewkt

Form = Callable[[Any], Hashable]

_WHOLE = (
    *("tinyint", "smallint", "mediumint", "int", "integer", "bigint", "serial", "year", "long"),
    *("bool", "boolean", "int2", "int4", "int8", "oid", "smallserial", "bigserial"),
)
_EXACT = ("decimal", "numeric", "fixed", "dec")
_DOUBLES = ("double", "double precision", "real")
_BYTES = (
    *("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bytea"),
    *("long varbinary", "bytes"),
)
_SHAPES = (
    *("geometry", "geography", "point", "linestring", "polygon", "geometrycollection"),
    *("multipoint", "multilinestring", "multipolygon"),
)
_TIME = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_PAIR = re.compile(r'("(?:[^"\\]|\\.)*")=>("(?:[^"\\]|\\.)*"|NULL)')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_INTERVAL = re.compile(
    r"P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?"
    r"(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?)?"
)
_ZERO_DATE = re.compile(r"\d{4}-(00-|\d{2}-00)")
_DAY = 86_400_000_000
_INTERVAL_UNITS = (
    *(Decimal("365.25") * _DAY, Decimal("30.4375") * _DAY, Decimal(_DAY)),
    *(Decimal(3_600_000_000), Decimal(60_000_000), Decimal(1_000_000)),
)
_ZONED = re.compile(r"(.*[\d.])\s*(?:Z|\+00(?::?00)?)")


@dataclass(frozen=True, slots=True)
class Unfit:
    """The form of a value that its column may not hold; equal to no other."""

    shown: str


@dataclass(frozen=True, slots=True)
class _Rule:
    expected: Form
    actual: Form


def expected_form(value: Any, column: Column, *, is_postgres: bool = False) -> Hashable:
    """The form of a value of expected.json; a date whose month or day is zero is none (TYPE-12)."""
    is_date = column.source_type.lower().startswith(("date", "timestamp"))
    if value is None or (is_date and _ZERO_DATE.match(str(value))):
        return None
    return _rule(column, is_postgres=is_postgres).expected(value)


def actual_form(value: Any, column: Column, *, is_postgres: bool = False) -> Hashable:
    """The form of a value that was read from a table."""
    if value is None:
        return None
    try:
        return _rule(column, is_postgres=is_postgres).actual(value)
    except (ValueError, TypeError, KeyError, InvalidOperation, OverflowError):
        return Unfit(f"{type(value).__name__} {value!r}")


def _rule(column: Column, *, is_postgres: bool) -> _Rule:
    if column.expected_as:
        return _NUMBERED
    text = column.source_type.lower()
    if text.endswith("hstore[]"):
        return _PAIRS_ARRAY
    if text.endswith("[]"):
        return _ARRAY
    if is_postgres:
        text = text.rpartition(".")[2]  # extensions may stand in any schema
    base = re.sub(r"\(.*?\)|\b(?:unsigned|zerofill|signed)\b", " ", text, flags=re.DOTALL)
    name = " ".join(base.split())
    if is_postgres and name in _POSTGRES:
        return _POSTGRES[name]
    if name == "bit":
        return _WHOLE_RULE if text in {"bit", "bit(1)"} else _BYTES_RULE
    return _RULES.get(name, _TEXT_RULE)


def _whole(value: Any) -> int:
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    raise TypeError


def _numbered(value: Any) -> int:
    return int.from_bytes(value, "big") if isinstance(value, bytes) else _whole(value)


def _exact(value: Any) -> Hashable:
    if not isinstance(value, Decimal | int | str) or isinstance(value, bool):
        raise TypeError
    number = Decimal(value)
    return number if number.is_finite() else str(number)


def _double(value: Any) -> Hashable:
    if not isinstance(value, float):
        raise TypeError
    return "NaN" if math.isnan(value) else value


def _single(value: Any) -> Hashable:
    if not isinstance(value, float):
        raise TypeError
    (single,) = struct.unpack("f", struct.pack("f", value))
    return _double(single)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _label(value: Any) -> str:
    return str(value) if isinstance(value, int) else _text(value)


def _date(value: Any) -> Hashable:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise TypeError
    return value


def _expected_date(text: str) -> Hashable:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return text


def _moment(value: Any) -> Hashable:
    if not isinstance(value, datetime):
        raise TypeError
    return value if value.tzinfo is None else value.astimezone(UTC)


def _expected_moment(text: str) -> Hashable:
    """With a zone an instant, without one a wall clock: the two never equal each other."""
    zoned = _ZONED.fullmatch(text)
    try:
        moment = datetime.fromisoformat(zoned[1] if zoned else text)
    except ValueError:
        return text
    return moment.replace(tzinfo=UTC) if zoned else moment


def _duration(value: Any) -> Hashable:
    """A TIME as microseconds; it may be negative, or longer than a day."""
    text = value.isoformat() if isinstance(value, time) else _text(value)
    found = _TIME.fullmatch(text)
    if found is None:
        return text
    sign, hours, minutes, seconds, fraction = found.groups()
    micros = ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1_000_000
    micros += int((fraction or "").ljust(6, "0")[:6])
    return -micros if sign else micros


def _bytes(value: Any) -> Hashable:
    if not isinstance(value, bytes):
        raise TypeError
    return value


def _document(value: Any) -> Hashable:
    """JSON compared as JSON: blanks and the order of fields mean nothing, numbers are exact."""
    return _frozen(json.loads(_text(value), parse_float=Decimal))


def _expected_document(value: Any) -> Hashable:
    return _document(value if isinstance(value, str) else json.dumps(value))


def _frozen(node: Any) -> Hashable:
    if isinstance(node, dict):
        return frozenset((name, _frozen(value)) for name, value in node.items())
    if isinstance(node, list):
        return tuple(_frozen(value) for value in node)
    return (isinstance(node, bool), node)


def _shape(value: Mapping[str, Any]) -> str:
    shape = parse_wkb(value["wkb"])
    return ewkt(replace(shape, srid=value["srid"] or shape.srid))


def _expected_shape(text: str) -> str:
    """``SRID=n;WKT`` of that, of GeoJSON, or of what PostGIS shows: its binary form in hex."""
    if text.startswith("{"):
        return ewkt(parse_geojson(json.loads(text)))
    if text.startswith("SRID="):
        return tidy_ewkt(text)
    return ewkt(parse_wkb(bytes.fromhex(text)))


def _array(value: Any) -> str:
    """A list as PostgreSQL writes an array."""
    if not isinstance(value, list):
        return _text(value)
    return "{" + ",".join("NULL" if item is None else _element(item) for item in value) + "}"


def _element(item: Any) -> str:
    if isinstance(item, list):
        return _array(item)
    if isinstance(item, bool):
        return "t" if item else "f"
    text = f"\\x{item.hex()}" if isinstance(item, bytes) else str(item)
    if text and text.upper() != "NULL" and not re.search(r'[\s{},"\\]', text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _expected_array(text: str) -> str:
    """Of an array in an array the records hold nothing but how long it is (TYPE-24)."""
    if not text.startswith("{{"):
        return text
    depth = outer = 0
    for sign in text:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        outer += sign == "{" and depth == len("{{")
    return "{" + ",".join(["NULL"] * outer) + "}"


def _money(text: str) -> Decimal:
    """``-$1,234.11`` as a number."""
    return Decimal(re.sub(r"[$,]", "", text))


def _pairs(value: Any) -> Hashable:
    """An HSTORE as a map, or as the text of a JSON object."""
    return frozenset(json.loads(value).items() if isinstance(value, str) else value)


def _expected_pairs(text: str) -> Hashable:
    """``"a"=>"1", "b"=>NULL``."""
    return frozenset(
        (json.loads(name), None if told == "NULL" else json.loads(told))
        for name, told in _PAIR.findall(text)
    )


def _unquoted(text: str) -> list[str]:
    """The elements of an array, all of which are quoted."""
    return [re.sub(r"\\(.)", r"\1", element) for element in _QUOTED.findall(text)]


def _host(value: Any) -> str:
    """An address; one of a single host may have the length of its network or not."""
    return re.sub(r"/(32|128)$", "", _text(value))


def _interval(value: Any) -> int:
    """Microseconds, or ISO 8601; a year has 365.25 days."""
    if isinstance(value, int):
        return value
    found = _INTERVAL.fullmatch(_text(value))
    if found is None:
        raise ValueError(value)
    sizes = (Decimal(number or 0) for number in found.groups())
    return int(sum(size * unit for size, unit in zip(sizes, _INTERVAL_UNITS, strict=True)))


def _xy(value: Any) -> tuple[float, ...]:
    """A POINT of PostgreSQL: ``(1,2)``."""
    if isinstance(value, str):
        return tuple(map(float, value.strip("()").split(",")))
    content: tuple[float, ...] = parse_wkb(value["wkb"]).content
    return content


def _bits_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else _text(value)


_WHOLE_RULE = _Rule(int, _whole)
_NUMBERED = _Rule(int, _numbered)
_TEXT_RULE = _Rule(str, _text)
_BYTES_RULE = _Rule(base64.b64decode, _bytes)
_SINGLE_RULE = _Rule(lambda value: _single(float(value)), _single)
_ARRAY = _Rule(_expected_array, _array)
_PAIRS_ARRAY = _Rule(
    lambda text: tuple(map(_expected_pairs, _unquoted(text))),
    lambda values: tuple(map(_pairs, values)),
)
_MOMENT_RULE = _Rule(_expected_moment, _moment)
_TIME_RULE = _Rule(_duration, _duration)
_BIT_TEXT_RULE = _Rule(str, _bits_text)

_RULES: Mapping[str, _Rule] = {
    **dict.fromkeys(_WHOLE, _WHOLE_RULE),
    **dict.fromkeys(_EXACT, _Rule(lambda value: _exact(str(value)), _exact)),
    **dict.fromkeys(_DOUBLES, _Rule(lambda value: _double(float(value)), _double)),
    **dict.fromkeys(_BYTES, _BYTES_RULE),
    **dict.fromkeys(_SHAPES, _Rule(_expected_shape, _shape)),
    **dict.fromkeys(("enum", "set"), _Rule(str, _label)),
    **dict.fromkeys(("json", "jsonb"), _Rule(_expected_document, _document)),
    "float": _SINGLE_RULE,
    "date": _Rule(_expected_date, _date),
    "datetime": _MOMENT_RULE,
    **dict.fromkeys(
        ("timestamp", "timestamp without time zone", "timestamp with time zone"), _MOMENT_RULE
    ),
    **dict.fromkeys(("time", "time without time zone"), _TIME_RULE),
}
_POSTGRES: Mapping[str, _Rule] = {
    "real": _SINGLE_RULE,
    "bit": _BIT_TEXT_RULE,
    "bit varying": _BIT_TEXT_RULE,
    "point": _Rule(_xy, _xy),
    "polygon": _TEXT_RULE,
    "hstore": _Rule(_expected_pairs, _pairs),
    "interval": _Rule(_interval, _interval),
    "money": _Rule(_money, _exact),
    **dict.fromkeys(("inet", "cidr"), _Rule(_host, _host)),
}
