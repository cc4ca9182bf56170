"""What both databases are to a workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tests.support.server import Column

Key = tuple[str, ...]
"""Values of key columns, as text."""
Script = Sequence[str]
"""Statements of one session."""


class Source(Protocol):
    """A database whose tables a connector sends."""

    @property
    def name(self) -> str:
        """Of the connector, and the prefix of its topics."""

    @property
    def namespace(self) -> str:
        """The schema or database that its tables stand in."""

    def run(self, script: Script) -> None:
        """Run statements in one session; `RefusedError` at the first that is refused."""

    def crash(self) -> None:
        """The server dies without a warning and comes back with what was committed."""

    def tables(self) -> Sequence[str]:
        """Every table that the connector sends."""

    def columns(self, table: str) -> Sequence[Column]:
        """The columns in their order."""

    def key(self, table: str) -> Sequence[str]:
        """Columns of the primary key."""

    def keys(self, table: str) -> set[Key]:
        """Keys that are there."""

    def rows(self, table: str) -> list[dict[str, Any]]:
        """What a SELECT shows, in the form of cases (README of the corpus, "Values in rows")."""

    def quoted(self, name: str) -> str:
        """A name as statements write it."""

    def value(self, column: Column) -> str:
        """A random literal that fits the column."""

    def upsert(self, table: str, columns: Sequence[str], values: Sequence[str]) -> str:
        """A statement that puts a row in, whether there is one with its key or not."""

    def made(self) -> Script:
        """Statements that make the tables, before the connector starts."""

    def altered(self, table: str) -> str:
        """A random statement about the columns of a table."""

    def renamed(self, *pairs: tuple[str, str]) -> Script:
        """Statements by which tables get other names, from left to right, all at once."""

    def connector(self) -> Mapping[str, str]:
        """Settings of the connector, but those that all connectors have."""
