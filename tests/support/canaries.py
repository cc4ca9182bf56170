"""The search for secrets in what files hold, however they are written or packed there."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.avro.decoder import new_decoder


def leaked(secrets: Iterable[str], contents: Iterable[bytes]) -> set[str]:
    """Those of ``secrets`` that are in ``contents``, or in what is packed in them."""
    parts = [part for content in contents for part in unpacked(content)]
    return {
        secret
        for secret in secrets
        if any(form in part for form in _forms(secret) for part in parts)
    }


def files(folder: Path, pattern: str = "*") -> Iterator[bytes]:
    """Name and content of each file below ``folder`` that is called so."""
    for path in folder.rglob(pattern):
        if path.is_file():
            yield str(path).encode()
            yield path.read_bytes()


def unpacked(content: bytes) -> Iterator[bytes]:
    """``content``, and what is in it where it is an archive, compressed, Parquet or Avro."""
    yield content
    for magic, packed in _PACKED.items():
        if content.startswith(magic):
            for part in packed(content):
                yield from unpacked(part)


def _forms(secret: str) -> set[bytes]:
    once = json.dumps(secret)[1:-1]
    texts = {secret, once, json.dumps(once)[1:-1], escape(secret), quote(secret, safe="")}
    forms = {text.encode() for text in {*texts, quote_plus(secret)}}
    for before in range(3):
        encoded = b64encode(bytes(before) + secret.encode())
        whole = encoded if encoded[-1:] != b"=" else encoded.rstrip(b"=")[:-1]
        part = whole[(0, 2, 3)[before] :]
        forms |= {part, part.replace(b"+", b"-").replace(b"/", b"_")}
    return forms


def _stream(compression: str, content: bytes) -> Iterator[bytes]:
    with pa.input_stream(pa.BufferReader(content), compression=compression) as stream:
        yield stream.read()


def _archive(content: bytes) -> Iterator[bytes]:
    with ZipFile(BytesIO(content)) as archive:
        for name in archive.namelist():
            yield archive.read(name)


def _parquet(content: bytes) -> Iterator[bytes]:
    yield from _cells(pq.read_table(pa.BufferReader(content)).to_pylist())


def _cells(value: Any) -> Iterator[bytes]:
    match value:
        case bytes():
            yield value
        case str():
            yield value.encode()
        case list() | tuple():
            for inner in value:
                yield from _cells(inner)
        case dict():
            for name in value:
                yield from _cells([name, value[name]])


def _avro(content: bytes) -> Iterator[bytes]:
    decoder, said = new_decoder(content), dict[bytes, bytes]()
    decoder.read(len(b"Obj\1"))
    while count := decoder.read_int():
        if count < 0:
            decoder.read_int()
        for _ in range(abs(count)):
            name = decoder.read_bytes()
            said[name] = decoder.read_bytes()
    codec = said.get(b"avro.codec", b"null")
    if codec not in (b"null", b"deflate"):
        raise ValueError(f"an Avro file of the codec {codec!r} cannot be searched")
    sync = decoder.read(16)
    while decoder.tell() < len(content):
        decoder.read_int()
        block = decoder.read_bytes()
        yield zlib.decompress(block, -zlib.MAX_WBITS) if codec == b"deflate" else block
        assert decoder.read(16) == sync


_PACKED = {
    b"\x1f\x8b": lambda content: _stream("gzip", content),
    b"\x28\xb5\x2f\xfd": lambda content: _stream("zstd", content),
    b"PK\3\4": _archive,
    b"PAR1": _parquet,
    b"Obj\1": _avro,
}
