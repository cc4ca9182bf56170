"""Where Kafka Connect is asked about its connectors."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.spec.oauth import OAuthSpec


@dataclass(frozen=True, slots=True)
class ConnectSpec:
    """url: of its REST interface. user, password: where it asks for them; oauth: for tokens.

    Each may hold references, which whoever asks resolves. connector: the one that writes the topics
    of a pipeline; None: it is known by its topic.prefix.
    """

    url: str
    user: str | None = None
    password: str | None = None
    connector: str | None = None
    oauth: OAuthSpec | None = None
