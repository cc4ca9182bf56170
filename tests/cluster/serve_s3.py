"""An S3 server on 127.0.0.1, by moto; run by the Python of .state/moto, which alone has moto.

    python serve_s3.py PORT ACCESS_KEY HOLD

It serves those who sign with ACCESS_KEY. While there is a file HOLD, the first upload to a path
that matches its text, a regular expression, waits until the file has gone; the port that the upload
came from then stands in HOLD.port.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

HOLD_SECONDS = 60
POLL_SECONDS = 0.02
UPLOADS = ("PUT", "POST")

Start = Callable[[str, list[tuple[str, str]]], Any]


class Guarded:
    """Moto behind a look at who asks, and a gate for uploads."""

    def __init__(self, access_key: str, hold: Path) -> None:
        self._serve = DomainDispatcherApplication(create_backend_app)
        self._access_key, self._hold = access_key, hold
        self._held = hold.with_suffix(".port")

    def __call__(self, environ: Mapping[str, Any], start: Start) -> Iterable[bytes]:
        """Answer one request (WSGI)."""
        if f"Credential={self._access_key}/" not in environ.get("HTTP_AUTHORIZATION", ""):
            start("403 Forbidden", [("Content-Type", "text/plain")])
            return [b"signed with another key"]
        if environ["REQUEST_METHOD"] in UPLOADS and self._is_held(environ["PATH_INFO"]):
            self._wait(environ["REMOTE_PORT"])
        served: Iterable[bytes] = self._serve(environ, start)
        return served

    def _is_held(self, path: str) -> bool:
        try:
            return not self._held.exists() and bool(re.search(self._hold.read_text(), path))
        except FileNotFoundError:
            return False

    def _wait(self, port: int) -> None:
        draft = self._held.with_suffix(".draft")
        draft.write_text(str(port))
        draft.replace(self._held)
        until = time.monotonic() + HOLD_SECONDS
        while self._hold.exists() and time.monotonic() < until:
            time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    port, access_key, hold = sys.argv[1:]
    run_simple("127.0.0.1", int(port), Guarded(access_key, Path(hold)), threaded=True)
