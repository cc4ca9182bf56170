"""Client properties in librdkafka's names as the Java client, by which Spark reads, wants them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from tidemark.errors import UNCHANGED, BrokerRefusedError
from tidemark.spec.kafka import (
    CA,
    CERTIFICATE,
    CLIENT_ID,
    CLIENT_SECRET,
    HOST_CHECK,
    HTTPS_CA,
    KEY,
    KEY_PASSWORD,
    OAUTHBEARER,
    PASSWORD,
    PROTOCOL,
    REQUEST_TIMEOUT,
    SAME_IN_JAVA,
    SCOPE,
    TOKEN_URL,
    USER,
    mechanism_of,
)

_SECURITY = "org.apache.kafka.common.security"


def java_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """``properties``, which `KafkaSpec` let pass, in the Java client's names.

    Certificates and keys go by content: no worker needs the driver's files. `BrokerRefusedError`
    where a file or a key cannot be read.
    """
    java = {name: value for name, value in properties.items() if name in SAME_IN_JAVA}
    if PROTOCOL in properties:
        java[PROTOCOL] = properties[PROTOCOL].upper()
    if REQUEST_TIMEOUT in properties:
        java["request.timeout.ms"] = properties[REQUEST_TIMEOUT]
    if HOST_CHECK in properties:
        java[HOST_CHECK] = properties[HOST_CHECK].lower().replace("none", "")
    return java | _login(properties) | _tls(properties)


def _login(properties: Mapping[str, str]) -> dict[str, str]:
    mechanism = mechanism_of(properties)
    if mechanism is None:
        return {}
    java, trusted = {"sasl.mechanism": mechanism}, dict[str, str]()
    if mechanism == OAUTHBEARER:
        handler = f"{_SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler"
        java |= {TOKEN_URL: properties[TOKEN_URL], "sasl.login.callback.handler.class": handler}
        module = "oauthbearer.OAuthBearerLoginModule"
        options = {"clientId": CLIENT_ID, "clientSecret": CLIENT_SECRET, "scope": SCOPE}
        trusted = _truststore(_pem(properties, HTTPS_CA))
    else:
        module = "scram.ScramLogin" if mechanism.startswith("SCRAM") else "plain.PlainLogin"
        module, options = f"{module}Module", {"username": USER, "password": PASSWORD}
    jaas_options = [
        f"{option}={_quoted(properties[name])}"
        for option, name in options.items()
        if name in properties
    ]
    jaas_options += [f"{option}={_quoted(value)}" for option, value in trusted.items()]
    return java | {"sasl.jaas.config": f"{_SECURITY}.{module} required {' '.join(jaas_options)};"}


def _tls(properties: Mapping[str, str]) -> dict[str, str]:
    authority, certificate, key = (_pem(properties, what) for what in (CA, CERTIFICATE, KEY))
    java = _truststore(authority)
    if certificate is not None and key is not None:
        java |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": certificate,
            "ssl.keystore.key": _opened(key, properties.get(KEY_PASSWORD)),
        }
    return java


def _truststore(authority: str | None) -> dict[str, str]:
    if authority is None:
        return {}
    return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority}


def _pem(properties: Mapping[str, str], what: str) -> str | None:
    content, file = properties.get(f"{what}.pem"), properties.get(f"{what}.location")
    if content is not None or file is None:
        return content
    try:
        return Path(file).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no PEM file"
        raise _refused(
            f"{what}.location of kafka.properties, {file}, cannot be read: {why}"
        ) from error


def _opened(key: str, password: str | None) -> str:
    """``key`` in the one form that Java reads: PKCS#8, and without a password.

    Java 17 does not know how OpenSSL encrypts a key.
    """
    try:
        private = load_pem_private_key(key.encode(), password.encode() if password else None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _refused(f"{KEY} of kafka.properties is no key that can be read: {error}") from error
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _refused(what: str) -> BrokerRefusedError:
    return BrokerRefusedError(
        what,
        state=UNCHANGED,
        next_step="fix kafka.properties in the installation file, then run again",
    )


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
