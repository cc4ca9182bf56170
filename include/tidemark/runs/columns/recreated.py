"""A table that was dropped and recreated: which columns of the dropped one stay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidemark.model.column_rename import ColumnRename
from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.position import Position
from tidemark.runs.columns.changes import declared_column
from tidemark.runs.ddl.column_changes import StatementChange
from tidemark.runs.ddl.effects import Created
from tidemark.schema.changes import is_widening
from tidemark.spec import SourceSpec, TableSpec


def recreation_of(
    source: SourceSpec,
    spec: TableSpec,
    have: TableSchema,
    created: Created,
    dropped_at: Position,
) -> StatementChange:
    """What turns the columns of ``have`` into those of the new table, as one statement (SCHEMA-18).

    Rows of the one end at the DROP, and those of the other may begin before the statement that
    made it, if it was made from a query. A column of the same name, and of a type that Iceberg can
    promote, stays what it is; any other one goes, or joins.
    """
    new = [declared_column(source, name, text) for name, text in created.types.items()]
    return recreation(spec, have, new, dropped_at)


def recreation(
    spec: TableSpec, have: TableSchema, columns: Iterable[SourceColumn], begins_at: Position
) -> StatementChange:
    """As `recreation_of`; columns: of the new table, whose rows begin at ``begins_at``."""
    new = {column.name.lower(): column for column in columns}
    stays = {
        column.name.lower()
        for column in have.columns
        if column.name.lower() in new and _is_same(column, new[column.name.lower()])
    }
    column_rename = ColumnRename(
        begins_at,
        (),
        tuple(column.name for column in have.columns if column.name.lower() not in stays),
        tuple(column.name for name, column in new.items() if name not in stays),
    )
    return StatementChange(column_rename, {}, frozenset(), f"CREATE TABLE {spec.source}")


def begun_over(
    spec: TableSpec,
    have: TableSchema,
    created: Created,
    recreation: StatementChange,
    dropped_at: Position,
) -> TableSchema:
    """``have`` as the new table finds it: no row is left that another key would have to tell apart.

    recreation: what becomes of its columns.
    """
    has_same_names = {n.lower() for n in created.key} == {n.lower() for n in have.key}
    is_same_key = has_same_names and not {*recreation.column_rename.dropped} & {*have.key}
    if spec.key or is_same_key:
        return have
    return replace(have, key=(), key_changed_at=dropped_at, former_key=have.key)


def _is_same(old: SourceColumn, new: SourceColumn) -> bool:
    if old.source_type == new.source_type:
        return True
    stays = old.iceberg == new.iceberg or is_widening(old.iceberg, new.iceberg)
    return stays and not (old.labels or new.labels) and old.bits == new.bits
