"""Two schemas of a table to the changes that lead from one to the other (semantics 8.2).

Only what may be done before a cut is staged comes out: creation, added columns, and Iceberg's type
promotions. Anything else stops the table, as it would show on main before the cut is published.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from tidemark.errors import TableStoppedError
from tidemark.model.columns import SourceColumn, TableSchema

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_PROMOTIONS = {("int", "bigint"), ("float", "double")}


@dataclass(frozen=True, slots=True)
class CreateTarget:
    """The table does not exist yet."""

    schema: TableSchema


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A new optional column; rows that are there hold null in it."""

    column: SourceColumn


@dataclass(frozen=True, slots=True)
class WidenColumn:
    """A column takes a wider type, into which every value goes as it is."""

    column: SourceColumn
    was: str


SchemaChange = CreateTarget | AddColumn | WidenColumn


def is_widening(narrow: str, wide: str) -> bool:
    """Whether Iceberg promotes the type ``narrow`` to the other type ``wide``.

    >>> is_widening("decimal(10,2)", "decimal(12,2)"), is_widening("bigint", "int")
    (True, False)
    """
    if (narrow, wide) in _PROMOTIONS:
        return True
    before, after = _DECIMAL.fullmatch(narrow), _DECIMAL.fullmatch(wide)
    if before is None or after is None:
        return False
    return before[2] == after[2] and int(before[1]) < int(after[1])


def plan_changes(have: TableSchema | None, want: TableSchema) -> tuple[SchemaChange, ...]:
    """What turns ``have`` into ``want``, in source order; a column that only ``have`` has stays.

    Raises TableStoppedError for another key, another type that is no promotion, and names that
    differ in case alone.
    """
    _refuse_collisions(want if have is None else merge_schemas((have, want)))
    if have is None:
        return (CreateTarget(want),)
    present = {column.name: column.iceberg for column in have.columns}
    changes: list[SchemaChange] = []
    for column in want.columns:
        was = present.get(column.name)
        if was is None:
            changes.append(AddColumn(column))
        elif is_widening(was, column.iceberg):
            changes.append(WidenColumn(column, was))
    return tuple(changes)


def merge_schemas(versions: Sequence[TableSchema]) -> TableSchema:
    """Every column of ``versions``, oldest first; of two types of a column the wider one holds.

    A version without key takes the key of the others. Raises TableStoppedError where two versions
    do not fit into one table.
    """
    return reduce(_merge, versions)


def _merge(old: TableSchema, new: TableSchema) -> TableSchema:
    if old.key and new.key and old.key != new.key:
        raise _stopped(f"the key changed from {list(old.key)} to {list(new.key)}")
    columns = {column.name: column for column in old.columns}
    for column in new.columns:
        before = columns.get(column.name)
        if before is None or not is_widening(column.iceberg, before.iceberg):
            columns[column.name] = column if before is None else _newer(before, column)
    return TableSchema(tuple(columns.values()), new.key or old.key)


def _newer(before: SourceColumn, column: SourceColumn) -> SourceColumn:
    if before.iceberg != column.iceberg and not is_widening(before.iceberg, column.iceberg):
        raise _stopped(
            f"column {column.name} changed from {before.source_type} ({before.iceberg}) "
            f"to {column.source_type} ({column.iceberg}), which Iceberg cannot promote"
        )
    fewer, more = sorted((before, column), key=lambda known: len(known.labels))
    if more.labels[: len(fewer.labels)] != fewer.labels:
        raise _stopped(
            f"column {column.name} changed from {before.source_type} to {column.source_type}: "
            "labels were not only appended, so that numbers changed their meaning (SCHEMA-17)"
        )
    return more


def _refuse_collisions(schema: TableSchema) -> None:
    seen: dict[str, str] = {}
    for name in schema.names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise _stopped(
                f"the columns {other} and {name} differ in case alone (COLUMN_COLLISION)"
            )


def _stopped(what: str) -> TableStoppedError:
    return TableStoppedError(
        what,
        state="the table stays as it was last published; other tables go on",
        next_step="rebuild the target from a new snapshot of the source table",
    )
