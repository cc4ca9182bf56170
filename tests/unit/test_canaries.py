"""The search for secrets finds a planted one, however it is written and packed."""

from __future__ import annotations

import gzip
import html
import json
import zlib
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from urllib.parse import quote, quote_plus
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.avro import body, number
from tests.support.canaries import files, leaked

SECRET, OTHER = 'c4n&ry "of\\a test?>', "s4fe"
NUMBERS = " ".join(map(str, range(2000)))
"""Beside which it pays to pack a text."""
WRITTEN: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": json.dumps,
    "json in json": lambda text: json.dumps(json.dumps(text)),
    "html": html.escape,
    "url": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "base64 of a login": lambda text: b64encode(f"tide:{text}".encode()).decode(),
    "base64, one further": lambda text: b64encode(f"tides:{text}.".encode()).decode(),
    "base64, two further": lambda text: b64encode(f"a tide:{text}..".encode()).decode(),
    "base64 of URLs": lambda text: urlsafe_b64encode(text.encode()).decode(),
}


def archive(content: bytes) -> bytes:
    sink = BytesIO()
    with ZipFile(sink, "w", ZIP_DEFLATED) as packed:
        packed.writestr("inside", content)
    return sink.getvalue()


def parquet(content: bytes) -> bytes:
    sink = BytesIO()
    rows = [{"id": 1, "in": {"list": [content, b"other"]}}]
    pq.write_table(pa.Table.from_pylist(rows), sink, compression="zstd")
    return sink.getvalue()


def avro(content: bytes) -> bytes:
    names = {"type": "map", "values": "bytes"}
    head = {"avro.codec": b"deflate", "avro.schema": b'"bytes"'}
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    block = deflate.compress(body("bytes", content)) + deflate.flush()
    blocks = number(1) + number(len(block)) + block + bytes(16)
    return b"Obj\1" + body(names, head) + bytes(16) + blocks * 2


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "not": bytes,
    "gzip": gzip.compress,
    "zstd": lambda content: pa.compress(content, codec="zstd", asbytes=True),
    "zip": archive,
    "parquet": parquet,
    "avro": avro,
    "gzip in zip": lambda content: archive(gzip.compress(content)),
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("packed", PACKED)
def test_a_planted_secret_is_found(written: str, packed: str) -> None:
    text = f"{NUMBERS} {WRITTEN[written](SECRET)} after"
    content = PACKED[packed](text.encode())
    assert leaked([OTHER, SECRET], [b"another", content]) == {SECRET}
    assert packed == "not" or SECRET.encode() not in content


def test_names_and_contents_of_files_are_looked_into(tmp_path: Path) -> None:
    folder = tmp_path / "of" / "folders"
    folder.mkdir(parents=True)
    (folder / "called-s4fe").touch()
    (folder / "log").write_text(SECRET)
    assert leaked([SECRET, OTHER, "none"], files(tmp_path)) == {SECRET, OTHER}


def test_an_avro_file_that_cannot_be_read_is_not_passed_over() -> None:
    content = avro(b"anything").replace(b"deflate", b"snapp=y")
    with pytest.raises(ValueError, match="cannot be searched"):
        leaked([SECRET], [content])
