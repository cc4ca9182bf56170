"""Where the Avro schemas of a source are: a registry, or a folder of files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from tidemark.spec.base import BrokenRule, SpecModel, Text
from tidemark.spec.references import holds_reference, keeps_secret, refuse_malformed

_SCHEMES = ("http", "https")


def registry_url(text: str) -> str:
    """``text`` when it is the address of a registry; `ValueError` with what was expected."""
    url = urlsplit(text)
    if "@" in url.netloc:
        raise ValueError("an address without credentials: they are user and password")
    if url.scheme not in _SCHEMES or not url.hostname or url.query or url.fragment:
        raise ValueError("http://host:port or https://host:port, with a path if there is one")
    return text.rstrip("/")


def _url(text: str) -> str:
    if holds_reference(text):
        return refuse_malformed(text)
    return registry_url(text)


def _reference(text: str) -> str:
    return refuse_malformed(text) if holds_reference(text) else text


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError("an absolute path")
    return path


def _is_file(schema: dict[str, Any]) -> None:
    """Say in the JSON schema that no folder is wanted."""
    schema["anyOf"][0]["format"] = "file-path"


class RegistrySpec(SpecModel):
    """A registry with Confluent's HTTP interface.

    References stay what they are until a run asks the registry: a file that Airflow parses needs
    no secret.
    """

    url: Annotated[Text, AfterValidator(_url)] = Field(
        description="address of a registry with Confluent's interface, such as "
        "https://registry:8081; may hold ${env:NAME}"
    )
    user: Annotated[Text, AfterValidator(_reference)] | None = Field(
        default=None, description="user, where the registry asks for one"
    )
    password: Text | None = Field(default=None, description="password, by reference")
    ca: Annotated[Path, AfterValidator(_absolute)] | None = Field(
        default=None,
        json_schema_extra=_is_file,
        description="PEM file with the authority behind an https registry; null: those that the "
        "system trusts",
    )

    token: Text | None = Field(
        default=None, description="bearer token in place of user and password, by reference"
    )
    certificate: Annotated[Path, AfterValidator(_absolute)] | None = Field(
        default=None,
        json_schema_extra=_is_file,
        description="PEM file with the client certificate, where the registry asks for one",
    )
    key: Annotated[Path, AfterValidator(_absolute)] | None = Field(
        default=None,
        json_schema_extra=_is_file,
        description="PEM file with the certificate's key; null: it is in the same file",
    )
    key_password: Text | None = Field(
        default=None, description="what the key is encrypted with, by reference"
    )

    def broken_rules(self) -> Iterator[BrokenRule]:
        """Who asks says so in one way and whole, and the file holds no secret."""
        for name in ("password", "token", "key_password"):
            secret = getattr(self, name)
            if secret is not None and not (holds_reference(secret) and keeps_secret(secret)):
                yield BrokenRule(
                    (name,), "a literal secret", "a reference: ${env:NAME} or ${file:/path}"
                )
        if (self.user is None) != (self.password is None):
            missing, other = ("user", "password") if self.user is None else ("password", "user")
            yield BrokenRule((missing,), "nothing", f"{missing} beside {other}")
        if self.token is not None and (self.user is not None or self.password is not None):
            yield BrokenRule(("token",), "user and password beside it", "one of the two ways")
        for name in ("key", "key_password"):
            if getattr(self, name) is not None and self.certificate is None:
                yield BrokenRule(("certificate",), "nothing", f"certificate beside {name}")


class AvroSpec(SpecModel):
    """Keys and values are Avro in Confluent's wire format; one of two places has the schemas."""

    registry: RegistrySpec | None = Field(default=None, description="a schema registry")
    folder: Annotated[Path, AfterValidator(_absolute)] | None = Field(
        default=None,
        description="folder with a file <id>.avsc for each schema id, in place of a registry",
    )

    def broken_rules(self) -> Iterator[BrokenRule]:
        """Schemas have one origin."""
        if (self.registry is None) == (self.folder is None):
            got = "neither" if self.registry is None else "both"
            yield BrokenRule((), got, "a registry or a folder")
