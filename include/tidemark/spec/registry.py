"""Where the Avro schemas of a source are: a registry, or a folder of files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from tidemark.spec.base import BrokenRule, SpecModel, Text
from tidemark.spec.oauth import OAuthSpec
from tidemark.spec.references import holds_reference, refuse_malformed
from tidemark.spec.services import (
    AbsolutePath,
    ReferableText,
    has_credentials,
    http_address,
    is_file,
    literal_secrets,
)


def registry_url(text: str) -> str:
    """``text`` when it is the address of a registry; `ValueError` with what was expected."""
    if has_credentials(text):
        raise ValueError("an address without credentials: they are user and password")
    url = http_address(text)
    if url is None or url.query:
        raise ValueError("http://host:port or https://host:port, with a path if there is one")
    return text.rstrip("/")


def _url(text: str) -> str:
    if holds_reference(text):
        return refuse_malformed(text)
    return registry_url(text)


class RegistrySpec(SpecModel):
    """A registry with Confluent's HTTP interface.

    References stay what they are until a run asks the registry: a file that Airflow parses needs
    no secret.
    """

    url: Annotated[Text, AfterValidator(_url)] = Field(
        description="address of a registry with Confluent's interface, such as "
        "https://registry:8081; may hold ${env:NAME}"
    )
    user: ReferableText | None = Field(
        default=None, description="user, where the registry asks for one"
    )
    password: Text | None = Field(default=None, description="password, by reference")
    ca: AbsolutePath | None = Field(
        default=None,
        json_schema_extra=is_file,
        description="PEM file with the authority behind an https registry; null: those that the "
        "system trusts",
    )

    token: Text | None = Field(
        default=None, description="bearer token in place of user and password, by reference"
    )
    oauth: OAuthSpec | None = Field(
        default=None, description="where tokens come from, in place of token"
    )
    certificate: AbsolutePath | None = Field(
        default=None,
        json_schema_extra=is_file,
        description="PEM file with the client certificate, where the registry asks for one",
    )
    key: AbsolutePath | None = Field(
        default=None,
        json_schema_extra=is_file,
        description="PEM file with the certificate's key; null: it is in the same file",
    )
    key_password: Text | None = Field(
        default=None, description="what the key is encrypted with, by reference"
    )

    def broken_rules(self) -> Iterator[BrokenRule]:
        """Who asks says so in one way and whole, and the file holds no secret."""
        yield from literal_secrets(self, "password", "token", "key_password")
        if (self.user is None) != (self.password is None):
            missing, other = ("user", "password") if self.user is None else ("password", "user")
            yield BrokenRule((missing,), "nothing", f"{missing} beside {other}")
        if self.token is not None and (self.user is not None or self.password is not None):
            yield BrokenRule(("token",), "user and password beside it", "one of the two ways")
        if self.oauth is not None and (self.user, self.password, self.token) != (None, None, None):
            other = "user and password" if self.token is None else "token"
            yield BrokenRule(("oauth",), f"{other} beside it", "one of the two ways")
        if self.certificate is None and (self.key, self.key_password) != (None, None):
            other = "key-password" if self.key is None else "key"
            yield BrokenRule(("certificate",), "nothing", f"certificate beside {other}")


class AvroSpec(SpecModel):
    """Keys and values are Avro in Confluent's wire format; one of two places has the schemas."""

    registry: RegistrySpec | None = Field(default=None, description="a schema registry")
    folder: AbsolutePath | None = Field(
        default=None,
        description="folder with a file <id>.avsc for each schema id, in place of a registry",
    )

    def broken_rules(self) -> Iterator[BrokenRule]:
        """Schemas have one origin."""
        if (self.registry is None) == (self.folder is None):
            got = "neither" if self.registry is None else "both"
            yield BrokenRule((), got, "a registry or a folder")
