"""Client properties in two dialects: librdkafka's, as declared, and Java's, which Spark uses."""

from __future__ import annotations

import pytest

from tidemark.topics.read import java_properties


@pytest.mark.parametrize(
    ("declared", "java"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param(
            {"security.protocol": "SSL", "ssl.ca.location": "/ca.pem"},
            {
                "security.protocol": "SSL",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": "/ca.pem",
            },
            id="certificate authority",
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
