"""Tables that the source renamed: who bears which name at which position (SCHEMA-31)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from tidemark.model.names import TableName
from tidemark.model.position import Position


@dataclass(frozen=True, slots=True)
class Rename:
    """A table that is called ``new``, and that records at and below ``position`` call ``old``.

    position: None while the statement has not come; then whatever is called ``old`` is this table.
    """

    old: TableName
    new: TableName
    position: Position | None = None

    def to_json(self) -> list[Any]:
        """As kept in the ledger."""
        return [str(self.old), str(self.new), self.position]

    @classmethod
    def from_json(cls, kept: Sequence[Any]) -> Self:
        """The reverse of `to_json`."""
        old, new, position = kept
        return cls(TableName.parse(old), TableName.parse(new), position)


@dataclass(frozen=True, slots=True)
class Renames:
    """What the file says of former names, and what was followed of it.

    declared: renames as the file has them, without positions. done: with theirs, in their order.
    """

    declared: tuple[Rename, ...] = ()
    done: tuple[Rename, ...] = ()

    @property
    def due(self) -> tuple[Rename, ...]:
        """Those that are declared and have not come yet."""
        return tuple(one for one in self.declared if self.followed(one.old, one.new) is None)

    def followed(self, old: TableName, new: TableName) -> Rename | None:
        """How ``new`` got its name from ``old``; None if it did not, or has another one since."""
        about = [one for one in self.done if new in (one.old, one.new)]
        return about[-1] if about and (about[-1].old, about[-1].new) == (old, new) else None

    def with_found(self, found: Iterable[Rename]) -> tuple[Rename, ...]:
        """All that tells names: what was followed, what was ``found`` now, and what is due."""
        now = Renames(self.declared, (*self.done, *found))
        return (*sorted(now.done, key=lambda one: one.position or ""), *now.due)
