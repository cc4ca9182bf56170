"""Client properties in two dialects: librdkafka's, as declared, and Java's, which Spark uses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.support.certificates import Authority
from tidemark.errors import BrokerRefusedError
from tidemark.topics.java_client import java_properties

AUTHORITY = Authority("clients")
CERTIFICATE, KEY = AUTHORITY.issue("tide")
_, LOCKED = AUTHORITY.issue("tide", "hunter2")


@pytest.mark.parametrize(
    ("declared", "java"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param(
            {"security.protocol": "ssl", "ssl.ca.pem": "CA", "socket.timeout.ms": "9"},
            {
                "security.protocol": "SSL",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.certificates": "CA",
                "request.timeout.ms": "9",
            },
            id="certificate authority",
        ),
        pytest.param(
            {
                "security.protocol": "SSL",
                "ssl.certificate.pem": CERTIFICATE,
                "ssl.key.pem": KEY,
                "ssl.endpoint.identification.algorithm": "none",
                "client.rack": "a",
            },
            {
                "security.protocol": "SSL",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": CERTIFICATE,
                "ssl.keystore.key": KEY,
                "ssl.endpoint.identification.algorithm": "",
                "client.rack": "a",
            },
            id="certificate of the client",
        ),
        pytest.param(
            {
                "sasl.mechanisms": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": "tide",
                "sasl.oauthbearer.client.secret": "p",
                "sasl.oauthbearer.token.endpoint.url": "https://tokens/",
            },
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url": "https://tokens/",
                "sasl.login.callback.handler.class": "org.apache.kafka.common.security."
                "oauthbearer.OAuthBearerLoginCallbackHandler",
                "sasl.jaas.config": (
                    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
                    'clientId="tide" clientSecret="p";'
                ),
            },
            id="token",
        ),
        pytest.param(
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.client.id": "tide",
                "sasl.oauthbearer.client.secret": "p",
                "sasl.oauthbearer.token.endpoint.url": "https://tokens/",
                "https.ca.pem": "C\nA\n",
            },
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url": "https://tokens/",
                "sasl.login.callback.handler.class": "org.apache.kafka.common.security."
                "oauthbearer.OAuthBearerLoginCallbackHandler",
                "sasl.jaas.config": (
                    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
                    'clientId="tide" clientSecret="p" ssl.truststore.type="PEM" '
                    'ssl.truststore.certificates="C\\nA\\n";'
                ),
            },
            id="token, and who vouches for its server",
        ),
        pytest.param(
            {"sasl.mechanisms": "PLAIN", "sasl.username": 'u"1', "sasl.password": "p\\2"},
            {
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": (
                    "org.apache.kafka.common.security.plain.PlainLoginModule required "
                    'username="u\\"1" password="p\\\\2";'
                ),
            },
            id="password login, quotes escaped",
        ),
        pytest.param(
            {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "u", "sasl.password": "p"},
            {
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.jaas.config": (
                    "org.apache.kafka.common.security.scram.ScramLoginModule required "
                    'username="u" password="p";'
                ),
            },
            id="scram",
        ),
    ],
)
def test_java_properties(declared: dict[str, str], java: dict[str, str]) -> None:
    assert java_properties(declared) == java


def test_a_file_goes_to_java_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("CA")
    java = java_properties({"ssl.ca.location": str(tmp_path / "ca.pem")})
    assert java["ssl.truststore.certificates"] == "CA"


def test_a_locked_key_goes_to_java_open() -> None:
    locked = {"ssl.certificate.pem": CERTIFICATE, "ssl.key.pem": LOCKED}
    java = java_properties({**locked, "ssl.key.password": "hunter2"})
    mine = load_pem_private_key(LOCKED.encode(), b"hunter2").public_key()
    opened = load_pem_private_key(java["ssl.keystore.key"].encode(), None)
    assert opened.public_key() == mine


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        (
            {"ssl.ca.location": "/nowhere/ca.pem"},
            "ssl.ca.location of kafka.properties, /nowhere/ca.pem, cannot be read: No such file or "
            "directory",
        ),
        (
            {"ssl.certificate.pem": CERTIFICATE, "ssl.key.pem": "nothing"},
            "ssl.key of kafka.properties is no key that can be read",
        ),
        (
            {"ssl.certificate.pem": CERTIFICATE, "ssl.key.pem": LOCKED},
            "ssl.key of kafka.properties is no key that can be read: Password was not given",
        ),
    ],
    ids=["file that is not there", "no key", "key without its password"],
)
def test_what_java_cannot_read_is_refused(properties: dict[str, str], told: str) -> None:
    with pytest.raises(BrokerRefusedError, match=re.escape(told)):
        java_properties(properties)
