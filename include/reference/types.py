"""Tables of all column types, from the very tables by which records are read, for docs/types.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from reference.pages import with_tables
from tidemark.model.columns import ValueEncoding
from tidemark.model.modes import (
    BigintUnsignedMode,
    BinaryMode,
    ConnectorModes,
    DecimalMode,
    HstoreMode,
    IntervalMode,
    TimeMode,
)
from tidemark.schema.connect_types import PLAIN_TYPES, SEMANTIC_TYPES
from tidemark.schema.postgres_types import types_by_modes
from tidemark.schema.source_types import (
    CANAL_TYPES,
    DECIMAL_ENCODINGS,
    MAX_PRECISION,
    TypeMapping,
    debezium_types,
)

ENCODINGS: Mapping[ValueEncoding, str] = {
    ValueEncoding.INTEGER: "number",
    ValueEncoding.UNSIGNED_AS_SIGNED: "number, from 2^63 on less 2^64",
    ValueEncoding.FLOAT: "number, perhaps with the digits of a double",
    ValueEncoding.DOUBLE: "number, or text for what JSON has no number for",
    ValueEncoding.BOOLEAN: "true and false, or 1 and 0",
    ValueEncoding.TEXT: "text",
    ValueEncoding.BASE64: "base64",
    ValueEncoding.BASE64_URL: "base64 of the URL-safe alphabet",
    ValueEncoding.HEX: "hexadecimal digits",
    ValueEncoding.LATIN1: "text, a character a byte (ISO-8859-1)",
    ValueEncoding.BITS: "base64, least byte first; first in the target is the greatest",
    ValueEncoding.BITS_NUMBER: "number, as text",
    ValueEncoding.ENUM_INDEX: "the label's number, from 1",
    ValueEncoding.SET_MASK: "number, a bit a label",
    ValueEncoding.BITS_TEXT: "base64, least byte first; in the target digits",
    ValueEncoding.BYTES_TEXT: "base64, least byte first; in the target digits of whole bytes",
    ValueEncoding.DECIMAL_TEXT: "number, or its text",
    ValueEncoding.DECIMAL_BASE64: "base64 of the unscaled number",
    ValueEncoding.DECIMAL_SCALED: "scale, and base64 of the unscaled number",
    ValueEncoding.DAYS: "days since 1970",
    ValueEncoding.TIMESTAMP_MILLIS: "milliseconds since 1970",
    ValueEncoding.TIMESTAMP_MICROS: "microseconds since 1970",
    ValueEncoding.TIMESTAMP_NANOS: "nanoseconds since 1970",
    ValueEncoding.TIMESTAMP_TEXT: "text",
    ValueEncoding.DATE_TEXT: "text",
    ValueEncoding.ZONED_TEXT: "text with its zone",
    ValueEncoding.LOCAL_TEXT: "text in the zone of `source.zone`",
    ValueEncoding.TIME_MILLIS: "milliseconds",
    ValueEncoding.TIME_MICROS: "microseconds",
    ValueEncoding.TIME_NANOS: "nanoseconds",
    ValueEncoding.TIME_TEXT: "text",
    ValueEncoding.GEOMETRY: "WKB in base64, and SRID",
    ValueEncoding.GEOMETRY_LATIN1: "text, a character a byte: SRID, then WKB",
    ValueEncoding.MAP: "object",
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

_TypeMappings = Callable[[ConnectorModes], Mapping[str, TypeMapping]]


def with_types(page: str) -> str:
    """``page`` with a table between each ``<!-- types: NAME -->`` and ``<!-- end -->``."""
    tables = {
        "mysql": lambda: _by_modes(debezium_types, ConnectorModes(), "decimal"),
        "postgres": lambda: _by_modes(types_by_modes, POSTGRES_MODES, "numeric"),
        "canal": lambda: _grouped(
            {**_decimals("decimal", ValueEncoding.DECIMAL_TEXT), **CANAL_TYPES},
            lambda _, mapping: _encoding_text(mapping),
        ),
        "connect": lambda: _grouped(
            {**PLAIN_TYPES, **SEMANTIC_TYPES}, lambda _, mapping: _encoding_text(mapping)
        ),
    }
    return with_tables(page, "types", lambda name: (*_HEADER, *tables[name]()))


def _by_modes(mappings: _TypeMappings, modes: ConnectorModes, decimal: str) -> Iterator[str]:
    """The rows of a connector, whose modes change what it writes."""

    def every(some: ConnectorModes) -> Mapping[str, TypeMapping]:
        return {**_decimals(decimal, DECIMAL_ENCODINGS[some.decimal]), **mappings(some)}

    mode_forms = every(modes)
    settings: list[dict[str, Any]] = [{name: v} for name, all_ in SETTINGS.items() for v in all_]
    others = [
        (name.replace("_", "-"), value, every(replace(modes, **setting)))
        for setting in settings
        for name, value in setting.items()
    ]

    def describe(name: str, mapping: TypeMapping) -> str:
        by_words: dict[str, list[str]] = {}
        for setting, value, table in others:
            other = table.get(name) or table[name.partition("(")[0]]
            if other != mapping:
                target = "" if other[0] == mapping[0] else f", becomes {other[0]}"
                words = f"{ENCODINGS[other[1]]}{target}"
                by_words.setdefault(words, []).append(f"`{setting}: {value}`")
        return "; ".join(
            (_encoding_text(mapping), *(f"{', '.join(at)}: {w}" for w, at in by_words.items()))
        )

    return _grouped(mode_forms, describe)


def _decimals(name: str, encoding: ValueEncoding) -> Mapping[str, TypeMapping]:
    return {
        f"{name}(p,s)": ("decimal(p,s)", encoding),
        f"{name}(p,s), p above {MAX_PRECISION}": ("string", encoding),
    }


def _encoding_text(mapping: TypeMapping) -> str:
    return ENCODINGS[mapping[1]]


def _grouped(
    mappings: Mapping[str, TypeMapping], describe: Callable[[str, TypeMapping], str]
) -> Iterator[str]:
    """A row for all types that are alike, in the order of the first one of each."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, mapping in mappings.items():
        groups.setdefault((mapping[0], describe(name, mapping)), []).append(_named(name))
    for (target, words), names in groups.items():
        yield f"| {', '.join(names)} | {target} | {words} |"


def _named(name: str) -> str:
    if name.endswith(_UNTOLD):
        return f"{name.removesuffix(_UNTOLD)} of undeclared size"
    return re.sub(r"\(6\)$", "(4 to 6)", name)
