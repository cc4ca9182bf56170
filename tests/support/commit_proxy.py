"""A TCP proxy before a catalog, which breaks a connection at a commit when told to.

It reads connections without TLS. To PostgreSQL drivers send COMMIT as one query alone; a REST
server is asked to commit by a POST to a table, or to several in a transaction.
"""

from __future__ import annotations

import re
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import make_url

from embedded.ports import HOST

COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"
REQUEST = re.compile(rb"POST /v1/(transactions/commit|namespaces/[^/ ]+/tables/[^/ ]+) ")
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
END_OF_HEADERS = b"\r\n\r\n"
_POLL_SECONDS = 0.2
_BYTES = 65536


class Fault(StrEnum):
    """What becomes of a commit; in each case the client's connection breaks without a reply."""

    REPLY_LOST = "reply-lost"
    """The server commits at once."""
    LATE = "late"
    """The server commits after the client lost its connection."""
    NEVER = "never"
    """The commit does not reach the server."""


@dataclass
class _Armed:
    fault: Fault
    late_seconds: float
    passing: int
    is_done: threading.Event = field(default_factory=threading.Event)


@dataclass
class CommitProxy:
    """Passes everything on; ``uri`` is the server's, by way of this."""

    uri: str
    _server: tuple[str, int]
    _is_over: threading.Event = field(default_factory=threading.Event)
    _armed: _Armed | None = None

    def arm(self, fault: Fault, late_seconds: float = 0.0, passing: int = 0) -> threading.Event:
        """Have a commit meet ``fault``, after ``passing`` ones that pass.

        The event is set once the server is done with it.
        """
        self._armed = _Armed(fault, late_seconds, passing)
        return self._armed.is_done

    def pass_on(self, client: socket.socket) -> None:
        """Serve one connection until either side ends it."""
        with client, socket.create_connection(self._server) as server, suppress(ConnectionError):
            others = {client: server, server: client}
            while not self._is_over.is_set():
                for source in select.select(list(others), [], [], _POLL_SECONDS)[0]:
                    data = source.recv(_BYTES)
                    if not data:
                        return
                    if source is client and _is_commit(data) and (met := self._take()):
                        _break_at_commit(met, client, server, _whole(data, client))
                        return
                    others[source].sendall(data)

    def _take(self) -> _Armed | None:
        """The fault that this commit meets."""
        armed = self._armed
        if armed is None or armed.passing:
            if armed is not None:
                armed.passing -= 1
            return None
        self._armed = None
        return armed


def _is_commit(data: bytes) -> bool:
    return data == COMMIT or REQUEST.match(data) is not None


def _whole(data: bytes, client: socket.socket) -> bytes:
    """All that the client sends for its commit, of which ``data`` is the beginning."""
    while data != COMMIT and END_OF_HEADERS not in data:
        data += client.recv(_BYTES)
    length = LENGTH.search(data)
    if length is None:
        return data
    headers, _, _ = data.partition(END_OF_HEADERS)
    end = len(headers) + len(END_OF_HEADERS) + int(length[1])
    while len(data) < end:
        data += client.recv(_BYTES)
    return data


def _break_at_commit(
    armed: _Armed, client: socket.socket, server: socket.socket, commit: bytes
) -> None:
    try:
        if armed.fault is Fault.LATE:
            client.close()
            time.sleep(armed.late_seconds)
        if armed.fault is not Fault.NEVER:
            server.sendall(commit)
            server.recv(_BYTES)
    finally:
        server.close()
        client.close()
        armed.is_done.set()


@contextmanager
def commit_proxy(uri: str) -> Iterator[CommitProxy]:
    """A proxy on a port of its own before the server of ``uri``: PostgreSQL, or a REST catalog."""
    url = make_url(uri)
    connections: list[threading.Thread] = []
    with socket.create_server((HOST, 0)) as listening:
        listening.settimeout(_POLL_SECONDS)
        through = url.set(host=HOST, port=listening.getsockname()[1])
        proxy = CommitProxy(through.render_as_string(), (url.host or HOST, url.port or 5432))

        def accept() -> None:
            while not proxy._is_over.is_set():
                with suppress(TimeoutError):
                    client, _ = listening.accept()
                    client.settimeout(None)
                    connections.append(threading.Thread(target=proxy.pass_on, args=(client,)))
                    connections[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield proxy
        finally:
            proxy._is_over.set()
            for thread in (accepting, *connections):
                thread.join()
