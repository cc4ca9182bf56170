"""Settings of a Debezium connector that change how its values are written (semantics 9.3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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


@dataclass(frozen=True, slots=True)
class ConnectorModes:
    """The modes of one connector; the defaults are Debezium's own for MySQL."""

    decimal: DecimalMode = DecimalMode.PRECISE
    time: TimeMode = TimeMode.ADAPTIVE_MICROSECONDS
    bigint_unsigned: BigintUnsignedMode = BigintUnsignedMode.LONG
    binary: BinaryMode = BinaryMode.BYTES
    interval: IntervalMode = IntervalMode.NUMERIC
    hstore: HstoreMode = HstoreMode.JSON
