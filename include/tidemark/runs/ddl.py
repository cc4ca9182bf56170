"""What the schema changes of a cut mean for its tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.errors import NameRefusedError, TableStoppedError
from tidemark.model.columns import TableSchema
from tidemark.model.event import Kind
from tidemark.model.modes import ConnectorModes
from tidemark.model.names import ColumnName, TableName
from tidemark.model.position import Position
from tidemark.schema.ddl import (
    AddColumns,
    ChangeColumns,
    CreateTable,
    TruncateTable,
    Unsupported,
    parse_ddl,
)
from tidemark.schema.source_types import table_change_columns
from tidemark.spec import SourceSpec

NOT_SNAPSHOT = (None, False, "false")


@dataclass(frozen=True, slots=True)
class DdlRecord:
    """One schema change as it was landed; text: its value as JSON."""

    position: Position
    schema: str
    text: str


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column as a statement declares it anew; was: what an earlier one of the cut declared."""

    name: ColumnName
    type_text: str
    was: str | None
    statement: str
    position: Position


@dataclass
class DdlEffects:
    """Schema changes, added up in position order.

    types: table -> column -> type text of Canal's and TiCDC's DDL. keys: table -> key columns of
    its DDL. joined: table -> column -> where it was added to the table, last. changed: table ->
    its columns that were declared anew, each time, in position order.
    schemas: table -> its state after Debezium's newest change. dropped: table -> columns that a
    change took away. truncated: table -> newest truncate. stops: table -> why it cannot go on; a
    table of None concerns the whole source.
    """

    types: dict[TableName, dict[str, str]] = field(default_factory=dict)
    keys: dict[TableName, tuple[ColumnName, ...]] = field(default_factory=dict)
    joined: dict[TableName, dict[ColumnName, Position]] = field(default_factory=dict)
    changed: dict[TableName, list[ColumnChange]] = field(default_factory=dict)
    schemas: dict[TableName, TableSchema] = field(default_factory=dict)
    truncated: dict[TableName, Position] = field(default_factory=dict)
    stops: dict[TableName | None, str] = field(default_factory=dict)

    @property
    def tables(self) -> tuple[TableName, ...]:
        """Every table that something happened to."""
        named = {*self.types, *self.changed, *self.schemas, *self.truncated, *self.stops}
        return tuple(sorted(table for table in named if table is not None))


def collect_ddl(events: DataFrame, text: Column) -> tuple[DdlRecord, ...]:
    """The schema changes among ``events`` (changelog rows), each once, in position order.

    text: their value as JSON.
    """
    rows = (
        events.where(F.col("kind") == Kind.DDL.value)
        .select("position", "source_schema", text.alias("text"))
        .collect()
    )
    records = {
        (row["position"], row["text"]): DdlRecord(
            row["position"], row["source_schema"] or "", row["text"]
        )
        for row in rows
    }
    return tuple(record for _, record in sorted(records.items()))


def add_up(source: SourceSpec, records: Sequence[DdlRecord], modes: ConnectorModes) -> DdlEffects:
    """The effect of ``records``, which are in position order."""
    effects = DdlEffects()
    columns_of = partial(table_change_columns, modes=modes, names=source.written_names)
    for record in records:
        content = json.loads(record.text)
        if not source.format.is_canal:
            _add_debezium(effects, content, record.position, columns_of)
        elif content.get("isDdl"):
            _add_statement(effects, content["sql"], record)
        else:
            _stop_at_rows_as_text(effects, content, record)
    return effects


def _add_statement(effects: DdlEffects, statement: str, record: DdlRecord) -> None:
    for operation in parse_ddl(statement, record.schema):
        match operation:
            case CreateTable(table, columns, key):
                effects.types[table] = {c.name: c.type_text for c in columns}
                effects.keys[table] = key
            case AddColumns(table, columns):
                known = effects.types.setdefault(table, {})
                known.update({c.name: c.type_text for c in columns})
                joined = effects.joined.setdefault(table, {})
                joined.update({c.name: record.position for c in columns})
            case ChangeColumns(table, columns, text):
                known = effects.types.get(table, {})
                changed = effects.changed.setdefault(table, [])
                for name, type_text in columns:
                    was = known.get(name)
                    changed.append(ColumnChange(name, type_text, was, text, record.position))
                known.update({name: text for name, text in columns if name in known})
            case TruncateTable(table):
                effects.truncated[table] = record.position
            case Unsupported(table, text, why):
                effects.stops[table] = f"{why}: {text} (at position {record.position})"


def _stop_at_rows_as_text(
    effects: DdlEffects, content: Mapping[str, Any], record: DdlRecord
) -> None:
    """A change of rows as the text of a statement (MSG-40), which says nothing about any row.

    The text holds values, so it is not repeated (MSG-7). A table whose name is unfit has no target.
    """
    try:
        table = TableName(record.schema, content["table"])
    except NameRefusedError:
        return
    effects.stops[table] = (
        f"an {content['type']} came as the text of a statement, so nobody can say which rows it "
        f"changed (STATEMENT_DML, at position {record.position}); binlog_format must be ROW"
    )


def _add_debezium(
    effects: DdlEffects,
    content: Mapping[str, Any],
    position: Position,
    columns_of: Callable[[Mapping[str, Any]], TableSchema],
) -> None:
    """A schema-change record; those of a snapshot describe the start and drop nothing (MSG-24)."""
    body = content.get("payload", content) if "source" not in content else content
    is_snapshot = body["source"].get("snapshot") not in NOT_SNAPSHOT
    changed: list[TableName | None] = []
    before = dict(effects.schemas)
    for change in body.get("tableChanges") or ():
        table = _table_of(change["id"])
        if table is not None and change.get("table") is not None:
            try:
                effects.schemas[table] = columns_of(change["table"])
            except TableStoppedError as error:
                effects.stops[table] = error.what
            changed.append(table)
    if is_snapshot:
        return
    for operation in parse_ddl(body.get("ddl") or "", body.get("databaseName") or ""):
        if isinstance(operation, ChangeColumns):
            _add_changed(effects, operation, before.get(operation.table), position)
        elif isinstance(operation, Unsupported):
            tables = [operation.table] if operation.table else changed or [None]
            for table in tables:
                effects.stops[table] = f"{operation.why}: {operation.statement}"


def _add_changed(
    effects: DdlEffects, operation: ChangeColumns, before: TableSchema | None, position: Position
) -> None:
    """What a changed column is now, the table's new state says."""
    now = effects.schemas.get(operation.table)
    if now is None:
        why = f"nothing tells its columns after: {operation.statement}"
        effects.stops.setdefault(operation.table, why)
        return
    had = {column.name: column.source_type for column in before.columns} if before else {}
    effects.changed.setdefault(operation.table, []).extend(
        ColumnChange(
            column.name, column.source_type, had.get(column.name), operation.statement, position
        )
        for column in now.columns
        if had.get(column.name) != column.source_type
    )


def _table_of(quoted: str) -> TableName | None:
    """The table in ``"schema"."table"``; None when the name is unfit and so cannot be mapped."""
    parts = [part.strip('"') for part in quoted.split('"."')]
    try:
        return TableName(*parts[-2:])
    except (NameRefusedError, TypeError):
        return None
