"""The Avro body of one record, read without Spark: for a few records that are looked at."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import Any

from tidemark.formats.avro.schema import AvroType

_BITS = 7
_LONG_BITS = 64


class InvalidAvroBodyError(ValueError):
    """Bytes that are not what their schema says."""


def read_body(body: bytes, avro: AvroType) -> Any:
    """The value that ``body`` is by the schema ``avro``: a record as fields by their names.

    Bytes stay bytes, and logical types what they are stored as; what stands behind the value is
    left. `InvalidAvroBodyError` where the schema does not fit.

    >>> read_body(bytes([6, 111, 110, 101]), AvroType("string"))
    'one'
    """
    stream = BytesIO(body)
    try:
        return _value(stream, avro)
    except (UnicodeDecodeError, IndexError) as error:
        raise InvalidAvroBodyError("a text is not UTF-8, or there is no such branch") from error


def _value(stream: BytesIO, avro: AvroType) -> Any:
    if avro.kind in _READERS:
        return _READERS[avro.kind](stream)
    match avro.kind:
        case "fixed":
            return _taken(stream, int(avro.properties["size"]))
        case "enum":
            return avro.properties["symbols"][_index(stream)]
        case "union":
            return _value(stream, avro.inner[_index(stream)])
        case "array":
            return [_value(stream, avro.inner[0]) for _ in _items(stream)]
        case "map":
            return {_text(stream): _value(stream, avro.inner[0]) for _ in _items(stream)}
    return {name: _value(stream, inner) for name, inner in avro.fields}


def _items(stream: BytesIO) -> Iterator[None]:
    """Once for each item of an array or map, which come in blocks; the last one has none."""
    while count := _long(stream):
        if count < 0:
            _long(stream)  # The size of the block.
        for _ in range(abs(count)):
            yield


def _index(stream: BytesIO) -> int:
    index = _long(stream)
    if index < 0:
        raise InvalidAvroBodyError("a branch is below 0")
    return index


def _long(stream: BytesIO) -> int:
    """A number of variable length, its sign in the lowest bit."""
    number = 0
    for lowest in range(0, _LONG_BITS, _BITS):
        (byte,) = _taken(stream, 1)
        number |= (byte & 0x7F) << lowest
        if not byte & 0x80:
            return (number >> 1) ^ -(number & 1)
    raise InvalidAvroBodyError("a number is longer than 64 bits")


def _taken(stream: BytesIO, size: int) -> bytes:
    taken = stream.read(size) if size >= 0 else b""
    if len(taken) != size:
        raise InvalidAvroBodyError("it ends early")
    return taken


def _bytes(stream: BytesIO) -> bytes:
    return _taken(stream, _long(stream))


def _text(stream: BytesIO) -> str:
    return _bytes(stream).decode()


_READERS: Mapping[str, Callable[[BytesIO], Any]] = {
    "null": lambda _: None,
    "boolean": lambda stream: _taken(stream, 1) != b"\0",
    "int": _long,
    "long": _long,
    "float": lambda stream: struct.unpack("<f", _taken(stream, 4))[0],
    "double": lambda stream: struct.unpack("<d", _taken(stream, 8))[0],
    "bytes": _bytes,
    "string": _text,
}
