"""What database servers of tests have in common."""

from __future__ import annotations

from dataclasses import dataclass


class RefusedError(Exception):
    """The server does not make a statement; the session's transaction is rolled back."""


@dataclass(frozen=True)
class Column:
    """A column as the server has it; kind: its base type, text: the whole type."""

    name: str
    kind: str
    text: str
    is_nullable: bool

    @property
    def digits(self) -> int:
        """Fraction digits of a time, or bits."""
        _, _, size = self.text.partition("(")
        return int(size.rstrip(")")) if size else 0
