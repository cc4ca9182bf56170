"""Schema changes as Canal and TiCDC tell them: by the text of a statement alone."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.model.position import Position
from tidemark.runs.ddl.column_changes import ColumnChange, aliased, column_rename_of
from tidemark.runs.ddl.effects import Created, DdlEffects
from tidemark.schema.ddl_operations import (
    AlterColumns,
    CreateTable,
    CutOver,
    DdlOperation,
    TruncateTable,
)


def add_by_text(
    effects: DdlEffects, operations: Sequence[DdlOperation], position: Position
) -> None:
    """Add what the statements of one record do.

    Of a table that is made like another one, or from a query, records alone tell the columns.
    """
    for operation in operations:
        if effects.is_void(operation):
            continue
        effects.follow(operation, position)
        match operation:
            case CreateTable(table, columns, key):
                effects.types[table] = {c.name: c.type_text for c in columns}
                effects.keys[table] = key
                effects.created[table] = Created(position, dict(effects.types[table]), key)
            case AlterColumns() | CutOver():
                _add_altered(effects, operation, position)
            case TruncateTable(table):
                effects.truncated.setdefault(table, []).append(position)


def _add_altered(
    effects: DdlEffects, operation: AlterColumns | CutOver, position: Position
) -> None:
    """Types that DDL told move with their columns."""
    table, items = operation.table, operation.items
    effects.column_rename(table, column_rename_of(operation, position, str))
    known = effects.types.get(table, {})
    moved = {new: known.pop(aliased(known, old), None) for old, new in items.renamed}
    for name in items.dropped:
        known.pop(aliased(known, name), None)
    known |= {new: text for new, text in moved.items() if text is not None}
    if table in effects.keys:
        names = {old.lower(): new for old, new in items.renamed}
        effects.keys[table] = tuple(names.get(n.lower(), n) for n in effects.keys[table])
    if items.added:
        there = {name.lower() for name in known}
        known |= {
            column.name: column.type_text
            for column in items.added
            if column.name not in items.optional or column.name.lower() not in there
        }
        effects.types[table] = known
    fills = items.fills_nulls
    changed = effects.changed.setdefault(table, []) if items.changed or fills else []
    for column in items.changed:
        was = known.get(column.name)
        changed.append(
            ColumnChange(
                *(column.name, column.type_text, was, operation.statement, position),
                fills_nulls=column.name in fills,
                numbers_rows=column.numbers_rows,
            )
        )
        if column.name in known:
            known[column.name] = column.type_text
    declared = {column.name for column in items.changed}
    changed += (
        ColumnChange(name, None, None, operation.statement, position, fills_nulls=True)
        for name in sorted(fills - declared)
    )
