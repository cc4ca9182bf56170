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

    def broken_rules(self) -> Iterator[BrokenRule]:
        """Who asks has a name and a password, and the file holds no secret."""
        if self.password is not None and not (
            holds_reference(self.password) and keeps_secret(self.password)
        ):
            yield BrokenRule(
                ("password",), "a literal secret", "a reference: ${env:NAME} or ${file:/path}"
            )
        if (self.user is None) != (self.password is None):
            missing, other = ("user", "password") if self.user is None else ("password", "user")
            yield BrokenRule((missing,), "nothing", f"{missing} beside {other}")


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
