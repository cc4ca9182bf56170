"""What statements tell of columns: those that are declared again, and what becomes of names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tidemark.model.column_rename import ColumnRename
from tidemark.model.names import ColumnName
from tidemark.model.position import Position
from tidemark.schema.ddl_columns import DefaultBackfill
from tidemark.schema.ddl_operations import AlterColumns, CutOver


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column as a statement declares it again; was: what an earlier one of the cut declared.

    type_text: None where its type stays as it is. fills_nulls: the source may have given a value to
    rows that had null in it; numbers_rows: or 0.
    """

    name: ColumnName
    type_text: str | None
    was: str | None
    statement: str
    position: Position
    fills_nulls: bool = False
    numbers_rows: bool = False


@dataclass(frozen=True, slots=True)
class StatementChange:
    """What a statement did to the names of columns, as it writes them.

    backfills: of those that joined, what the rows got that were there. optional: columns that
    joined unless they were there. had: the columns that the table must have had; None where any
    will do. types: of those that joined, the text of each type. if_present: columns that took
    another name if they were there.
    """

    column_rename: ColumnRename
    backfills: Mapping[ColumnName, DefaultBackfill]
    optional: frozenset[ColumnName]
    statement: str
    had: frozenset[ColumnName] | None = None
    types: Mapping[ColumnName, str] = field(default_factory=dict)
    if_present: frozenset[ColumnName] = frozenset()


def column_rename_of(
    operation: AlterColumns | CutOver,
    position: Position,
    written: Callable[[str], str],
    made_at: str | None = None,
) -> StatementChange:
    """What ``operation`` does to names; written: a column's name -> as records have it (MSG-20).

    made_at: the second in which the statement began, None where nothing tells it.
    """

    def named(name: ColumnName) -> ColumnName:
        return ColumnName(written(name))

    items, had = operation.items, None
    if isinstance(operation, CutOver) and operation.columns is not None:
        had = frozenset(map(named, operation.columns))
    column_rename = ColumnRename(
        position,
        tuple((named(old), named(new)) for old, new in items.renamed),
        tuple(map(named, items.dropped)),
        tuple(named(column.name) for column in items.added),
    )
    backfills = {
        named(column.name): fill._replace(text=made_at) if fill.is_now else fill
        for column in items.added
        if (fill := column.backfill) is not None
    }
    optional = frozenset(map(named, items.optional))
    types = {named(column.name): column.type_text for column in items.added}
    if_present = frozenset(map(named, items.if_present))
    return StatementChange(
        *(column_rename, backfills, optional, operation.statement, had, types, if_present)
    )


def aliased(names: Iterable[str], name: str) -> ColumnName:
    """``name`` as it stands in ``names``: a statement may write it in another case."""
    return ColumnName(next((known for known in names if known.lower() == name.lower()), name))
