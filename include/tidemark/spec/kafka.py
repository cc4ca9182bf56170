"""How clients reach Kafka: librdkafka's names, for all that reads.

Most is read by librdkafka, the rest by Spark's Java client. A property stands here only if both
can do as it says; `topics/java_client.py` has the Java client's names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from tidemark.spec.base import BrokenRule, Setting, SpecModel

SAME_IN_JAVA = frozenset(
    {
        "client.id",
        "client.rack",
        "connections.max.idle.ms",
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.ms",
    }
)
PROTOCOL, MECHANISM, MECHANISMS = "security.protocol", "sasl.mechanism", "sasl.mechanisms"
USER, PASSWORD = "sasl.username", "sasl.password"  # noqa: S105  names of properties
REQUEST_TIMEOUT = "socket.timeout.ms"
HOST_CHECK = "ssl.endpoint.identification.algorithm"
CA, CERTIFICATE, KEY = "ssl.ca", "ssl.certificate", "ssl.key"
KEY_PASSWORD = "ssl.key.password"  # noqa: S105  the name of a property
METHOD = "sasl.oauthbearer.method"
CLIENT_ID, CLIENT_SECRET = "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret"
TOKEN_URL, SCOPE = "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.scope"
HTTPS_CA = "https.ca"
OAUTHBEARER = "OAUTHBEARER"
_OIDC = (METHOD, CLIENT_ID, CLIENT_SECRET, TOKEN_URL)
_LOGIN = (USER, PASSWORD)
_OF_MECHANISM: Mapping[str, tuple[str, ...]] = {
    "PLAIN": _LOGIN,
    "SCRAM-SHA-256": _LOGIN,
    "SCRAM-SHA-512": _LOGIN,
    OAUTHBEARER: _OIDC,
}
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_FORMS = ("location", "pem")
_PEM = tuple(f"{what}.{form}" for what in (CA, CERTIFICATE, KEY) for form in _FORMS)
_TLS = (*_PEM, KEY_PASSWORD, HOST_CHECK)
_HTTPS_CAS = tuple(f"{HTTPS_CA}.{form}" for form in _FORMS)
_SASL = (MECHANISM, MECHANISMS, *_LOGIN, *_OIDC, SCOPE, *_HTTPS_CAS)
KNOWN = frozenset({PROTOCOL, REQUEST_TIMEOUT, *_TLS, *_SASL, *SAME_IN_JAVA})
_SERVER = re.compile(r"[^\s,:/@]+:\d{1,5}|\[[0-9A-Fa-f:.]+\]:\d{1,5}")


def _servers(text: str) -> str:
    if not all(_SERVER.fullmatch(server.strip()) for server in text.split(",")):
        raise ValueError("host:port, further ones after commas")
    return text


class KafkaSpec(SpecModel):
    """The broker: pipelines read from it, and write nothing but signals to a connector."""

    bootstrap_servers: Annotated[str, AfterValidator(_servers)] = Field(
        description="host:port of the brokers, separated by commas"
    )
    properties: Mapping[str, Setting] = Field(
        default={},
        repr=False,
        description="how to connect, in librdkafka's names: [Secured Kafka](#secured-kafka)",
    )

    def broken_rules(self) -> Iterator[BrokenRule]:
        """Each property is one that both clients know, and belongs to the others."""
        properties = self.properties
        broken = [*_unknown(properties), *_odd_values(properties)]
        protocol = properties.get(PROTOCOL, _PROTOCOLS[0]).upper()
        yield from broken or [
            *_one_sided_login(properties, protocol),
            *_one_sided_tls(properties, protocol),
        ]


def mechanism_of(properties: Mapping[str, str]) -> str | None:
    """How the client logs in; librdkafka has two names for it."""
    return properties.get(MECHANISM, properties.get(MECHANISMS))


def _unknown(properties: Mapping[str, str]) -> Iterator[BrokenRule]:
    for name in sorted(properties.keys() - KNOWN):
        yield _rule(name, repr(name), f"one of {', '.join(sorted(KNOWN))}")


def _odd_values(properties: Mapping[str, str]) -> Iterator[BrokenRule]:
    mechanism = MECHANISM if MECHANISM in properties else MECHANISMS
    for name, wanted in (
        (PROTOCOL, _PROTOCOLS),
        (METHOD, ("oidc",)),
        (HOST_CHECK, ("https", "none")),
    ):
        setting = properties.get(name)
        if setting is not None and setting.casefold() not in {each.casefold() for each in wanted}:
            yield _rule(name, repr(setting), " or ".join(wanted))
    setting = properties.get(mechanism)
    if setting is not None and setting not in _OF_MECHANISM:  # librdkafka: in capitals alone
        yield _rule(mechanism, repr(setting), " or ".join(_OF_MECHANISM))
    if {MECHANISM, MECHANISMS} <= properties.keys():
        yield _rule(MECHANISMS, MECHANISMS, f"one of its two names: {MECHANISM} stands beside it")


def _one_sided_login(properties: Mapping[str, str], protocol: str) -> Iterator[BrokenRule]:
    """What a login lacks, or has from another way to log in."""
    mechanism = mechanism_of(properties) or ""
    needed = _OF_MECHANISM.get(mechanism, ())
    if mechanism and not protocol.startswith("SASL"):
        yield _rule(PROTOCOL, repr(protocol), f"SASL_SSL or SASL_PLAINTEXT beside {mechanism}")
    if protocol.startswith("SASL") and not mechanism:
        yield _rule(MECHANISM, "nothing", f"{' or '.join(_OF_MECHANISM)} beside {protocol}")
    for name in needed:
        if not properties.get(name):
            yield _rule(name, "nothing", f"a value beside {mechanism}")
    allowed = {MECHANISM, MECHANISMS, *needed, *((SCOPE, *_HTTPS_CAS) if needed is _OIDC else ())}
    for name in _SASL:
        if name in properties and name not in allowed:
            beside = mechanism or f"no {MECHANISM}"
            yield _rule(name, "a value", f"nothing beside {beside}")
    if properties.keys() >= {*_HTTPS_CAS}:
        yield _rule(_HTTPS_CAS[1], "a value", f"either this or {_HTTPS_CAS[0]}")


def _one_sided_tls(properties: Mapping[str, str], protocol: str) -> Iterator[BrokenRule]:
    """What TLS lacks, has twice, or has where it is not used."""
    if not protocol.endswith("SSL"):
        for name in _TLS:
            if name in properties:
                yield _rule(name, "a value", f"{PROTOCOL} SSL or SASL_SSL, not {protocol}")
    has = {}
    for what in (CA, CERTIFICATE, KEY):
        forms = [f"{what}.{form}" for form in _FORMS if f"{what}.{form}" in properties]
        has[what] = bool(forms)
        if len(forms) > 1:
            yield _rule(forms[1], "a value", f"either this or {forms[0]}")
    for what, other in ((CERTIFICATE, KEY), (KEY, CERTIFICATE)):
        if has[other] and not has[what]:
            yield _rule(f"{what}.location", "nothing", f"a file beside that of {other}")


def _rule(name: str, got: str, expected: str) -> BrokenRule:
    return BrokenRule(("properties", name), got, expected)
