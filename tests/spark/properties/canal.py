"""What Canal and TiCDC make of a column: its ``mysqlType``, and the text of a value (9.6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.spark.properties.connectors import TypeText
from tests.spark.properties.numerals import clock, go_float, in_iso, iso_date, java_float

Text = Callable[[Any], str]

_BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")


@dataclass(frozen=True)
class CanalSent:
    """A column: its type in records, and what becomes of a value."""

    mysql_type: str
    text: Text


def canal_sent(text: str) -> CanalSent:
    """A column as Canal sends it: the whole type, values as the binlog has them."""
    known = TypeText.of(text)
    floats = {
        "float": lambda number: java_float(number, is_single=True),
        "double": java_float,
        # The binlog holds no zero bytes at the end, and nobody puts them back.
        "binary": lambda content: _latin1(content.rstrip(b"\0")),
    }
    return CanalSent(text, floats.get(known.base) or _text(known))


def ticdc_sent(text: str) -> CanalSent:
    """A column as TiCDC sends it: the base type alone."""
    known = TypeText.of(text)
    floats = {
        "float": lambda number: go_float(number, is_single=True),
        "double": go_float,
    }
    return CanalSent(known.base, floats.get(known.base) or _text(known))


def old_ticdc_float(number: float) -> str:
    """A FLOAT with the digits of a double, as TiCDC had them once."""
    return go_float(number)


def _text(known: TypeText) -> Text:
    digits = (*known.numbers, 0)[0]
    texts: Mapping[str, Text] = {
        **dict.fromkeys(_BYTES, _latin1),
        "bit": lambda bits: str(int(bits)),
        "decimal": lambda number: f"{number:f}",
        "date": iso_date,
        "time": lambda micros: clock(micros, digits),
        "datetime": lambda micros: in_iso(micros, digits, between=" "),
        "timestamp": lambda micros: in_iso(micros, digits, between=" "),
    }
    return texts.get(known.base, str)


def _latin1(content: bytes) -> str:
    return content.decode("latin-1")
