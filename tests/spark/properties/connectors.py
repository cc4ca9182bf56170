"""What Debezium's connectors make of a column: a type of Connect, and a value of it per value.

Source values are plain: int, Decimal, float, str, bytes, list; a date is its days since 1970, a
time its microseconds, a timestamp its microseconds since 1970 in UTC; FOREVER and NEVER are
PostgreSQL's infinities, and SPECIAL the numerics that are no numbers.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.spark.properties.connect import DECIMAL, Connect, array_of
from tests.spark.properties.numerals import (
    big_integer,
    clock,
    in_iso,
    iso_date,
    least_first,
    unscaled,
)
from tidemark.model.modes import (
    BigintUnsignedMode,
    BinaryMode,
    ConnectorModes,
    DecimalMode,
    HstoreMode,
    IntervalMode,
    TimeMode,
)

FOREVER, NEVER = "infinity", "-infinity"
SPECIAL = {"NaN": "NAN", "Infinity": "POSITIVE_INFINITY", "-Infinity": "NEGATIVE_INFINITY"}
_CONNECT, _TIME, _DATA = "org.apache.kafka.connect.data.", "io.debezium.time.", "io.debezium.data."
_ENDS = {FOREVER: 9_223_372_036_825_200_000, NEVER: -9_223_372_036_832_400_000}
"""Microseconds that PostgreSQL's driver has for the infinities, and Debezium with it."""
_END_DATES = {FOREVER: "-5877611-06-21", NEVER: "-5877611-06-22"}
_END_DAYS = {FOREVER: -2_147_472_692, NEVER: -2_147_472_691}
VARIABLE = Connect(
    "struct",
    f"{_DATA}VariableScaleDecimal",
    fields={"scale": Connect("int32"), "value": Connect("bytes")},
)
_INTEGERS = {
    "tinyint": "int16",
    "tinyint unsigned": "int16",
    "smallint": "int16",
    "smallint unsigned": "int32",
    "mediumint": "int32",
    "mediumint unsigned": "int32",
    "int": "int32",
    "int unsigned": "int64",
    "bigint": "int64",
    "integer": "int32",
    "serial": "int32",
    "smallserial": "int16",
    "bigserial": "int64",
    "oid": "int64",
}
_BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "bytea")
_MEANT = {
    "json": "Json",
    "jsonb": "Json",
    "xml": "Xml",
    "uuid": "Uuid",
    "ltree": "Ltree",
    "tsvector": "Tsvector",
}


@dataclass(frozen=True)
class Sent:
    """A column in records: its type, and what becomes of a value."""

    connect: Connect
    encode: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True)
class TypeText:
    """A column type taken apart: ``decimal(8,2) unsigned``."""

    base: str
    numbers: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> TypeText:
        inside = re.search(r"\(([^)]*)\)", text)
        numbers = tuple(map(int, re.findall(r"\d+", inside[1]))) if inside else ()
        base = re.sub(r"\(.*\)", "", text, flags=re.DOTALL)
        return cls(" ".join(base.split()), numbers)


def mysql_sent(text: str, modes: ConnectorModes) -> Sent:
    """A column of MySQL or MariaDB."""
    known = TypeText.of(text)
    base, digits = known.base, (*known.numbers, 0)[0]
    if base in _INTEGERS:
        return Sent(Connect(_INTEGERS[base]))
    if base in ("bigint unsigned", "serial unsigned"):
        return _UNSIGNED[modes.bigint_unsigned]
    if base == "bit":
        return (
            _BOOLEAN
            if digits < 2
            else _bits(digits, lambda n: n.to_bytes(-(-digits // 8), "little"))
        )
    if base in ("date", "time", "datetime"):
        return temporal(base, digits, modes.time)
    if base in ("enum", "set"):
        kind = {"enum": "Enum", "set": "EnumSet"}[base]
        return Sent(Connect("string", f"{_DATA}{kind}", {"allowed": text[len(base) + 1 : -1]}))
    others = {
        "year": Sent(Connect("int32", f"{_TIME}Year")),
        "float": Sent(Connect("float")),
        "double": Sent(Connect("double")),
        "timestamp": Sent(Connect("string", f"{_TIME}ZonedTimestamp"), zoned(digits)),
        "decimal": _decimal(known, modes.decimal),
    }
    return others.get(base) or _text_or_bytes(base, modes)


def postgres_sent(text: str, modes: ConnectorModes) -> Sent:
    """A column of PostgreSQL."""
    if text.endswith("[]"):
        element = postgres_sent(text.removesuffix("[]"), modes)
        return Sent(
            array_of(element.connect), lambda values: [_null_or(element, v) for v in values]
        )
    known = TypeText.of(text)
    base, digits = known.base, (*known.numbers, 6)[0]
    if base in _INTEGERS:
        return Sent(Connect(_INTEGERS[base]))
    if base in ("date", "time", "timestamp"):
        return temporal(base, digits, modes.time)
    if base in ("bit", "bit varying"):
        size = (*known.numbers, 1 if base == "bit" else 2**31 - 1)[0]
        bits = _bits(size, lambda bits: least_first(int(bits or "0", 2)))
        return Sent(Connect("boolean"), lambda bits: bits == "1") if size == 1 else bits
    others = {
        "boolean": _BOOLEAN,
        "real": Sent(Connect("float")),
        "double precision": Sent(Connect("double")),
        "timestamp with time zone": Sent(
            Connect("string", f"{_TIME}ZonedTimestamp"), zoned(digits)
        ),
        "time with time zone": Sent(Connect("string", f"{_TIME}ZonedTime")),
        "money": _decimal(TypeText("money", (0, 2)), modes.decimal),
        "numeric": _decimal(known, modes.decimal) if known.numbers else _VARIABLE[modes.decimal],
        "interval": _INTERVAL[modes.interval],
        "hstore": _HSTORE[modes.hstore],
    }
    return others.get(base) or _text_or_bytes(base, modes)


def _null_or(sent: Sent, value: Any) -> Any:
    return None if value is None else sent.encode(value)


def _text_or_bytes(base: str, modes: ConnectorModes) -> Sent:
    if base in _BYTES:
        return _BINARY[modes.binary]
    return Sent(Connect("string", f"{_DATA}{_MEANT[base]}" if base in _MEANT else ""))


def _bits(size: int, encode: Callable[[Any], bytes]) -> Sent:
    return Sent(Connect("bytes", f"{_DATA}Bits", {"length": str(size)}), encode)


def _decimal(known: TypeText, mode: DecimalMode) -> Sent:
    if mode is DecimalMode.DOUBLE:
        return _AS_DOUBLE
    if mode is DecimalMode.STRING:
        return _AS_TEXT
    precision, scale = (*known.numbers, 0)[:2] if known.numbers else (10, 0)
    parameters = {"scale": str(scale)}
    if known.base != "money":
        parameters["connect.decimal.precision"] = str(precision)
    return Sent(Connect("bytes", DECIMAL, parameters), lambda n: big_integer(unscaled(n)))


def variable_scale(number: Decimal) -> dict[str, Any]:
    """Zeros at the end are gone; no scale is below 0."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    size, scale = int("".join(map(str, digits))), -exponent
    while scale > 0 and size % 10 == 0:
        size, scale = size // 10, scale - 1
    if scale < 0:
        size, scale = size * 10**-scale, 0
    return {"scale": scale, "value": big_integer(-size if sign else size)}


def temporal(kind: str, digits: int, mode: TimeMode) -> Sent:
    """A date, time or wall clock under ``time.precision.mode``."""
    if mode is TimeMode.ISOSTRING:
        name, encode = _ISO[kind]
        return Sent(Connect("string", f"{_TIME}{name}"), encode)
    if kind == "date":
        space = _CONNECT if mode is TimeMode.CONNECT else _TIME
        return Sent(Connect("int32", f"{space}Date"), lambda days: _END_DAYS.get(days, days))
    is_time = kind == "time"
    name = "Time" if is_time else "Timestamp"
    adaptive = {TimeMode.ADAPTIVE} | (set() if is_time else {TimeMode.ADAPTIVE_MICROSECONDS})
    if mode is TimeMode.CONNECT or (mode in adaptive and digits <= 3):
        space = _CONNECT if mode is TimeMode.CONNECT else _TIME
        of_millis = Connect("int32" if is_time else "int64", f"{space}{name}")
        return Sent(of_millis, lambda micros: _ENDS.get(micros, micros) // 1000)
    if mode is TimeMode.NANOSECONDS:
        ends = {FOREVER: 2**63 - 1, NEVER: -(2**63)}
        return Sent(
            Connect("int64", f"{_TIME}Nano{name}"),
            lambda micros: ends[micros] if micros in ends else micros * 1000,
        )
    return Sent(Connect("int64", f"{_TIME}Micro{name}"), lambda micros: _ENDS.get(micros, micros))


def _iso_timestamp(micros: Any) -> str:
    return f"{in_iso(_ENDS.get(micros, micros), 6, strip=True)}Z"


def zoned(digits: int) -> Callable[[Any], str]:
    """An instant in UTC: with its declared digits, or with those that are no zeros."""

    def encode(micros: Any) -> str:
        if micros in _ENDS:
            return str(micros)
        return f"{in_iso(micros, digits or 6, strip=digits == 0)}Z"

    return encode


def hstore_json(pairs: Mapping[str, str | None]) -> str:
    """Jackson's own spacing: none."""
    return json.dumps(pairs, ensure_ascii=False, separators=(",", ":"))


_ISO: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "date": ("IsoDate", lambda days: f"{_END_DATES.get(days) or iso_date(days)}Z"),
    "time": ("IsoTime", lambda micros: f"{clock(micros, 6, strip=True)}Z"),
    "datetime": ("IsoTimestamp", _iso_timestamp),
    "timestamp": ("IsoTimestamp", _iso_timestamp),
}
_BOOLEAN = Sent(Connect("boolean"))
_AS_DOUBLE = Sent(Connect("double"), float)
_AS_TEXT = Sent(Connect("string"), lambda n: SPECIAL.get(n) or f"{n:f}")
_UNSIGNED = {
    BigintUnsignedMode.LONG: Sent(Connect("int64"), lambda n: n - 2**64 if n >= 2**63 else n),
    BigintUnsignedMode.PRECISE: Sent(Connect("bytes", DECIMAL, {"scale": "0"}), big_integer),
}
_VARIABLE = {
    DecimalMode.PRECISE: Sent(VARIABLE, variable_scale),
    DecimalMode.DOUBLE: _AS_DOUBLE,
    DecimalMode.STRING: _AS_TEXT,
}
_BINARY = {
    BinaryMode.BYTES: Sent(Connect("bytes")),
    BinaryMode.BASE64: Sent(Connect("string"), lambda content: b64encode(content).decode()),
    BinaryMode.BASE64_URL_SAFE: Sent(
        Connect("string"), lambda content: urlsafe_b64encode(content).decode()
    ),
    BinaryMode.HEX: Sent(Connect("string"), bytes.hex),
}
_INTERVAL = {
    IntervalMode.NUMERIC: Sent(Connect("int64", f"{_TIME}MicroDuration")),
    IntervalMode.STRING: Sent(Connect("string", f"{_TIME}Interval")),
}
_HSTORE = {
    HstoreMode.JSON: Sent(Connect("string", f"{_DATA}Json"), hstore_json),
    HstoreMode.MAP: Sent(Connect("map", items=Connect("string"))),
}
