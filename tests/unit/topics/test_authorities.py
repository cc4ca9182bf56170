"""Whom librdkafka trusts in a token server."""

from __future__ import annotations

import ssl
from types import SimpleNamespace

import pytest

from tidemark.topics.authorities import with_authorities

TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105  the name of a property
BY_TLS = {TOKEN_URL: "https://tokens/"}
SYSTEM = {"https.ca.location": "/system.pem"}


@pytest.mark.parametrize(
    ("properties", "added"),
    [
        ({}, {}),
        ({TOKEN_URL: "http://tokens/"}, {}),
        (BY_TLS, SYSTEM),
        ({**BY_TLS, "https.ca.pem": "CA"}, {}),
        ({**BY_TLS, "https.ca.location": "/ca.pem"}, {}),
    ],
    ids=["no login", "without TLS", "with TLS", "another authority", "another file"],
)
def test_authorities_of_the_system_are_named(
    monkeypatch: pytest.MonkeyPatch, properties: dict[str, str], added: dict[str, str]
) -> None:
    system = SimpleNamespace(cafile="/system.pem", capath=None)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: system)
    assert with_authorities(properties) == {**properties, **added}


def test_a_machine_that_trusts_nobody_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = SimpleNamespace(cafile=None, capath=None)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: bare)
    assert with_authorities(BY_TLS) == BY_TLS
