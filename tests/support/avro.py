"""Avro records as Confluent's converter writes them, and a registry that knows their schemas."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from threading import Thread
from typing import Any
from urllib.parse import unquote

Schema = Any


def wire(number: int, schema: Schema, value: Any) -> bytes:
    """``value`` in the wire format, written with ``schema``, which has the id ``number``."""
    return b"\0" + number.to_bytes(4) + body(schema, value)


def body(schema: Schema, value: Any) -> bytes:
    """``value`` as Avro; of a union the branch that is null or is not, as ``value`` is."""
    if isinstance(schema, list):
        index = next(i for i, branch in enumerate(schema) if (branch == "null") == (value is None))
        return number(index) + body(schema[index], value)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if kind in PLAIN:
        return PLAIN[kind](value)
    match kind:
        case "enum":
            return number(schema["symbols"].index(value))
        case "array":
            return _block([body(schema["items"], one) for one in value])
        case "map":
            return _block([_sized(k.encode()) + body(schema["values"], value[k]) for k in value])
        case "record":
            return b"".join(body(f["type"], value[f["name"]]) for f in schema["fields"])
    raise ValueError(f"a test wrote the type {kind}")


def number(value: int) -> bytes:
    """A number as Avro writes it: zigzag, seven bits a byte."""
    rest = (value << 1) ^ (value >> 63)
    written = b""
    while rest > 0x7F:
        written += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    return written + bytes([rest])


def _sized(content: bytes) -> bytes:
    return number(len(content)) + content


def _block(items: list[bytes]) -> bytes:
    return (number(len(items)) + b"".join(items) if items else b"") + b"\0"


PLAIN: Mapping[str, Callable[[Any], bytes]] = {
    "null": lambda _: b"",
    "boolean": lambda value: b"\1" if value else b"\0",
    "int": number,
    "long": number,
    "float": lambda value: struct.pack("<f", value),
    "double": lambda value: struct.pack("<d", value),
    "string": lambda value: _sized(value.encode()),
    "bytes": _sized,
    "fixed": bytes,
}


_SUBJECT = re.compile(r"/subjects/(?P<name>[^/]+)/versions/(?P<version>\d+)\?deleted=true")


@dataclass
class Registry:
    """What the registry knows, and what it was asked for.

    versions: (subject, version) -> schema, for those that others lean on. login: the header that it
    wants. failing: the HTTP status of every answer, if not 0, and content: what stands in that.
    """

    schemas: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    versions: dict[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)
    login: str = ""
    failing: int = 0
    content: Any = None
    asked: list[int] = field(default_factory=list)
    url: str = ""

    def add(self, number: int, schema: Schema) -> None:
        """Know ``schema``."""
        self.schemas[number] = {"schema": json.dumps(schema)}

    def add_version(self, subject: str, schema: Schema, *references: Mapping[str, Any]) -> None:
        """Know ``schema`` as version 1 of ``subject``, leaning on ``references``."""
        self.versions[subject, 1] = {"schema": json.dumps(schema), "references": references}

    def answer(self, path: str, login: str) -> tuple[int, Any]:
        """Status and content, as Confluent's interface has them."""
        if self.failing:
            return self.failing, {
                "error_code": self.failing
            } if self.content is None else self.content
        if login != self.login:
            return 401, {"error_code": 401}
        subject = _SUBJECT.fullmatch(path)
        if subject is not None:
            known = self.versions.get((unquote(subject["name"]), int(subject["version"])))
            return (200, known) if known else (404, {"error_code": 40401})
        number = int(path.rpartition("/")[2])
        self.asked.append(number)
        if number not in self.schemas:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 200, self.schemas[number]


@contextmanager
def running_registry(registry: Registry, certificate: Path | None = None) -> Iterator[Registry]:
    """``registry`` at ``url``; certificate: PEM file with its key, for https."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            login = self.headers.get("Authorization") or ""
            status, content = registry.answer(self.path, login)
            text = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            """Nothing: tests look at what was asked."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if certificate is not None:
            secured = SSLContext(PROTOCOL_TLS_SERVER)
            secured.load_cert_chain(certificate)
            server.socket = secured.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        scheme = "http" if certificate is None else "https"
        registry.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
