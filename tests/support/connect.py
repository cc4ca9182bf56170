"""A server that answers as a real Kafka Connect did, for as long as a block."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import SSLContext
from typing import Any

from embedded.ports import HOST
from tests.support.tokens import TokenIssuer

RECORDED = Path(__file__).parents[1] / "unit" / "topics" / "connect" / "answers.json"


@dataclass
class RecordedConnect:
    """answers: path -> HTTP status and body.

    login: what ``Authorization`` has to say; tokens: who vouches for what it says.
    """

    answers: dict[str, Mapping[str, Any]]
    login: str | None = None
    tokens: TokenIssuer | None = None
    url: str = ""
    asked: list[str] = field(default_factory=list)

    def admits(self, authorization: str | None) -> bool:
        """Whether who asks may."""
        if self.tokens is not None:
            return self.tokens.vouches_for(authorization or "")
        return self.login is None or authorization == self.login

    def answer_with(self, recorded: str) -> None:
        """From now on what the real one answered to the same later, ``PATH once STATE``."""
        self.answers[recorded.partition(" ")[0]] = self.answers[recorded]


@contextmanager
def recorded_connect(context: SSLContext | None = None) -> Iterator[RecordedConnect]:
    """The server with all that was recorded, by TLS where there is a ``context``."""
    connect = RecordedConnect(json.loads(RECORDED.read_text("utf-8")))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # Of a path that begins with //, http.server takes one away.
            connect.asked.append(self.requestline.split()[1])
            absent = {"status": 404, "body": {"error_code": 404, "message": "HTTP 404 Not Found"}}
            answer = connect.answers.get(self.path, absent)
            if not connect.admits(self.headers.get("Authorization")):
                answer = {"status": 401, "body": "User cannot access the resource."}
            body = json.dumps(answer["body"]).encode()
            self.send_response(answer["status"])
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        scheme = "http"
        if context is not None:
            scheme = "https"
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        connect.url = f"{scheme}://{HOST}:{server.server_port}"
        try:
            yield connect
        finally:
            server.shutdown()
            thread.join()
