"""What of Kafka's client properties an installation may declare, and what belongs together."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, KafkaException
from pydantic import ValidationError

from tidemark.spec import KafkaSpec
from tidemark.spec.kafka import KNOWN

LOGIN = {
    "security.protocol": "sasl_ssl",
    "sasl.mechanisms": "SCRAM-SHA-512",
    "sasl.username": "tide",
    "sasl.password": "p",
}
TOKEN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "OIDC",
    "sasl.oauthbearer.client.id": "tide",
    "sasl.oauthbearer.client.secret": "p",
    "sasl.oauthbearer.token.endpoint.url": "https://tokens/",
}
MUTUAL = {
    "security.protocol": "ssl",
    "ssl.ca.location": "/ca.pem",
    "ssl.certificate.location": "/client.pem",
    "ssl.key.pem": "KEY",
    "ssl.key.password": "p",
}


def broken(properties: dict[str, str]) -> list[str]:
    """``property: got; expected`` of each rule that ``properties`` break."""
    try:
        KafkaSpec(bootstrap_servers="broker:9092", properties=properties)
    except ValidationError as error:
        return [f"{fault['loc'][-1]}: {fault['msg']}" for fault in error.errors()]
    return []


@pytest.mark.parametrize(
    "properties",
    [
        {},
        LOGIN,
        TOKEN,
        {**TOKEN, "sasl.oauthbearer.scope": "kafka"},
        {**TOKEN, "https.ca.location": "/tokens.pem"},
        MUTUAL,
        {"client.rack": "a"},
    ],
    ids=["none", "login", "token", "token with a scope", "token by TLS", "mutual", "rack"],
)
def test_a_whole_declaration_is_taken(properties: dict[str, str]) -> None:
    assert broken(properties) == []


def without(properties: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in properties.items() if key != name}


@pytest.mark.parametrize(
    ("properties", "faults"),
    [
        pytest.param(
            {"isolation.level": "read_uncommitted"},
            [f"isolation.level: got 'isolation.level'; expected one of {', '.join(sorted(KNOWN))}"],
            id="what decides which records are read",
        ),
        pytest.param(
            {**LOGIN, "security.protocol": "TLS"},
            [
                "security.protocol: got 'TLS'; expected PLAINTEXT or SSL or SASL_PLAINTEXT or "
                "SASL_SSL"
            ],
            id="no protocol of Kafka",
        ),
        pytest.param(
            {**LOGIN, "sasl.mechanisms": "GSSAPI"},
            [
                "sasl.mechanisms: got 'GSSAPI'; expected PLAIN or SCRAM-SHA-256 or SCRAM-SHA-512 "
                "or OAUTHBEARER"
            ],
            id="mechanism that the packaged client lacks",
        ),
        pytest.param(
            {**LOGIN, "sasl.mechanisms": "scram-sha-512"},
            [
                "sasl.mechanisms: got 'scram-sha-512'; expected PLAIN or SCRAM-SHA-256 or "
                "SCRAM-SHA-512 or OAUTHBEARER"
            ],
            id="mechanism in small letters",
        ),
        pytest.param(
            {**LOGIN, "sasl.mechanism": "PLAIN"},
            [
                "sasl.mechanisms: got sasl.mechanisms; expected one of its two names: "
                "sasl.mechanism stands beside it"
            ],
            id="mechanism by two names",
        ),
        pytest.param(
            without(LOGIN, "sasl.password"),
            ["sasl.password: got nothing; expected a value beside SCRAM-SHA-512"],
            id="user without a password",
        ),
        pytest.param(
            {**LOGIN, "sasl.oauthbearer.client.id": "tide"},
            ["sasl.oauthbearer.client.id: got a value; expected nothing beside SCRAM-SHA-512"],
            id="two ways to log in",
        ),
        pytest.param(
            without(LOGIN, "sasl.mechanisms"),
            [
                "sasl.mechanism: got nothing; expected PLAIN or SCRAM-SHA-256 or SCRAM-SHA-512 or "
                "OAUTHBEARER beside SASL_SSL",
                "sasl.username: got a value; expected nothing beside no sasl.mechanism",
                "sasl.password: got a value; expected nothing beside no sasl.mechanism",
            ],
            id="login without a mechanism",
        ),
        pytest.param(
            without(LOGIN, "security.protocol"),
            [
                "security.protocol: got 'PLAINTEXT'; expected SASL_SSL or SASL_PLAINTEXT beside "
                "SCRAM-SHA-512"
            ],
            id="login without a protocol",
        ),
        pytest.param(
            {"ssl.ca.location": "/ca.pem"},
            [
                "ssl.ca.location: got a value; expected security.protocol SSL or SASL_SSL, not "
                "PLAINTEXT"
            ],
            id="authority without TLS",
        ),
        pytest.param(
            {**MUTUAL, "ssl.ca.pem": "CA"},
            ["ssl.ca.pem: got a value; expected either this or ssl.ca.location"],
            id="authority twice",
        ),
        pytest.param(
            {**LOGIN, "https.ca.location": "/tokens.pem"},
            ["https.ca.location: got a value; expected nothing beside SCRAM-SHA-512"],
            id="authority of a token server without one",
        ),
        pytest.param(
            {**TOKEN, "https.ca.location": "/tokens.pem", "https.ca.pem": "CA"},
            ["https.ca.pem: got a value; expected either this or https.ca.location"],
            id="authority of a token server twice",
        ),
        pytest.param(
            without(MUTUAL, "ssl.key.pem"),
            ["ssl.key.location: got nothing; expected a file beside that of ssl.certificate"],
            id="certificate without its key",
        ),
    ],
)
def test_half_a_declaration_is_refused(properties: dict[str, str], faults: list[str]) -> None:
    assert broken(properties) == faults


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_known_property_is_one_of_librdkafka(name: str) -> None:
    """It alone decides; a name that it does not know is refused with another error."""
    value = {"ssl.ca.pem": "", "sasl.oauthbearer.method": "oidc"}.get(name, "1000")
    told = ""
    try:
        Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "x", name: value}).close()
    except KafkaException as error:
        told = str(error)
    assert "No such configuration property" not in told
