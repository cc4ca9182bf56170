"""Another key of a table: by which statement, and which one is followed first (KEY-16)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tidemark.model.names import ColumnName
from tidemark.model.position import Position


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A statement that gives a table the key ``key``, empty for none.

    lost_at: where it lost the one that it had before, if by an earlier statement. if_none: a table
    that has a key keeps that.
    """

    position: Position
    key: tuple[ColumnName, ...]
    statement: str
    lost_at: Position | None = None
    if_none: bool = False

    @property
    def begins_at(self) -> Position:
        """Rows at and below it have the key of before."""
        return self.lost_at or self.position

    @property
    def sentence(self) -> str:
        """The statement, and where it stands."""
        return f"{self.statement} (at position {self.position})"


def effective(key_changes: Iterable[KeyChange], *, has_key: bool) -> Iterator[KeyChange]:
    """Those of ``key_changes``, in position order, that did anything.

    has_key: whether the table has one before them.

    >>> drop = KeyChange(Position("1"), (), "DROP ..")
    >>> add = KeyChange(Position("2"), ("a",), "ADD .. IF NOT EXISTS", if_none=True)
    >>> [change.position for change in effective([add, drop, add, add], has_key=True)]
    ['1', '2']
    """
    for key_change in key_changes:
        if not (key_change.if_none and has_key):
            has_key = bool(key_change.key)
            yield key_change


def first_key_change(key_changes: Iterable[KeyChange]) -> KeyChange | None:
    """The first of ``key_changes``, in position order, after which the table has a key.

    None where there is none: the table is left without. A source may take the key away and give
    another one by two statements; between them no row has any.

    >>> drop = KeyChange(Position("1"), (), "DROP ..")
    >>> add = KeyChange(Position("2"), ("a",), "ADD ..")
    >>> first_key_change([drop, add]).begins_at
    '1'
    """
    lost_at: Position | None = None
    for key_change in key_changes:
        if key_change.key:
            return replace(key_change, lost_at=lost_at)
        lost_at = lost_at or key_change.position
    return None
