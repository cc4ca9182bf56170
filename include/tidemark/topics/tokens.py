"""Bearer tokens of an OAuth 2 server for the services beside Kafka, by a client's credentials.

A token is kept in memory for most of its life, and asked for again once a service refuses it. What
Kafka's clients do of this themselves is not done here.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

from tidemark.spec.oauth import OAuthSpec, endpoint_url
from tidemark.topics.http import (
    Answer,
    Identity,
    NoAnswerError,
    OversizedAnswerError,
    UntrustedError,
    UnusableSecretError,
    ask,
)

SHARE_OF_LIFE = 0.8
"""For which a token is used, as by Kafka's clients."""
_REFUSALS = frozenset(
    ("invalid_request", "invalid_client", "invalid_grant", "unauthorized_client")
    + ("unsupported_grant_type", "invalid_scope")
)
"""By which a server says why there is no token: RFC 6749, 5.2."""


class NoTokenError(Exception):
    """The server that gives tokens did not answer, or not in time."""


@dataclass(frozen=True, slots=True)
class TokenClient:
    """Who asks for tokens, and where; ca: None for the authorities that the system trusts."""

    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    ca: Path | None = None

    @classmethod
    def of(cls, spec: OAuthSpec | None, resolved: Callable[[str], str]) -> TokenClient | None:
        """As ``spec`` declares it; resolved: a text with the values of its references."""
        if spec is None:
            return None
        declared = (spec.token_endpoint_url, spec.client_id, spec.client_secret)
        url, client_id, client_secret = map(resolved, declared)
        return cls(url, client_id, client_secret, spec.scope, spec.ca)


@dataclass(frozen=True, slots=True)
class _Token:
    token: str = field(repr=False)
    until: float


_TOKENS: dict[TokenClient, _Token] = {}


def ask_by_token(
    address: str, identity: Identity, accept: str, client: TokenClient | None
) -> Answer:
    """As `ask`, with a token of ``client`` if there is one.

    `NoTokenError`; `UnusableSecretError` for a token that cannot be had, of a setting below oauth.
    """
    if client is None:
        return ask(address, identity, accept)
    known = _TOKENS.get(client)
    if known is not None and time.monotonic() < known.until:
        answer = ask(address, replace(identity, token=known.token), accept)
        if answer.status != HTTPStatus.UNAUTHORIZED:
            return answer
    fresh = _TOKENS[client] = _fetched(client)
    return ask(address, replace(identity, token=fresh.token), accept)


def _fetched(client: TokenClient) -> _Token:
    asked_at, answer = time.monotonic(), _asked(client)
    if answer.is_good:
        return _token_in(answer, asked_at, client)
    what = f"the token server {client.url} answered with HTTP {answer.status}"
    if answer.may_pass:
        raise NoTokenError(what)
    if answer.leads_elsewhere:
        raise UnusableSecretError("oauth.token-endpoint-url", f"{what}, which leads elsewhere")
    why = str(_content(answer).get("error"))
    raise UnusableSecretError("oauth", f"{what}: {why}" if why in _REFUSALS else what)


def _asked(client: TokenClient) -> Answer:
    form = {"grant_type": "client_credentials"}
    if client.scope is not None:
        form["scope"] = client.scope
    # RFC 6749, 2.3.1: a server takes what stands in Basic as form-encoded, a plus for a space.
    user, password = map(quote_plus, (client.client_id, client.client_secret))
    identity = Identity(user, password, ca=client.ca)
    server = f"the token server {client.url}"
    try:
        endpoint_url(client.url)
    except ValueError as error:
        raise UnusableSecretError(
            "oauth.token-endpoint-url", f"the address of the token server is not {error}"
        ) from error
    try:
        return ask(client.url, identity, "application/json", form)
    except NoAnswerError as error:
        raise NoTokenError(f"{server} did not answer: {error}") from error
    except UntrustedError as error:
        raise UnusableSecretError(
            "oauth.ca", f"the certificate of {server} is not trusted: {error}"
        ) from error
    except OversizedAnswerError as error:
        raise UnusableSecretError(
            "oauth.token-endpoint-url", f"{server} answered with {error}"
        ) from error
    except UnusableSecretError as error:
        setting = "oauth.ca" if error.setting == "ca" else "oauth"
        raise UnusableSecretError(setting, str(error)) from error


def _token_in(answer: Answer, asked_at: float, client: TokenClient) -> _Token:
    content = _content(answer)
    token, kind = content.get("access_token"), content.get("token_type", "bearer")
    is_text = isinstance(token, str) and token.isascii() and token.isprintable() and token
    if not is_text or str(kind).lower() != "bearer":
        raise UnusableSecretError(
            "oauth.token-endpoint-url",
            f"the token server {client.url} answered with something else than a bearer token",
        )
    return _Token(str(token), asked_at + SHARE_OF_LIFE * _seconds(content.get("expires_in")))


def _seconds(expires_in: Any) -> float:
    """How long a token lives; who does not say it has it used until a service refuses it."""
    try:
        return float(expires_in)
    except (TypeError, ValueError, OverflowError):
        return math.inf


def _content(answer: Answer) -> dict[str, Any]:
    try:
        content = json.loads(answer.body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
