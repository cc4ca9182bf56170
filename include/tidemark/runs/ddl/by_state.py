"""Schema changes as Debezium tells them: a statement, and its tables as they are after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tidemark.errors import NameRefusedError, TableStoppedError
from tidemark.model.columns import TableSchema
from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.runs.ddl.column_changes import ColumnChange, column_rename_of
from tidemark.runs.ddl.effects import Created, DdlEffects
from tidemark.schema.ddl_operations import (
    AlterColumns,
    CopyTable,
    CreateTable,
    CutOver,
    DdlOperation,
    RenameTable,
)

NOT_SNAPSHOT = (None, False, "false")
YEAR_10000 = 253_402_300_800_000
"""In milliseconds since 1970."""
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')


@dataclass(frozen=True, slots=True)
class States:
    """How the states of tables are read.

    columns_of: a table of a record -> its columns. written: a column's name -> as records have it
    (MSG-20).
    """

    columns_of: Callable[[Mapping[str, Any]], TableSchema]
    written: Callable[[str], str]


def add_by_state(
    effects: DdlEffects,
    body: Mapping[str, Any],
    operations: Sequence[DdlOperation],
    position: Position,
    states: States,
) -> None:
    """Add what the record ``body`` tells of its tables, and what its statements do."""
    before = dict(effects.schemas)
    if None in named_tables(body):
        effects.stop(None, "a schema change names no table", position, may_be_acknowledged=False)
    schemas, unreadable = _schemas_of(body, states)
    if is_description(body):
        effects.described |= {t: _created(columns, position) for t, columns in schemas.items()}
    names = {rename.old: rename.new for rename in operations if isinstance(rename, RenameTable)}
    unmoved = schemas.keys() - set(names.values())
    effects.schemas |= {table: schemas[table] for table in unmoved}
    effects.stated_at |= dict.fromkeys(unmoved, position)
    for operation in operations:
        if effects.is_void(operation):
            continue
        if isinstance(operation, RenameTable):
            effects.rename(operation, position, schemas.get(operation.new))
            continue
        effects.follow(operation, position)
        match operation:
            case CreateTable(table) | CopyTable(table) if table in schemas:
                effects.schemas[table] = schemas[table]
                effects.created[table] = _created(schemas[table], position)
            case AlterColumns() | CutOver():
                is_alter = isinstance(operation, AlterColumns)  # No cut-over tells when its was.
                made_at = _second_of(body) if is_alter else None
                table = operation.table
                # ALTER TABLE .. RENAME: what the table is now stands under its new name (MSG-23).
                now = schemas.get(names.get(table, table), effects.schemas.get(table))
                of_table = before.get(table), now
                _add_altered(effects, operation, of_table, position, states, made_at)
    for table, why in unreadable.items():
        effects.stop(table, why, position, may_be_acknowledged=False)


def _schemas_of(
    body: Mapping[str, Any], states: States
) -> tuple[dict[TableName, TableSchema], dict[TableName, str]]:
    """The tables as they are behind the statement, and why states of others cannot be read."""
    schemas: dict[TableName, TableSchema] = {}
    unreadable: dict[TableName, str] = {}
    for table, state in _states(body):
        try:
            schemas[table] = states.columns_of(state)
        except TableStoppedError as error:
            unreadable[table] = error.what
    return schemas, unreadable


def is_description(body: Mapping[str, Any]) -> bool:
    """Whether a snapshot tells of its tables as it finds them (MSG-24).

    A marked statement knows no server (MSG-12), but that of a connector that died in a snapshot.
    """
    source = body["source"]
    return source.get("snapshot") not in NOT_SNAPSHOT and not source.get("server_id")


def _created(state: TableSchema, position: Position) -> Created:
    types = {str(column.name): column.source_type for column in state.columns}
    return Created(position, types, state.key)


def _second_of(body: Mapping[str, Any]) -> str | None:
    """When the statement began, in UTC, as the binlog has it; None where the record has it not."""
    source = body.get("source")
    millis = source.get("ts_ms") if isinstance(source, dict) else None
    if not isinstance(millis, int) or not 0 < millis < YEAR_10000:
        return None
    return f"{datetime.fromtimestamp(millis // 1000, UTC):%Y-%m-%d %H:%M:%S}"


def _add_altered(  # noqa: PLR0913  a statement, and all that tells of it
    effects: DdlEffects,
    operation: AlterColumns | CutOver,
    schemas: tuple[TableSchema | None, TableSchema | None],
    position: Position,
    states: States,
    made_at: str | None,
) -> None:
    """What a changed column is now, the table's new state says; schemas: before and after."""
    table, written = operation.table, states.written
    effects.column_rename(table, column_rename_of(operation, position, written, made_at))
    if not (operation.items.changed or operation.items.fills_nulls):
        return
    before, now = schemas
    if now is None:
        why = f"its columns are unknown after: {operation.statement}"
        effects.stop(table, why, position, may_be_acknowledged=False)
        return
    names = {written(old).lower(): written(new) for old, new in operation.items.renamed}
    gone = {written(name).lower() for name in operation.items.dropped}
    had = {
        names.get(column.name.lower(), column.name): column.source_type
        for column in (before.columns if before else ())
        if column.name.lower() not in gone
    }
    joined = {written(column.name) for column in operation.items.added}
    filled = {written(name).lower() for name in operation.items.fills_nulls}
    numbered = {written(c.name).lower() for c in operation.items.changed if c.numbers_rows}
    effects.changed.setdefault(table, []).extend(
        ColumnChange(
            *(column.name, column.source_type, had.get(column.name), operation.statement, position),
            fills_nulls=column.name.lower() in filled,
            numbers_rows=column.name.lower() in numbered,
        )
        for column in now.columns
        if (column.name not in joined and had.get(column.name) != column.source_type)
        or column.name.lower() in filled
    )


def named_tables(body: Mapping[str, Any]) -> tuple[str | None, ...]:
    """``tableChanges[].id``, the quoted names of tables; None where there is none."""
    return tuple(map(_quoted_name, body.get("tableChanges") or ()))


def concerned_by(body: Mapping[str, Any]) -> tuple[TableName, ...]:
    """The tables whose states ``body`` tells."""
    return tuple(table for table, _ in _states(body))


def _states(body: Mapping[str, Any]) -> Iterator[tuple[TableName, Mapping[str, Any]]]:
    for change in body.get("tableChanges") or ():
        name = _quoted_name(change)
        table = None if name is None else _table_of(name)
        if table is not None and change.get("table") is not None:
            yield table, change["table"]


def _quoted_name(change: Any) -> str | None:
    name = change.get("id") if isinstance(change, dict) else None
    return name if isinstance(name, str) else None


def _table_of(quoted: str) -> TableName | None:
    """The table in ``"schema"."table"``; None when the name is invalid and so cannot be mapped.

    Of a table that was renamed both names may be there, the new one last (MSG-23).
    """
    parts = [part.replace('""', '"') for part in _QUOTED.findall(quoted)]
    try:
        return TableName(*parts[-2:])
    except (NameRefusedError, TypeError):
        return None
