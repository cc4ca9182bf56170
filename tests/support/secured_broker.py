"""A broker that lets nobody in without a login, and nobody do what no ACL allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # re-exported bare
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from embedded.broker import Listener, running_broker
from embedded.ports import HOST, free_ports
from tests.support.certificates import Authority
from tests.support.tokens import TokenIssuer
from tidemark.spec import KafkaSpec

USER, PASSWORD = "tide", 'p"\\4 s'  # noqa: S105  of a broker that lives for a test
READ_ALONE = (AclOperation.READ, AclOperation.DESCRIBE)
_SECURITY = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class SecuredBroker:
    """A broker, the clients that it knows, and the port without security for its operator."""

    operator: KafkaSpec
    clients: Mapping[str, KafkaSpec]

    def grant(self, topic: str, *operations: AclOperation) -> None:
        """Allow the client of every login to do something with topics that begin so."""
        bindings = [
            AclBinding(
                ResourceType.TOPIC,
                topic,
                ResourcePatternType.PREFIXED,
                f"User:{who}",
                "*",
                operation,
                AclPermissionType.ALLOW,
            )
            for operation in operations
            for who in (USER, f"CN={USER}")
        ]
        admin = AdminClient({"bootstrap.servers": self.operator.bootstrap_servers})
        for made in admin.create_acls(bindings).values():
            made.result(timeout=30)


@contextmanager
def secured_broker(state: Path, jars: Path) -> Iterator[SecuredBroker]:
    """A broker with a listener for each way to log in, with TLS, and one for passwords without."""
    authority, tokens, files = Authority("brokers"), TokenIssuer(USER, PASSWORD), state / "tls"
    files.mkdir(parents=True)
    (files / "ca.pem").write_text(authority.pem)
    (files / "broker.pem").write_text("".join(reversed(authority.issue("broker"))))
    certificate, key = authority.issue(USER, PASSWORD)
    (files / "client.pem").write_text(certificate)
    (files / "client.key").write_text(key)
    (files / "keys.json").write_text(tokens.keys)
    login, mutual, token, clear = free_ports(4)
    listeners = [
        Listener("LOGIN", "SASL_SSL", login),
        Listener("CLEAR", "SASL_PLAINTEXT", clear),
        Listener("MUTUAL", "SSL", mutual),
        Listener("TOKEN", "SASL_SSL", token),
    ]
    with ExitStack() as stack:
        environment = stack.enter_context(pytest.MonkeyPatch.context())
        # Kafka 4 fetches keys from allowed URLs alone.
        allowed = "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls"
        environment.setenv("JAVA_TOOL_OPTIONS", f"{allowed}={(files / 'keys.json').as_uri()}")
        broker = running_broker(state, jars, listeners, _settings(files))
        address = stack.enter_context(broker)
        environment.undo()
        _add_scram_user(address)
        trusted = {"ssl.ca.location": str(files / "ca.pem")}
        unsecured = {"sasl.username": USER, "sasl.password": PASSWORD}
        password = {**unsecured, **trusted}
        own = {
            "ssl.certificate.location": str(files / "client.pem"),
            "ssl.key.location": str(files / "client.key"),
            "ssl.key.password": PASSWORD,
            **trusted,
        }
        oidc = {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": USER,
            "sasl.oauthbearer.client.secret": PASSWORD,
            "sasl.oauthbearer.scope": "kafka",
            "sasl.oauthbearer.token.endpoint.url": stack.enter_context(tokens.running()),
            **trusted,
        }
        context = SSLContext(PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files / "broker.pem")
        oidc_by_tls = {
            **oidc,
            "sasl.oauthbearer.token.endpoint.url": stack.enter_context(tokens.running(context)),
            "https.ca.location": str(files / "ca.pem"),
        }
        yield SecuredBroker(
            KafkaSpec(bootstrap_servers=address),
            {
                "scram": _client(login, "SASL_SSL", "SCRAM-SHA-512", **password),
                "scram-256": _client(login, "SASL_SSL", "SCRAM-SHA-256", **password),
                "scram-clear": _client(clear, "SASL_PLAINTEXT", "SCRAM-SHA-256", **unsecured),
                "plain": _client(login, "SASL_SSL", "PLAIN", **password),
                "certificate": _client(mutual, "SSL", None, **own),
                "token": _client(token, "SASL_SSL", "OAUTHBEARER", **oidc),
                "token-tls": _client(token, "SASL_SSL", "OAUTHBEARER", **oidc_by_tls),
            },
        )


def _client(port: int, protocol: str, mechanism: str | None, **properties: str) -> KafkaSpec:
    login = {} if mechanism is None else {"sasl.mechanism": mechanism}
    return KafkaSpec(
        bootstrap_servers=f"{HOST}:{port}",
        properties={"security.protocol": protocol, **login, **properties},
    )


def _settings(files: Path) -> dict[str, str]:
    scram = {
        f"listener.name.{name}.{mechanism}.sasl.jaas.config": (
            f"{_SECURITY}.scram.ScramLoginModule required;"
        )
        for name in ("login", "clear")
        for mechanism in ("scram-sha-256", "scram-sha-512")
    }
    quoted = PASSWORD.replace("\\", "\\\\").replace('"', '\\"').replace("\\", "\\\\")
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(files / "ca.pem"),
        "listener.name.mutual.ssl.client.auth": "required",
        **scram,
        "listener.name.login.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.clear.sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.login.plain.sasl.jaas.config": (
            f'{_SECURITY}.plain.PlainLoginModule required user_{USER}="{quoted}";'
        ),
        "listener.name.token.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.token.oauthbearer.sasl.jaas.config": (
            f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule required;"
        ),
        "listener.name.token.oauthbearer.sasl.server.callback.handler.class": (
            f"{_SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
        "listener.name.token.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": (
            (files / "keys.json").as_uri()
        ),
    }


def _add_scram_user(address: str) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        credentials = ScramCredentialInfo(kind, 4096)
        upsertion = UserScramCredentialUpsertion(USER, credentials, PASSWORD.encode())
        for made in admin.alter_user_scram_credentials([upsertion]).values():
            made.result(timeout=30)
