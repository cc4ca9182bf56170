"""How a Debezium connector was told to write values, and what is done where nothing tells it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class ZeroDates(StrEnum):
    """What becomes of a date whose month or day is zero, if not null (TYPE-12)."""

    QUARANTINE = "quarantine"


class Untyped(StrEnum):
    """What becomes of columns that nothing tells the types of (SCHEMA-1)."""

    REFUSE = "refuse"
    INFER = "infer"
    STRING = "string"


class DecimalMode(StrEnum):
    """Debezium's ``decimal.handling.mode``."""

    PRECISE = "precise"
    DOUBLE = "double"
    STRING = "string"


class TimeMode(StrEnum):
    """Debezium's ``time.precision.mode``."""

    ADAPTIVE_MICROSECONDS = "adaptive-microseconds"
    ADAPTIVE = "adaptive"
    CONNECT = "connect"
    ISOSTRING = "isostring"
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"


class BigintUnsignedMode(StrEnum):
    """Debezium's ``bigint.unsigned.handling.mode``."""

    LONG = "long"
    PRECISE = "precise"


class BinaryMode(StrEnum):
    """Debezium's ``binary.handling.mode``."""

    BYTES = "bytes"
    BASE64 = "base64"
    BASE64_URL_SAFE = "base64-url-safe"
    HEX = "hex"


class IntervalMode(StrEnum):
    """Debezium's ``interval.handling.mode``, of PostgreSQL."""

    NUMERIC = "numeric"
    STRING = "string"


class HstoreMode(StrEnum):
    """Debezium's ``hstore.handling.mode``, of PostgreSQL."""

    JSON = "json"
    MAP = "map"


class FieldNameMode(StrEnum):
    """Debezium's ``field.name.adjustment.mode``: what becomes of names that Avro does not allow."""

    NONE = "none"
    AVRO = "avro"
    AVRO_UNICODE = "avro-unicode"

    def written(self, name: str) -> str:
        """The column ``name`` as records have it (MSG-20).

        >>> FieldNameMode.AVRO.written("2nd-name"), FieldNameMode.AVRO_UNICODE.written("a-b")
        ('_2nd_name', 'a_u002db')
        """
        if self is FieldNameMode.NONE:
            return name
        if self is FieldNameMode.AVRO:
            prefix = "_" if name[:1].isdigit() else ""
            return prefix + re.sub(r"[^A-Za-z0-9_]", lambda odd: "_" * len(_units(odd[0])), name)
        return re.sub(
            r"^[0-9]|[^A-Za-z0-9]", lambda odd: "".join(map(_escaped, _units(odd[0]))), name
        )


def _units(character: str) -> list[int]:
    """What Java takes for characters: those beyond 16 bits are two."""
    encoded = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(encoded[i : i + 2]) for i in range(0, len(encoded), 2)]


def _escaped(unit: int) -> str:
    hexadecimal = f"{unit:x}"
    return f"_u00{hexadecimal}" if len(hexadecimal) <= 2 else f"_u{hexadecimal}"


@dataclass(frozen=True, slots=True)
class ConnectorModes:
    """The modes of one connector; the defaults are Debezium's own for MySQL."""

    decimal: DecimalMode = DecimalMode.PRECISE
    time: TimeMode = TimeMode.ADAPTIVE_MICROSECONDS
    bigint_unsigned: BigintUnsignedMode = BigintUnsignedMode.LONG
    binary: BinaryMode = BinaryMode.BYTES
    interval: IntervalMode = IntervalMode.NUMERIC
    hstore: HstoreMode = HstoreMode.JSON
