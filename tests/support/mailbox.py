"""A mail server that keeps what it is sent."""

from __future__ import annotations

import email.policy
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from queue import Queue
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

from embedded.ports import HOST


class Mailbox(ThreadingTCPServer):
    """SMTP (RFC 5321) as far as one client needs it: it is asked for no login and no encryption."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Session)
        self.mails: Queue[EmailMessage] = Queue()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])


class _Session(StreamRequestHandler):
    server: Mailbox

    def handle(self) -> None:
        self._say("220 here")
        for line in self.rfile:
            command = line.decode().strip().upper()
            if command == "DATA":
                self._say("354 go on")
                self._take()
            self._say("221 bye" if command == "QUIT" else "250 well")
            if command == "QUIT":
                return

    def _take(self) -> None:
        """The mail up to its line with a single dot."""
        lines = iter(self.rfile.readline, b".\r\n")
        text = b"".join(line.removeprefix(b".") for line in lines)
        mail = email.message_from_bytes(text, EmailMessage, policy=email.policy.default)
        self.server.mails.put(mail)

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def mailbox() -> Iterator[Mailbox]:
    """A server on this machine, until the block ends."""
    with Mailbox() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
