"""What became of column names: who bears which name at which position (SCHEMA-4, SCHEMA-30)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from tidemark.model.names import ColumnName
from tidemark.model.position import Position


class Fill(NamedTuple):
    """What rows got in a column, as PostgreSQL shows it; text: None is something unknown."""

    name: ColumnName
    type_text: str
    text: str | None


@dataclass(frozen=True, slots=True)
class ColumnRename:
    """What one statement did to the names of a table's columns, all at once.

    Records at and below ``position`` have the names from before. renamed: pairs of old and new.
    fills: what rows of before got in columns that were added, where records alone show the column.
    """

    position: Position
    renamed: tuple[tuple[ColumnName, ColumnName], ...] = ()
    dropped: tuple[ColumnName, ...] = ()
    added: tuple[ColumnName, ...] = ()
    fills: tuple[Fill, ...] = ()

    def after(self, name: ColumnName) -> ColumnName | None:
        """What the column ``name`` is called afterwards; None when it is gone."""
        return None if name in self.dropped else dict(self.renamed).get(name, name)

    def before(self, name: ColumnName) -> ColumnName | None:
        """What the column ``name`` was called before; None when there was no such column."""
        return (
            None if name in self.added else {new: old for old, new in self.renamed}.get(name, name)
        )

    @property
    def is_empty(self) -> bool:
        """Whether no column is called otherwise behind the statement."""
        return not (self.renamed or self.dropped or self.added or self.fills)

    def to_json(self) -> dict[str, Any]:
        """As kept in the target's properties."""
        return {
            "position": self.position,
            "renamed": [list(pair) for pair in self.renamed],
            "dropped": list(self.dropped),
            "added": list(self.added),
            "fills": [list(fill) for fill in self.fills],
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The reverse of `to_json`."""
        return cls(
            Position(stored["position"]),
            tuple((ColumnName(old), ColumnName(new)) for old, new in stored["renamed"]),
            tuple(map(ColumnName, stored["dropped"])),
            tuple(map(ColumnName, stored["added"])),
            tuple(Fill(ColumnName(name), kind, text) for name, kind, text in stored["fills"]),
        )


@dataclass(frozen=True, slots=True)
class ColumnAlias:
    """How records name one column.

    former: pairs of a position and the name that records at and below it have, newest first.
    since: records at and below it do not have the column, whatever they call so; None when it was
    always there.
    """

    name: ColumnName
    former: tuple[tuple[Position, ColumnName], ...] = ()
    since: Position | None = None

    @property
    def names(self) -> tuple[ColumnName, ...]:
        """Every name that records have for it, newest first."""
        return tuple(dict.fromkeys((self.name, *(name for _, name in self.former))))


def column_alias(column_renames: Sequence[ColumnRename], name: ColumnName) -> ColumnAlias:
    """How records name the column that is called ``name`` after all of ``column_renames``.

    >>> one = ColumnRename(Position("1"), renamed=((ColumnName("a"), ColumnName("b")),))
    >>> column_alias([one], ColumnName("b")).former
    (('1', 'a'),)
    """
    former: list[tuple[Position, ColumnName]] = []
    called = name
    for column_rename in reversed(column_renames):
        earlier = column_rename.before(called)
        if earlier is None:
            return ColumnAlias(name, tuple(former), column_rename.position)
        if earlier != called:
            former.append((column_rename.position, earlier))
        called = earlier
    return ColumnAlias(name, tuple(former))


def name_after(
    column_renames: Sequence[ColumnRename], name: ColumnName, position: Position | None
) -> ColumnName | None:
    """The name after all ``column_renames`` of what a record at ``position`` calls ``name``.

    None when the column is gone. position: None stands above all of them.
    """
    called: ColumnName | None = name
    for column_rename in column_renames:
        if called is not None and position is not None and position <= column_rename.position:
            called = column_rename.after(called)
    return called


def without_empty(column_renames: Sequence[ColumnRename]) -> tuple[ColumnRename, ...]:
    """``column_renames`` without those that change no name, but for the newest of all.

    Nothing at or below that is followed again (SCHEMA-25), so that older ones tell nothing more.

    >>> one, two = ColumnRename(Position("1")), ColumnRename(Position("2"))
    >>> without_empty([one, two]) == (two,)
    True
    """
    newest = max((rename.position for rename in column_renames), default=None)
    return tuple(
        rename for rename in column_renames if not rename.is_empty or rename.position == newest
    )


def is_reused(column_renames: Sequence[ColumnRename], name: ColumnName) -> bool:
    """Whether another column was called ``name`` before."""
    return any(
        name in column_rename.dropped or name in dict(column_rename.renamed)
        for column_rename in column_renames
    )
