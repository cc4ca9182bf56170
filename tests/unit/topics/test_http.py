"""One client for services beside Kafka: bounded, patient, and silent about secrets."""

from __future__ import annotations

import gzip
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import CERT_REQUIRED, PROTOCOL_TLS_SERVER, SSLContext, TLSVersion
from threading import Thread
from types import SimpleNamespace

import pytest

from tests.support.certificates import Authority
from tidemark.topics import http
from tidemark.topics.http import (
    Identity,
    NoAnswerError,
    OversizedAnswerError,
    UntrustedError,
    UnusableSecretError,
    ask,
)

TOKEN, PASSWORD = "t0ken", "hunter2"  # noqa: S105  of servers of these tests
Handled = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def served(handled: Handled, context: SSLContext | None = None) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            handled(self)

        def log_message(self, *_: object) -> None:
            """Nothing: tests look at what was asked."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Nothing: who hangs up early is what a test wants."""

    with Server(("127.0.0.1", 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            scheme = "http" if context is None else "https"
            yield f"{scheme}://127.0.0.1:{server.server_address[1]}/asked"
        finally:
            server.shutdown()
            thread.join()


def answering(status: int, body: bytes = b"{}", **headers: str) -> Handled:
    def handled(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return handled


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PAUSES_SECONDS", (0.0, 0.0))


def test_a_large_answer_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MOST_BYTES", 1000)
    with served(answering(200, b"x" * 1000)) as address:
        assert len(ask(address, Identity(), "*/*").body) == 1000
    with served(answering(200, b"x" * 1001)) as address, pytest.raises(OversizedAnswerError):
        ask(address, Identity(), "*/*")


def test_a_small_answer_that_unpacks_to_a_large_one_is_large() -> None:
    packed = gzip.compress(b"0" * (http.MOST_BYTES + 1))
    with (
        served(answering(200, packed, Content_Encoding="gzip")) as address,
        pytest.raises(OversizedAnswerError),
    ):
        ask(address, Identity(), "*/*")


def test_an_answer_that_never_ends_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "ANSWER_SECONDS", 0)
    with (
        served(answering(200, b"x" * 10)) as address,
        pytest.raises(NoAnswerError, match="took longer"),
    ):
        ask(address, Identity(), "*/*")


@pytest.mark.parametrize("begun", [b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", b"HTTP/1.1 "])
def test_an_answer_that_drips_is_none(monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    """Each byte comes before a silence is too long, those of headers too."""
    monkeypatch.setattr(http, "ANSWER_SECONDS", 0.2)

    def dripping(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(begun)
        for _ in range(100):
            request.wfile.write(b"2")
            time.sleep(0.02)

    since = time.monotonic()
    with served(dripping) as address:
        with pytest.raises(NoAnswerError, match="took longer"):
            ask(address, Identity(), "*/*")
        assert time.monotonic() - since < 1.5


def test_an_answer_that_breaks_off_is_none() -> None:
    with (
        served(answering(200, b"short", Transfer_Encoding="chunked")) as address,
        pytest.raises(NoAnswerError),
    ):
        ask(address, Identity(), "*/*")


def test_a_redirect_is_not_followed() -> None:
    """Who is there would be given the token, or answer in the place of the one who was asked."""
    seen: list[str | None] = []

    def elsewhere(request: BaseHTTPRequestHandler) -> None:
        seen.append(request.headers.get("Authorization"))
        answering(200)(request)

    with served(elsewhere) as other, served(answering(302, Location=other)) as address:
        answer = ask(address, Identity(token=TOKEN), "*/*")
    assert (answer.status, answer.leads_elsewhere, seen) == (302, True, [])


def test_who_cannot_answer_is_asked_three_times() -> None:
    statuses = [503, 429, 200]

    def ill(request: BaseHTTPRequestHandler) -> None:
        answering(statuses.pop(0))(request)

    with served(ill) as address:
        assert ask(address, Identity(), "*/*").is_good
    assert statuses == []


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_clear_no_is_asked_once(status: int) -> None:
    asked: list[str] = []

    def refusing(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        answering(status)(request)

    with served(refusing) as address:
        assert ask(address, Identity(), "*/*").status == status
    assert asked == ["/asked"]


@pytest.mark.parametrize("token", ["two\nlines", "sêcret", ""])
def test_a_token_that_is_no_header_is_told_without_it(token: str) -> None:
    with pytest.raises(UnusableSecretError) as refused:
        ask("http://127.0.0.1:1", Identity(token=token), "*/*")
    assert refused.value.setting == "token"
    assert not token or token not in f"{refused.value!r} {refused.value.__cause__!r}"
    assert not token or token not in repr(Identity(token=token))


def test_a_password_from_elsewhere_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    seen: list[str | None] = []

    def handled(request: BaseHTTPRequestHandler) -> None:
        seen.append(request.headers.get("Authorization"))
        answering(200)(request)

    with served(handled) as address:
        ask(address, Identity(), "*/*")
        ask(address, Identity(token=TOKEN), "*/*")
    assert seen == [None, f"Bearer {TOKEN}"]


def test_a_client_shows_its_certificate(tmp_path: Path) -> None:
    authority, strange = Authority("services"), Authority("strangers")
    served_with, ca, key = (tmp_path / name for name in ("server.pem", "ca.pem", "key.pem"))
    served_with.write_text("".join(reversed(authority.issue("service"))))
    ca.write_text(authority.pem)
    mine, my_key = authority.issue("tidemark", PASSWORD)
    certificate = tmp_path / "client.pem"
    certificate.write_text(mine)
    key.write_text(my_key)
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(served_with)
    context.load_verify_locations(ca)
    context.verify_mode = CERT_REQUIRED
    context.maximum_version = TLSVersion.TLSv1_2  # later ones may hang up before they say why
    known = Identity(ca=ca, certificate=certificate, key=key, key_password=PASSWORD)
    with served(answering(200), context) as address:
        assert ask(address, known, "*/*").is_good
        with pytest.raises(UnusableSecretError, match="ends the handshake.*HANDSHAKE_FAILURE"):
            ask(address, Identity(ca=ca), "*/*")
        other, its_key = strange.issue("tidemark")
        strangers = tmp_path / "stranger.pem"
        strangers.write_text(other + its_key)
        with pytest.raises(UnusableSecretError, match="ends the handshake.*UNKNOWN_CA"):
            ask(address, Identity(ca=ca, certificate=strangers), "*/*")
        ca.write_text(strange.pem)
        with pytest.raises(UntrustedError):
            ask(address, known, "*/*")


def test_a_service_that_is_ill_does_not_want_another_certificate(tmp_path: Path) -> None:
    authority = Authority("services")
    served_with, ca = tmp_path / "server.pem", tmp_path / "ca.pem"
    served_with.write_text("".join(reversed(authority.issue("service"))))
    ca.write_text(authority.pem)
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(served_with)
    context.sni_callback = lambda *_: ssl.AlertDescription.ALERT_DESCRIPTION_INTERNAL_ERROR
    with (
        served(answering(200), context) as address,
        pytest.raises(NoAnswerError, match="ALERT_INTERNAL_ERROR"),
    ):
        ask(address, Identity(ca=ca), "*/*")


def test_a_machine_that_trusts_nobody_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = SimpleNamespace(cafile=None, capath=None, openssl_cafile="/a", openssl_capath="/b")
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: bare)
    with pytest.raises(UnusableSecretError, match="trusts no certificates") as refused:
        ask("https://127.0.0.1:1", Identity(), "*/*")
    assert refused.value.setting == "ca"
    with served(answering(200)) as address:
        assert ask(address, Identity(), "*/*").is_good


@pytest.mark.parametrize("password", ["wrong", None])
def test_a_key_that_does_not_open_is_told(tmp_path: Path, password: str | None) -> None:
    certificate, key = Authority("services").issue("tidemark", PASSWORD)
    both = tmp_path / "client.pem"
    both.write_text(certificate + key)
    with pytest.raises(UnusableSecretError, match=r"client\.pem hold no certificate") as refused:
        ask("https://127.0.0.1:1", Identity(certificate=both, key_password=password), "*/*")
    assert refused.value.setting == "certificate"
