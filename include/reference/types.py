"""Tables of all column types, from the very tables by which records are read, for docs/types.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from reference.pages import with_tables
from tidemark.model.columns import Wire
from tidemark.model.modes import (
    BigintUnsignedMode,
    BinaryMode,
    ConnectorModes,
    DecimalMode,
    HstoreMode,
    IntervalMode,
    TimeMode,
)
from tidemark.schema.connect_types import PLAIN_FORMS, SEMANTIC_FORMS
from tidemark.schema.postgres_types import postgres_forms
from tidemark.schema.source_types import (
    CANAL_FORMS,
    DECIMAL_WIRES,
    MAX_PRECISION,
    Form,
    debezium_forms,
)

WIRES: Mapping[Wire, str] = {
    Wire.INTEGER: "number",
    Wire.UNSIGNED_AS_SIGNED: "number, from 2^63 on less 2^64",
    Wire.FLOAT: "number, perhaps with the digits of a double",
    Wire.DOUBLE: "number, or text for what JSON has no number for",
    Wire.BOOLEAN: "true and false, or 1 and 0",
    Wire.TEXT: "text",
    Wire.BASE64: "base64",
    Wire.BASE64_URL: "base64 of the URL-safe alphabet",
    Wire.HEX: "hexadecimal digits",
    Wire.LATIN1: "text, a character a byte (ISO-8859-1)",
    Wire.BITS: "base64, least byte first; first in the target is the greatest",
    Wire.BITS_NUMBER: "number, as text",
    Wire.ENUM_INDEX: "the label's number, from 1",
    Wire.SET_MASK: "number, a bit a label",
    Wire.BITS_TEXT: "base64, least byte first; in the target digits",
    Wire.BYTES_TEXT: "base64, least byte first; in the target digits of whole bytes",
    Wire.DECIMAL_TEXT: "number, or its text",
    Wire.DECIMAL_BASE64: "base64 of the unscaled number",
    Wire.DECIMAL_SCALED: "scale, and base64 of the unscaled number",
    Wire.DAYS: "days since 1970",
    Wire.TIMESTAMP_MILLIS: "milliseconds since 1970",
    Wire.TIMESTAMP_MICROS: "microseconds since 1970",
    Wire.TIMESTAMP_NANOS: "nanoseconds since 1970",
    Wire.TIMESTAMP_TEXT: "text",
    Wire.DATE_TEXT: "text",
    Wire.ZONED_TEXT: "text with its zone",
    Wire.LOCAL_TEXT: "text in the zone of `source.zone`",
    Wire.TIME_MILLIS: "milliseconds",
    Wire.TIME_MICROS: "microseconds",
    Wire.TIME_NANOS: "nanoseconds",
    Wire.TIME_TEXT: "text",
    Wire.GEOMETRY: "WKB in base64, and SRID",
    Wire.GEOMETRY_LATIN1: "text, a character a byte: SRID, then WKB",
    Wire.MAP: "object",
}
SETTINGS: Mapping[str, type[StrEnum]] = {
    "decimal": DecimalMode,
    "time": TimeMode,
    "bigint_unsigned": BigintUnsignedMode,
    "binary": BinaryMode,
    "interval": IntervalMode,
    "hstore": HstoreMode,
}
POSTGRES_MODES = ConnectorModes(time=TimeMode.ADAPTIVE)
_UNTOLD = "(?)"
_HEADER = ("| source | target | in records |", "| --- | --- | --- |")

_Forms = Callable[[ConnectorModes], Mapping[str, Form]]


def with_types(page: str) -> str:
    """``page`` with a table between each ``<!-- types: NAME -->`` and ``<!-- end -->``."""
    tables = {
        "mysql": lambda: _by_modes(debezium_forms, ConnectorModes(), "decimal"),
        "postgres": lambda: _by_modes(postgres_forms, POSTGRES_MODES, "numeric"),
        "canal": lambda: _grouped(
            {**_decimals("decimal", Wire.DECIMAL_TEXT), **CANAL_FORMS},
            lambda _, form: _wire_text(form),
        ),
        "connect": lambda: _grouped(
            {**PLAIN_FORMS, **SEMANTIC_FORMS}, lambda _, form: _wire_text(form)
        ),
    }
    return with_tables(page, "types", lambda name: (*_HEADER, *tables[name]()))


def _by_modes(forms: _Forms, modes: ConnectorModes, decimal: str) -> Iterator[str]:
    """The rows of a connector, whose modes change what it writes."""

    def every(some: ConnectorModes) -> Mapping[str, Form]:
        return {**_decimals(decimal, DECIMAL_WIRES[some.decimal]), **forms(some)}

    mode_forms = every(modes)
    settings: list[dict[str, Any]] = [{name: v} for name, all_ in SETTINGS.items() for v in all_]
    others = [
        (name.replace("_", "-"), value, every(replace(modes, **setting)))
        for setting in settings
        for name, value in setting.items()
    ]

    def describe(name: str, form: Form) -> str:
        by_words: dict[str, list[str]] = {}
        for setting, value, table in others:
            other = table.get(name) or table[name.partition("(")[0]]
            if other != form:
                target = "" if other[0] == form[0] else f", becomes {other[0]}"
                words = f"{WIRES[other[1]]}{target}"
                by_words.setdefault(words, []).append(f"`{setting}: {value}`")
        return "; ".join(
            (_wire_text(form), *(f"{', '.join(at)}: {w}" for w, at in by_words.items()))
        )

    return _grouped(mode_forms, describe)


def _decimals(name: str, wire: Wire) -> Mapping[str, Form]:
    return {
        f"{name}(p,s)": ("decimal(p,s)", wire),
        f"{name}(p,s), p above {MAX_PRECISION}": ("string", wire),
    }


def _wire_text(form: Form) -> str:
    return WIRES[form[1]]


def _grouped(forms: Mapping[str, Form], describe: Callable[[str, Form], str]) -> Iterator[str]:
    """A row for all types that are alike, in the order of the first one of each."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, form in forms.items():
        groups.setdefault((form[0], describe(name, form)), []).append(_named(name))
    for (target, words), names in groups.items():
        yield f"| {', '.join(names)} | {target} | {words} |"


def _named(name: str) -> str:
    if name.endswith(_UNTOLD):
        return f"{name.removesuffix(_UNTOLD)} of undeclared size"
    return re.sub(r"\(6\)$", "(4 to 6)", name)
