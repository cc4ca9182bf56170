"""Confluent's wire format: a byte 0, the id of the schema in four bytes, an Avro body (MSG-19).

A landed record has the ids of its key and its value in one number, its ``schema_id``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

Schemas = Mapping[int, str]
"""Avro schemas as JSON text, by the id that a registry gave them, for ever."""

MAGIC = b"\0"
HEADER_BYTES = 5
_ID_BITS = 32


def has_header(part: Column) -> Column:
    """Whether ``part``, a key or a value, begins as the wire format does."""
    return (F.length(part) >= HEADER_BYTES) & (F.substring(part, 1, 1) == F.lit(MAGIC))


def header_of(part: Column) -> Column:
    """What stands in front of the body of ``part``."""
    return F.substring(part, 1, HEADER_BYTES)


def header_with(number: int) -> bytes:
    """The header that names the schema with the id ``number``.

    >>> header_with(81).hex()
    '0000000051'
    """
    return MAGIC + number.to_bytes(HEADER_BYTES - len(MAGIC))


def id_of(part: Column) -> Column:
    """The schema id of ``part``; null where it has no header."""
    digits = F.hex(F.substring(part, 2, 4))
    return F.when(has_header(part), F.conv(digits, 16, 10).cast("long"))


def body_of(part: Column) -> Column:
    """The Avro body of ``part``."""
    return F.substring(part, F.lit(HEADER_BYTES + 1), F.length(part))


def both_ids(key: Column, value: Column) -> Column:
    """The ids of key and value in one number; a key that is null, or has no header, counts as 0."""
    return F.shiftleft(F.coalesce(id_of(key), F.lit(0).cast("long")), _ID_BITS) + id_of(value)


def named_in(schemas: Schemas, schema_ids: Iterable[int | None]) -> Schemas:
    """Those of ``schemas`` that records with ``schema_ids`` were written with.

    >>> named_in({1: "a", 2: "b", 3: "c"}, [(1 << 32) + 3, None])
    {1: 'a', 3: 'c'}
    """
    both = {both for both in schema_ids if both is not None}
    ids = {both >> _ID_BITS for both in both} | {both % (1 << _ID_BITS) for both in both}
    return {number: text for number, text in schemas.items() if number in ids}


def id_in(part: bytes) -> int:
    """The schema id of a key or value that was read before.

    >>> id_in(bytes([0, 0, 0, 0, 81]) + b"body")
    81
    """
    return int.from_bytes(part[1:HEADER_BYTES])
