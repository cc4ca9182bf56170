"""Tokens of an OAuth 2 server, for a registry that asks for them and for Kafka Connect."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from typing import Any

import pytest

from tests.support.avro import Registry, running_registry
from tests.support.certificates import Authority
from tests.support.tokens import SCOPE, TokenIssuer
from tidemark.errors import RegistryRefusedError, RegistryUnreachableError
from tidemark.spec import AvroSpec
from tidemark.topics import http
from tidemark.topics.registry import open_schemas

CLIENT, SECRET = "tide", 'p"\\4 s'


@dataclass
class Guarded(Registry):
    """A registry that asks for tokens of ``issuer``, and takes none of ``revoked``."""

    issuer: TokenIssuer = field(default_factory=lambda: TokenIssuer(CLIENT, SECRET))
    revoked: set[str] = field(default_factory=set)
    last: str = ""

    def answer(self, path: str, login: str) -> tuple[int, Any]:
        self.last = login
        if login in self.revoked or not self.issuer.vouches_for(login):
            return 401, {"error_code": 401}
        return super().answer(path, self.login)


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "PAUSES_SECONDS", (0.0, 0.0))
    monkeypatch.setenv("CLIENT_SECRET", SECRET)


@pytest.fixture
def registry() -> Iterator[Guarded]:
    with running_registry(Guarded()) as running:
        assert isinstance(running, Guarded)
        running.add(1, "string")
        running.add(2, "long")
        yield running


@pytest.fixture
def tokens(registry: Guarded) -> Iterator[str]:
    with registry.issuer.running() as address:
        yield address


def asked(number: int, registry: Registry, tokens: str, **changed: str) -> str | None:
    oauth = {
        "token-endpoint-url": tokens,
        "client-id": CLIENT,
        "client-secret": "${env:CLIENT_SECRET}",
        "scope": SCOPE,
        **changed,
    }
    spec = {"registry": {"url": registry.url, "oauth": oauth}}
    return open_schemas(AvroSpec.model_validate(spec))(number)


def test_one_token_is_asked_for_and_kept(registry: Guarded, tokens: str) -> None:
    assert [asked(number, registry, tokens) for number in (1, 2, 1)] == [
        '"string"',
        '"long"',
        '"string"',
    ]
    assert registry.issuer.given == 1


@pytest.mark.parametrize(("lifetime", "given"), [(0, 3), (3600, 1), (None, 1)])
def test_a_token_is_kept_for_most_of_its_life(
    registry: Guarded, tokens: str, lifetime: int | None, given: int
) -> None:
    registry.issuer.lifetime = lifetime
    for _ in range(3):
        assert asked(1, registry, tokens) == '"string"'
    assert registry.issuer.given == given


def test_a_token_that_is_refused_is_had_anew_once(registry: Guarded, tokens: str) -> None:
    asked(1, registry, tokens)
    registry.revoked.add(registry.last)
    assert asked(1, registry, tokens) == '"string"'
    assert registry.issuer.given == 2
    registry.login = "something else"
    registry.issuer, strange = TokenIssuer(CLIENT, SECRET), registry.issuer
    with pytest.raises(RegistryRefusedError, match="answered with HTTP 401") as refused:
        asked(1, registry, tokens)
    assert strange.given == 3
    assert "what source.avro.registry says of who asks" in refused.value.next_step


@pytest.mark.parametrize("text", ["a:b", "100%", "%41", "a+b", "a b", "ä&=~*"])
def test_credentials_reach_the_server_as_they_are(
    registry: Guarded, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, secret = f"client {text}", f"secret {text}"
    registry.issuer = TokenIssuer(client, secret)
    monkeypatch.setenv("CLIENT_SECRET", secret)
    with registry.issuer.running() as tokens:
        assert asked(1, registry, tokens, **{"client-id": client}) == '"string"'


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"client-id": "strange"}, "HTTP 401: invalid_client"),
        ({"scope": "other"}, "HTTP 400: invalid_scope"),
    ],
)
def test_who_gets_no_token_is_told_why(
    registry: Guarded, tokens: str, changed: dict[str, str], why: str
) -> None:
    with pytest.raises(RegistryRefusedError, match=f"^the token server {tokens} .* {why}") as told:
        asked(1, registry, tokens, **changed)
    assert "fix source.avro.registry.oauth in the pipeline file" in told.value.next_step
    assert registry.asked == []


def test_a_wrong_secret_is_told_without_it(
    registry: Guarded, tokens: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a server answers is not repeated: it may hold what it was asked with."""
    monkeypatch.setenv("CLIENT_SECRET", "hunter2")
    with pytest.raises(RegistryRefusedError, match="invalid_client") as told:
        asked(1, registry, tokens)
    for text in ("hunter2", "Basic"):
        assert text not in f"{told.value!r} {told.value} {told.value.__cause__!r}"
    monkeypatch.delenv("CLIENT_SECRET")
    with pytest.raises(RegistryRefusedError, match="the environment variable CLIENT_SECRET"):
        asked(1, registry, tokens)


@pytest.mark.parametrize(
    ("answer", "setting"),
    [
        pytest.param((307, {}), "oauth.token-endpoint-url", id="elsewhere"),
        pytest.param((200, {"hello": "world"}), "oauth.token-endpoint-url", id="no token"),
        pytest.param((200, ["access_token"]), "oauth.token-endpoint-url", id="a list"),
        pytest.param(
            (200, {"access_token": "two\nlines"}), "oauth.token-endpoint-url", id="no header"
        ),
        pytest.param(
            (200, {"access_token": "t", "token_type": "DPoP"}),
            "oauth.token-endpoint-url",
            id="of another kind",
        ),
        pytest.param((403, {"error": {"hunter2": 1}}), "oauth", id="a reason of its own"),
    ],
)
def test_what_gives_no_token_is_no_token_server(
    registry: Guarded, tokens: str, answer: tuple[int, Any], setting: str
) -> None:
    registry.issuer.changed = answer
    with pytest.raises(RegistryRefusedError, match=f"the token server {tokens}") as told:
        asked(1, registry, tokens)
    assert f"fix source.avro.registry.{setting} in" in told.value.next_step
    assert "hunter2" not in str(told.value)
    assert registry.asked == []


def test_a_token_server_that_is_away_is_named(registry: Guarded, tokens: str) -> None:
    registry.issuer.changed = (503, {})
    with pytest.raises(RegistryUnreachableError, match=f"token server {tokens} .*HTTP 503"):
        asked(1, registry, tokens)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{free.getsockname()[1]}/token"
    with pytest.raises(RegistryUnreachableError, match=f"^the token server {away} did not answer"):
        asked(1, registry, away)


def test_an_address_from_the_environment_is_checked(
    registry: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKENS", "tokens:80")
    with pytest.raises(RegistryRefusedError, match="http://host:port/path") as told:
        asked(1, registry, "${env:TOKENS}")
    assert "source.avro.registry.oauth.token-endpoint-url" in told.value.next_step


def test_only_an_authority_that_is_trusted_is_given_the_secret(
    registry: Guarded, tmp_path: Path
) -> None:
    authority = Authority("authorities")
    served, ca = tmp_path / "server.pem", tmp_path / "ca.pem"
    served.write_text("".join(reversed(authority.issue("tokens"))))
    ca.write_text(authority.pem)
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(served)
    with registry.issuer.running(context) as tokens:
        with pytest.raises(RegistryRefusedError, match="is not trusted") as told:
            asked(1, registry, tokens)
        assert "source.avro.registry.oauth.ca" in told.value.next_step
        with pytest.raises(RegistryRefusedError, match="holds no certificates") as told:
            asked(1, registry, tokens, ca=str(served.with_name("absent.pem")))
        assert "source.avro.registry.oauth.ca" in told.value.next_step
        assert asked(1, registry, tokens, ca=str(ca)) == '"string"'
