"""The S3 store of a warehouse: where it is, and the keys that open it."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from tidemark.spec.base import BrokenRule, SpecModel, Text

SCHEME = "s3://"


def empty_is_none(value: object) -> object:
    """What a reference to a variable that is not set gives, as if the key were not there."""
    return None if value == "" else value


def _endpoint(text: str) -> str:
    uri = urlsplit(text)
    if "@" in uri.netloc:
        raise ValueError("a URL without credentials: they are access-key-id and secret-access-key")
    if uri.scheme not in {"http", "https"} or not uri.hostname or uri.path.strip("/") or uri.query:
        raise ValueError("http://host:port or https://host, without a path")
    return text.rstrip("/")


class S3Spec(SpecModel):
    """A store that speaks S3, as the driver, its executors and pyiceberg reach it."""

    endpoint: Annotated[
        str | None, BeforeValidator(empty_is_none), AfterValidator(lambda t: t and _endpoint(t))
    ] = Field(default=None, description="URL of the store, if it is not Amazon's")
    region: Text = Field(description="its region; a store that knows none takes any")
    path_style: bool = Field(
        default=False, description="the bucket stands in the path, not in the name of the host"
    )
    access_key_id: Annotated[str | None, BeforeValidator(empty_is_none)] = Field(
        default=None, description="name of the key; without one, what AWS's own settings give"
    )
    secret_access_key: Annotated[SecretStr | None, BeforeValidator(empty_is_none)] = Field(
        default=None, description="the key, by reference"
    )

    def broken_rules(self) -> tuple[BrokenRule, ...]:
        """A key has two halves."""
        halves = {
            "access-key-id": self.access_key_id,
            "secret-access-key": self.secret_access_key,
        }
        lacking = [name for name, half in halves.items() if half is None]
        if len(lacking) != 1:
            return ()
        return (BrokenRule((lacking[0],), "nothing", "both halves of the key, or neither"),)
