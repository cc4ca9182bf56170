"""What declarations of services beside Kafka share: addresses, files, and secrets by reference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator

from tidemark.spec.base import BrokenRule, SpecModel, Text, kebab_case
from tidemark.spec.references import holds_reference, keeps_secret, refuse_malformed

_SCHEMES = ("http", "https")


def http_address(text: str) -> SplitResult | None:
    """The parts of ``text`` where it is the address of a web service."""
    url = urlsplit(text)
    return url if url.scheme in _SCHEMES and url.hostname and not url.fragment else None


def has_credentials(text: str) -> bool:
    """Whether ``text``, an address, has a user or a password in it."""
    return "@" in urlsplit(text).netloc


def literal_secrets(spec: SpecModel, *names: str) -> Iterator[BrokenRule]:
    """The fields of ``names`` that hold anything else than a reference."""
    for name in names:
        secret = getattr(spec, name)
        if secret is not None and not (holds_reference(secret) and keeps_secret(secret)):
            yield BrokenRule(
                (kebab_case(name),), "a literal secret", "a reference: ${env:NAME} or ${file:/path}"
            )


def is_file(schema: dict[str, Any]) -> None:
    """Say in the JSON schema that no folder is wanted."""
    schema["anyOf"][0]["format"] = "file-path"


def _reference(text: str) -> str:
    return refuse_malformed(text) if holds_reference(text) else text


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError("an absolute path")
    return path


ReferableText = Annotated[Text, AfterValidator(_reference)]
AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
