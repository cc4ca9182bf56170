"""What readers of records in plain Python share: what they say, and what they must not overlook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Protocol

import msgspec
import xxhash

from tidemark.formats.json_guards import has_long_number, has_twice, is_utf8
from tidemark.formats.place import LAST_MILLI
from tidemark.model.event import Kind
from tidemark.model.names import TopicName

SPARK_SEED = 42
"""Of Spark's ``xxhash64``."""

Long = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Millis = Annotated[int, msgspec.Meta(ge=0, le=LAST_MILLI)]


class AnObject(msgspec.Struct):
    """Whatever is in it."""


Envelope = tuple[
    str,
    str | None,
    str | None,
    str | None,
    str | None,
    int | None,
    str | None,
    int | None,
    str | None,
    int | None,
    int | None,
    None,
]
"""ENVELOPE_COLUMNS of a record, but its position without the offset, and times in milliseconds."""
RecordReader = Callable[[bytes | None, bytes | None], Envelope | None]
"""Key and value of a record -> its envelope, None where it is odd."""
TOMBSTONE: Envelope = (Kind.TOMBSTONE.value, *(None,) * 11)


class RecordReaders(Protocol):
    """Readers of the records of one source.

    snapshot_lsn, lowest_uncommitted: of PostgreSQL's records so far, what the aggregates of
    `formats.debezium.position` are.
    """

    snapshot_lsn: int | None
    lowest_uncommitted: int | None

    def reader(self, topic: TopicName, partition: int, /) -> RecordReader:
        """The reader of the records of a partition."""
        ...


def guarded(read: Callable[[bytes | None, bytes], Envelope | None]) -> RecordReader:
    """``read`` of what is text all through; what it cannot decode is odd."""

    def reader(key: bytes | None, value: bytes | None) -> Envelope | None:
        if value is None:
            return TOMBSTONE
        if not is_utf8(value) or has_long_number(value):
            return None
        if key is not None and not _is_plain_key(key):
            return None
        try:
            return read(key, value)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None

    return reader


def spark_hash(text: bytes, seed: int = SPARK_SEED) -> int:
    """Spark's ``xxhash64`` of a text; of one behind others, with their hash as ``seed``."""
    number = xxhash.xxh64_intdigest(text, seed=seed % 2**64)
    return number - 2**64 if number >= 2**63 else number


def _is_plain_key(key: bytes) -> bool:
    """Whether a key is text, and says nothing twice; what has one name cannot."""
    if not is_utf8(key) or b"\\u" in key:
        return False
    return key.count(b":") <= 1 or not has_twice(key)
