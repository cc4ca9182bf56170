"""Where a service's bearer tokens come from: an OAuth 2 server, for the secret of a client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from tidemark.spec.base import BrokenRule, SpecModel, Text
from tidemark.spec.references import holds_reference, refuse_malformed
from tidemark.spec.services import (
    AbsolutePath,
    ReferableText,
    has_credentials,
    http_address,
    is_file,
    literal_secrets,
)


def endpoint_url(text: str) -> str:
    """``text`` when it is the address of a token server; `ValueError` with what was expected."""
    if has_credentials(text):
        raise ValueError("an address without credentials: they are client-id and client-secret")
    if http_address(text) is None:
        raise ValueError("http://host:port/path or https://host:port/path")
    return text


def _endpoint(text: str) -> str:
    return refuse_malformed(text) if holds_reference(text) else endpoint_url(text)


class OAuthSpec(SpecModel):
    """OAuth 2 client credentials, in the words that Kafka's clients have for them."""

    token_endpoint_url: Annotated[Text, AfterValidator(_endpoint)] = Field(
        description="address where an OAuth 2 server gives a token for client credentials, in "
        "place of token; may hold ${env:NAME}"
    )
    client_id: ReferableText = Field(description="the client that asks for a token")
    client_secret: Text = Field(description="the client's secret, by reference")
    scope: Text | None = Field(
        default=None, description="scope of the token, where the server wants one"
    )
    ca: AbsolutePath | None = Field(
        default=None,
        json_schema_extra=is_file,
        description="PEM file with the authority behind an https token server; null: those that "
        "the system trusts",
    )

    def broken_rules(self) -> Iterator[BrokenRule]:
        """The file holds no secret."""
        yield from literal_secrets(self, "client_secret")
