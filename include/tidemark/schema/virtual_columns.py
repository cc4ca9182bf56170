"""Virtual generated columns, whose values are in the records of some sources alone (MSG-53)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tidemark.schema.alter_items import COMPUTED
from tidemark.schema.ddl_columns import ColumnText
from tidemark.schema.ddl_operations import (
    AlterColumns,
    CreateTable,
    DdlOperation,
    NoEffect,
    Unsupported,
)


def without_virtual(operations: Iterable[DdlOperation]) -> Iterator[DdlOperation]:
    """``operations`` of a source whose records have no virtual columns: it has none.

    A statement that renames a column does not say whether that is one. All others are in the
    records, so that a column which is not there is one.
    """
    for operation in operations:
        match operation:
            case CreateTable(_, columns, _):
                yield replace(operation, columns=tuple(_stored(columns)))
            case AlterColumns():
                yield _altered(operation)
            case _:
                yield operation


def with_virtual(operations: Iterable[DdlOperation]) -> Iterator[DdlOperation]:
    """``operations`` of a source whose records have them: older rows get values without events."""
    for operation in operations:
        changed = operation.items.changed if isinstance(operation, AlterColumns) else []
        virtual = next((column.name for column in changed if column.is_virtual), None)
        if isinstance(operation, AlterColumns) and virtual is not None:
            why = COMPUTED.format(virtual)
            yield Unsupported(operation.table, operation.statement, why)
        else:
            yield operation


def _altered(operation: AlterColumns) -> DdlOperation:
    items = operation.items
    virtual = {column.name for column in (*items.added, *items.changed) if column.is_virtual}
    declared = {column.name for column in items.changed}
    left = replace(
        items,
        added=_stored(items.added),
        changed=_stored(items.changed),
        renamed=[(old, new) for old, new in items.renamed if new not in virtual],
        optional=items.optional - virtual,
        if_present=items.if_present | {old for old, new in items.renamed if new not in declared},
    )
    return replace(operation, items=left) if left.has_changes else NoEffect("virtual columns")


def _stored(columns: Iterable[ColumnText]) -> list[ColumnText]:
    return [column for column in columns if not column.is_virtual]
