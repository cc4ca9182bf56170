"""A REST catalog that accepts branches and keeps none, for as long as a block."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests

from embedded.ports import HOST

SECONDS = 30
_OWN = {"transfer-encoding", "content-encoding", "content-length", "connection"}


@contextmanager
def forgetful_server(uri: str) -> Iterator[str]:
    """URI of a server that has the one at ``uri`` do everything but set a branch beside main."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._pass_on()

        do_HEAD = do_POST = do_DELETE = do_GET  # noqa: N815  named as http.server looks for them

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            given = {k: v for k, v in self.headers.items() if k.lower() not in {*_OWN, "host"}}
            answer = requests.request(
                self.command,
                uri + self.path,
                data=_without_branches(body),
                headers=given,
                timeout=SECONDS,
            )
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                if name.lower() not in _OWN:
                    self.send_header(name, value)
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name there
            """Nobody reads it."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://{HOST}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _without_branches(body: bytes) -> bytes:
    if not body.startswith(b"{"):
        return body
    asked = json.loads(body)
    if "updates" in asked:
        asked["updates"] = [
            one for one in asked["updates"] if one.get("ref-name") in (None, "main")
        ]
    return json.dumps(asked).encode()
