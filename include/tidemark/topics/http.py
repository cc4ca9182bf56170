"""Questions by HTTP to services beside Kafka: bounded in time and size, and never passed on.

Answers are read up to a size and within a time, headers and all; redirects are not followed, and no
error repeats what was answered or with which secret it was asked (ADR 41).
"""

from __future__ import annotations

import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Thread
from typing import Any

from requests import PreparedRequest, RequestException, Response, Session
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase

from tidemark.topics.authorities import system_authorities

MOST_BYTES = 16 * 1024 * 1024
"""Of an answer, once it is unpacked."""
SILENCE_SECONDS = 10
ANSWER_SECONDS = 60
"""From the question to the last byte of the answer, of each try."""
PAUSES_SECONDS = (0.2, 1.0)
"""Before each try after the first."""
_BLOCK = 64 * 1024
_HTTPS = "https://"
_OF_CERTIFICATES = frozenset(
    ("HANDSHAKE_FAILURE", "UNKNOWN_CA", "BAD_CERTIFICATE", "UNSUPPORTED_CERTIFICATE")
    + ("CERTIFICATE_REQUIRED", "CERTIFICATE_UNKNOWN", "CERTIFICATE_REVOKED", "CERTIFICATE_EXPIRED")
)
"""TLS alerts by which a service refuses a client's certificate, or that there is none."""


class NoAnswerError(Exception):
    """Nobody answered, or not in time."""


class OversizedAnswerError(Exception):
    """An answer is larger than any that is wanted."""


class UntrustedError(Exception):
    """The certificate of who answers is not signed by anybody who is trusted."""


class UnusableSecretError(Exception):
    """What would say who asks does not; the text shows nothing of a secret.

    setting: which one it is.
    """

    def __init__(self, setting: str, text: str) -> None:
        super().__init__(text)
        self.setting = setting


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks, and whom they trust.

    user, password: for basic authentication. token: a bearer's. ca: None for the authorities that
    the system trusts. certificate: PEM file of a client; key: its key's, where that is apart.
    """

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    key_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """HTTP status and body."""

    status: int
    body: bytes

    @property
    def is_good(self) -> bool:
        """Whether it is what was asked for."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def leads_elsewhere(self) -> bool:
        """Whether it names another address, where nobody follows with a secret."""
        return HTTPStatus.MULTIPLE_CHOICES <= self.status < HTTPStatus.BAD_REQUEST

    @property
    def may_pass(self) -> bool:
        """Whether the same question may have another answer soon."""
        too_many = self.status == HTTPStatus.TOO_MANY_REQUESTS
        return too_many or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def ask(
    address: str, identity: Identity, accept: str, form: Mapping[str, str] | None = None
) -> Answer:
    """What is answered at ``address``, asked up to three times while nobody can answer.

    form: what is posted there; without one, the question is a GET.
    `NoAnswerError`, `OversizedAnswerError`, `UntrustedError`, `UnusableSecretError`.
    """
    verified = _authorities(identity) if address.startswith(_HTTPS) else True
    method = "GET" if form is None else "POST"
    with Session() as session:
        session.auth = _Login(_authorization(identity))
        session.headers["Accept"] = accept
        if address.startswith(_HTTPS):
            session.mount(_HTTPS, _Trusting(_trusted(identity)))

        def asked() -> Response:
            return session.request(
                method,
                address,
                data=form,
                allow_redirects=False,
                stream=True,
                timeout=SILENCE_SECONDS,
                verify=verified,
            )

        return _patient(lambda: _in_time(lambda: _answer(asked, address)))


def _patient(asked: Callable[[], Answer]) -> Answer:
    for pause in PAUSES_SECONDS:
        try:
            answer = asked()
        except NoAnswerError:
            time.sleep(pause)
            continue
        if not answer.may_pass:
            return answer
        time.sleep(pause)
    return asked()


def _in_time(asked: Callable[[], Answer]) -> Answer:
    """As ``asked``; `NoAnswerError` after ANSWER_SECONDS.

    A socket's timeout starts over with each byte, so that who drips never meets it. The thread that
    reads on is a daemon: it keeps no process.
    """
    answered = Future[Answer]()

    def tell() -> None:
        try:
            answered.set_result(asked())
        except BaseException as error:  # noqa: BLE001  raised where it is waited for
            answered.set_exception(error)

    Thread(target=tell, daemon=True).start()
    try:
        return answered.result(ANSWER_SECONDS)
    except TimeoutError as error:
        raise NoAnswerError(f"the answer took longer than {ANSWER_SECONDS} seconds") from error


def _answer(asked: Callable[[], Response], address: str) -> Answer:
    try:
        with asked() as response:
            return Answer(response.status_code, _bounded(response))
    except OSError as error:  # what requests raises is one, too
        untrusted = _cause(error, ssl.SSLCertVerificationError)
        if untrusted is not None:
            raise UntrustedError(untrusted.verify_message) from error
        reason = _cause(error, OSError)
        if isinstance(reason, ssl.SSLError) and _alert(reason) in _OF_CERTIFICATES:
            raise UnusableSecretError(
                "certificate",
                f"{address} ends the handshake, as one does that wants another client certificate: "
                f"{reason.reason}",
            ) from error
        raise NoAnswerError(str(reason or type(error).__name__)) from error


def _bounded(response: Response) -> bytes:
    body = bytearray()
    for block in response.iter_content(_BLOCK):
        body += block
        if len(body) > MOST_BYTES:
            raise OversizedAnswerError(f"more than {MOST_BYTES} bytes")
    return bytes(body)


def _alert(error: ssl.SSLError) -> str:
    """What the other side says why it ends a handshake, without a version of TLS before it."""
    return str(error.reason).partition("_ALERT_")[2]


def _cause(error: BaseException, kind: type[Any]) -> Any:
    """The innermost of what led to ``error`` that is a ``kind``; libraries wrap each other's."""
    innermost, seen, stack = None, set[int](), [error]
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, kind) and not isinstance(one, RequestException):
            innermost = one
        inner = (one.__cause__, one.__context__, getattr(one, "reason", None), *one.args)
        stack.extend(part for part in inner if isinstance(part, BaseException))
    return innermost


def _authorization(identity: Identity) -> str | None:
    if identity.token is not None:
        if not (identity.token.isascii() and identity.token.isprintable() and identity.token):
            raise UnusableSecretError("token", "the token is no text of one line in ASCII")
        return f"Bearer {identity.token}"
    if identity.user is None or identity.password is None:
        return None
    return f"Basic {b64encode(f'{identity.user}:{identity.password}'.encode()).decode()}"


class _Login(AuthBase):
    """One header, or none: what else a machine knows, as in ``.netrc``, is not asked."""

    def __init__(self, authorization: str | None) -> None:
        self._authorization = authorization

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        if self._authorization is not None:
            request.headers["Authorization"] = self._authorization
        return request


class _Trusting(HTTPAdapter):
    """Speaks TLS as a context says, through a proxy as well."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__()

    def init_poolmanager(self, *args: Any, **settings: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._context, **settings)

    def proxy_manager_for(self, proxy: str, **settings: Any) -> Any:
        return super().proxy_manager_for(proxy, ssl_context=self._context, **settings)


def _trusted(identity: Identity) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=identity.ca)
    except OSError as error:
        raise UnusableSecretError("ca", f"{identity.ca} holds no certificates: {error}") from error
    if identity.certificate is not None:
        try:
            context.load_cert_chain(
                identity.certificate, identity.key, lambda: identity.key_password or ""
            )
        except OSError as error:
            files = " and ".join(str(file) for file in (identity.certificate, identity.key) if file)
            raise UnusableSecretError(
                "certificate",
                f"{files} hold no certificate with its key, or the key has another password: "
                f"{error.strerror or type(error).__name__}",
            ) from error
    return context


def _authorities(identity: Identity) -> str:
    """Where the authorities are; without it requests would add a list of its own to them."""
    authorities = identity.ca or system_authorities()
    if authorities is None:
        system = ssl.get_default_verify_paths()
        raise UnusableSecretError(
            "ca",
            f"this machine trusts no certificates: there is neither {system.openssl_cafile} nor "
            f"{system.openssl_capath}",
        )
    return str(authorities)
