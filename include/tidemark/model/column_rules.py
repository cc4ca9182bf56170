"""What becomes of a source's columns in the target: left out, named otherwise, made unreadable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from tidemark.model.names import ColumnName


class Mask(StrEnum):
    """What stands in place of a column's values."""

    HASH = "hash"
    """Their SHA-256, of what they are as text, in hexadecimal digits."""
    REDACT = "redact"
    """Null."""


@dataclass(frozen=True, slots=True)
class ColumnRules:
    """Rules by the source's column names.

    included: these alone are kept; empty: all. renamed: pairs of the source's name and the
    target's.
    """

    included: tuple[ColumnName, ...] = ()
    excluded: tuple[ColumnName, ...] = ()
    renamed: tuple[tuple[ColumnName, ColumnName], ...] = ()
    hashed: tuple[ColumnName, ...] = ()
    redacted: tuple[ColumnName, ...] = ()

    @property
    def columns(self) -> tuple[ColumnName, ...]:
        """Every source column that a rule names, once."""
        renamed = (name for name, _ in self.renamed)
        lists = (self.included, self.excluded, renamed, self.hashed, self.redacted)
        return tuple(dict.fromkeys(name for names in lists for name in names))

    @property
    def hiding(self) -> tuple[frozenset[ColumnName], ...]:
        """What makes columns unreadable; equal where two tables show and hash the same ones."""
        return tuple(
            frozenset(names) for names in (self.included, self.excluded, self.hashed, self.redacted)
        )

    def target_name(self, name: ColumnName) -> ColumnName | None:
        """What the source's column ``name`` is called in the target; None when it is left out."""
        if name in self.excluded or (self.included and name not in self.included):
            return None
        return dict(self.renamed).get(name, name)

    def mask(self, name: ColumnName) -> Mask | None:
        """What stands in place of the values of the source's column ``name``."""
        if name in self.hashed:
            return Mask.HASH
        return Mask.REDACT if name in self.redacted else None

    def keeps_readable(self, name: ColumnName) -> bool:
        """Whether the target has the values of the source's column ``name``."""
        return self.target_name(name) is not None and self.mask(name) is None

    def to_json(self) -> dict[str, Any]:
        """As kept in the target's properties."""
        return {
            "included": list(self.included),
            "excluded": list(self.excluded),
            "renamed": [list(pair) for pair in self.renamed],
            "hashed": list(self.hashed),
            "redacted": list(self.redacted),
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The reverse of `to_json`."""

        def names(rule: str) -> tuple[ColumnName, ...]:
            return tuple(map(ColumnName, stored[rule]))

        pairs = ((ColumnName(was), ColumnName(name)) for was, name in stored["renamed"])
        return cls(
            names("included"), names("excluded"), tuple(pairs), names("hashed"), names("redacted")
        )
