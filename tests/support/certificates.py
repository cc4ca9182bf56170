"""Certificates for servers and clients of tests, by an authority that lives in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from embedded.ports import HOST

PEM = serialization.Encoding.PEM


class Authority:
    """Who signs: nobody trusts it who is not told to."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        itself = x509.BasicConstraints(ca=True, path_length=None)
        builder = _builder(self._name, self._name, self._key.public_key())
        self._signed = builder.add_extension(itself, critical=True).sign(self._key, hashes.SHA256())

    @property
    def pem(self) -> str:
        """Its own certificate."""
        return self._signed.public_bytes(PEM).decode()

    def issue(self, name: str, password: str | None = None) -> tuple[str, str]:
        """Certificate and key (PKCS#8) of whom it calls ``name``, good for 127.0.0.1 too."""
        key = ec.generate_private_key(ec.SECP256R1())
        address = x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))])
        signed = (
            _builder(_name(name), self._name, key.public_key())
            .add_extension(address, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return signed.public_bytes(PEM).decode(), key.private_bytes(
            PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()
            if password is None
            else serialization.BestAvailableEncryption(password.encode()),
        ).decode()


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
    )
