"""What of the changelog is needed no more: records that a base of their table stands for (KEEP-1).

A base is the target of a table as one cut published it. With it and every record of the table that
came later the target can be folded again, so that older records may go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidemark.model.column_rules import Mask
from tidemark.model.columns import TableSchema
from tidemark.model.maintenance import DAY_MS
from tidemark.model.names import ColumnName, TableName
from tidemark.model.refold import TableState
from tidemark.model.renames import Rename
from tidemark.model.stored_state import Stored, from_stored, to_stored
from tidemark.model.target_mode import TargetMode


@dataclass(frozen=True, slots=True)
class Base:
    """A target as the cut ``cut`` published it.

    at_ms: when it was kept, in ms since 1970. landing: the oldest that holds a record which it does
    not contain. snapshot: of the target. state: what progress knew of the table. schema: what the
    target was made from.
    """

    cut: int
    at_ms: int
    landing: int
    snapshot: int
    state: TableState
    schema: TableSchema

    def to_json(self) -> dict[str, Any]:
        """As kept in a property of the target."""
        return to_stored(
            {
                "cut": self.cut,
                "at_ms": self.at_ms,
                "landing": self.landing,
                "snapshot": self.snapshot,
                "state": self.state.to_json(),
                "schema": self.schema.to_json(),
            }
        )

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Base:
        """The reverse of `to_json`."""
        stored = from_stored(Stored.BASE, document)
        read = {
            "state": TableState.from_json(stored["state"]),
            "schema": TableSchema.from_json(stored["schema"]),
        }
        return cls(**{**stored, **read})


def is_due(bases: Sequence[Base], cut: int, keep_days: int, now_ms: int) -> bool:
    """Whether a table needs a base as of ``cut``, which is the newest, and has none.

    It does where the newest base is older than half of what is kept.
    """
    newest = max(bases, key=lambda base: base.cut, default=None)
    if newest is None:
        return True
    return cut > newest.cut and now_ms - newest.at_ms >= keep_days * DAY_MS / 2


def oldest_needed(bases: Sequence[Base], keep_days: int, now_ms: int) -> Base | None:
    """The base below which records may go: the newest that is old enough; None without one."""
    old = [base for base in bases if now_ms - base.at_ms >= keep_days * DAY_MS]
    return max(old, key=lambda base: base.cut, default=None)


def removable(
    needed: Mapping[TableName, int], followed: Collection[TableName], renames: Iterable[Rename]
) -> dict[TableName, int]:
    """Per name that records have the landing below which they may go.

    needed: per table the oldest landing that is needed, of those that have one. followed: all
    tables. Names that a statement ever exchanged are of several tables, so that the oldest of these
    counts, and none goes where one of them needs all.

    >>> a, b, c = (TableName("shop", name) for name in "abc")
    >>> removable({b: 7, c: 9}, [b, c], [Rename(a, b)]) == {a: 7, b: 7, c: 9}
    True
    >>> removable({b: 7}, [b, c], [Rename(b, c)])
    {}
    """
    landings = {}
    for name, group in _groups(followed, renames).items():
        oldest = [needed.get(table) for table in group & set(followed)]
        known = [landing for landing in oldest if landing is not None]
        if known and len(known) == len(oldest):
            landings[name] = min(known)
    return landings


def removed_of(
    table: TableName, removed: Mapping[TableName, int], renames: Iterable[Rename]
) -> int:
    """The landing below which records of ``table`` may be gone; 0 where all are there.

    removed: that landing per name that records have.
    """
    names = _groups([table], renames)[table]
    return max((removed[name] for name in names if name in removed), default=0)


def _groups(
    tables: Iterable[TableName], renames: Iterable[Rename]
) -> Mapping[TableName, frozenset[TableName]]:
    """Each name with all those that statements ever exchanged it for."""
    groups = {name: frozenset({name}) for name in tables}
    for rename in renames:
        group = frozenset({rename.old, rename.new})
        group = group.union(*(groups.get(name, ()) for name in group))
        groups |= dict.fromkeys(group, group)
    return groups


def missing_in(base: TableSchema, wanted: TableSchema) -> str:
    """What a target of ``wanted`` needs of its rows that a base does not tell; empty if nothing.

    Both have the same columns of the source.
    """
    if base.mode is not wanted.mode and TargetMode.APPEND in (base.mode, wanted.mode):
        return f"it has mode {base.mode}, whose rows are not those of mode {wanted.mode}"
    column = unreadable_in(base, wanted)
    return "" if column is None else f"it does not have the values of column {column}"


def unreadable_in(base: TableSchema, wanted: TableSchema) -> ColumnName | None:
    """A column that ``wanted`` shows and ``base`` does not, by their rules; None where it has all.

    Both have the same columns of the source.
    """
    for column in wanted.names:
        if wanted.target_name(column) is None or wanted.rules.mask(column) is Mask.REDACT:
            continue
        is_there = base.target_name(column) is not None
        if not is_there or base.rules.mask(column) not in (None, wanted.rules.mask(column)):
            return column
    return None
