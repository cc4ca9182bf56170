"""An OAuth 2 server by HTTP, that gives signed tokens for the credentials of one client."""

from __future__ import annotations

import json
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, unquote_plus

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from embedded.ports import HOST

SCOPE = "kafka"


class TokenIssuer:
    """An OAuth server that signs a token for whoever knows the client's secret.

    lifetime: of a token, in seconds; None: it does not say. given: how many it gave. changed: what
    it answers in place of all that, HTTP status and body.
    """

    def __init__(self, client: str, secret: str) -> None:
        self._key = rsa.generate_private_key(65537, 2048)
        self._client = client
        self._secret = secret
        self.lifetime: int | None = 3600
        self.given = 0
        self.changed: tuple[int, Any] | None = None

    @property
    def keys(self) -> str:
        """By which a service checks tokens, as a JSON web key set."""
        key = RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        return json.dumps({"keys": [{**key, "kid": "1", "alg": "RS256", "use": "sig"}]})

    def vouches_for(self, authorization: str) -> bool:
        """Whether this header has a token that is good now."""
        scheme, _, token = authorization.partition(" ")
        try:
            claims = jwt.decode(token, self._key.public_key(), ["RS256"])
        except jwt.InvalidTokenError:
            return False
        return scheme == "Bearer" and claims["sub"] == self._client

    def answer(self, request: str, login: str) -> tuple[int, Any]:
        """HTTP status and body for a form that somebody posts."""
        form = parse_qs(request)
        if self.changed is not None:
            return self.changed
        if form.get("grant_type") != ["client_credentials"]:
            return 400, {"error": "unsupported_grant_type"}
        if not self._knows(login):
            return 401, {"error": "invalid_client", "error_description": login}
        if form.get("scope") != [SCOPE]:
            return 400, {"error": "invalid_scope"}
        self.given += 1
        now = int(time.time())
        claims = {"sub": self._client, "iat": now, "exp": now + 3600, "scope": SCOPE}
        token = jwt.encode({**claims, "jti": str(self.given)}, self._key, "RS256", {"kid": "1"})
        life = {} if self.lifetime is None else {"expires_in": self.lifetime}
        return 200, {"access_token": token, "token_type": "Bearer", **life}

    def _knows(self, login: str) -> bool:
        """Whether these are the client's credentials, each form-encoded (RFC 6749, 2.3.1)."""
        scheme, _, pair = unquote(login).partition(" ")
        client, _, secret = b64decode(pair).decode().partition(":")
        given = scheme, unquote_plus(client), unquote_plus(secret)
        return given == ("Basic", self._client, self._secret)

    @contextmanager
    def running(self, context: SSLContext | None = None) -> Iterator[str]:
        """Its address; by TLS where there is a ``context``."""
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, body = issuer.answer(request, self.headers.get("Authorization", ""))
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        with ThreadingHTTPServer((HOST, 0), Handler) as server:
            scheme = "http"
            if context is not None:
                scheme = "https"
                server.socket = context.wrap_socket(server.socket, server_side=True)
            thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
            thread.start()
            try:
                yield f"{scheme}://{HOST}:{server.server_port}/token"
            finally:
                server.shutdown()
                thread.join()
