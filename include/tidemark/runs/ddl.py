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
from tidemark.model.position import Position, place_of
from tidemark.model.shift import Shift
from tidemark.runs.ddl_effects import ColumnChange, ColumnShift, DdlEffects, DdlRecord, spelled
from tidemark.schema.ddl import (
    AlterColumns,
    CopyTable,
    CreateTable,
    DdlOperation,
    DropTable,
    TruncateTable,
    Unsupported,
    parse_ddl,
)
from tidemark.schema.source_types import table_change_columns
from tidemark.spec import SourceSpec

NOT_SNAPSHOT = (None, False, "false")


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
    written = source.written_names.written
    known: set[tuple[object, ...]] = set()
    for record in records:
        content = json.loads(record.text)
        identity = _identity(record, content)
        if identity in known:
            continue
        known.add(identity)
        if not source.format.is_canal:
            _add_debezium(effects, content, record.position, columns_of, written)
        elif content.get("isDdl"):
            _add_statement(effects, str(content["sql"]), record)
        else:
            _stop_at_rows_as_text(effects, content, record)
    return effects


def _identity(record: DdlRecord, content: Mapping[str, Any]) -> tuple[object, ...]:
    """What copies of one statement share; several stand at one place (MSG-23, SCHEMA-25)."""
    body = content.get("payload", content)
    tables = tuple(map(_quoted_name, body.get("tableChanges") or ()))
    statement = body.get("ddl") or body.get("sql")
    place = place_of(record.position) or record.position
    return (place, record.schema, str(body.get("table")), str(statement), tables)


def _add_statement(effects: DdlEffects, statement: str, record: DdlRecord) -> None:
    for operation in parse_ddl(statement, record.schema):
        match operation:
            case DropTable(table):
                effects.dropped[table] = record.position
            case CreateTable(table, columns, key):
                effects.make(table)
                effects.types[table] = {c.name: c.type_text for c in columns}
                effects.keys[table] = key
            case CopyTable(table, text):
                effects.make(table)
                why = "its columns are those of another table or query"
                effects.stops[table] = f"{why}: {text} (at position {record.position})"
            case AlterColumns():
                _add_altered(effects, operation, record.position)
            case TruncateTable(table):
                effects.truncated.setdefault(table, []).append(record.position)
            case Unsupported(table, text, why):
                effects.stops[table] = f"{why}: {text} (at position {record.position})"


def _add_altered(effects: DdlEffects, operation: AlterColumns, position: Position) -> None:
    """Types that DDL told move with their columns."""
    table, items = operation.table, operation.items
    _add_shift(effects, operation, position, str)
    known = effects.types.get(table, {})
    moved = {new: known.pop(spelled(known, old), None) for old, new in items.renamed}
    for name in items.dropped:
        known.pop(spelled(known, name), None)
    known |= {new: text for new, text in moved.items() if text is not None}
    if table in effects.keys:
        names = {old.lower(): new for old, new in items.renamed}
        effects.keys[table] = tuple(names.get(n.lower(), n) for n in effects.keys[table])
    if items.added:
        known |= {column.name: column.type_text for column in items.added}
        effects.types[table] = known
    changed = effects.changed.setdefault(table, []) if items.changed else []
    for column in items.changed:
        was = known.get(column.name)
        changed.append(
            ColumnChange(column.name, column.type_text, was, operation.statement, position)
        )
        if column.name in known:
            known[column.name] = column.type_text


def _add_shift(
    effects: DdlEffects,
    operation: AlterColumns,
    position: Position,
    written: Callable[[str], str],
) -> None:
    """written: a column's name -> as records have it (MSG-20)."""

    def named(name: ColumnName) -> ColumnName:
        return ColumnName(written(name))

    items = operation.items
    shift = Shift(
        position,
        tuple((named(old), named(new)) for old, new in items.renamed),
        tuple(map(named, items.dropped)),
        tuple(named(column.name) for column in items.added),
    )
    if not (shift.renamed or shift.dropped or shift.added):
        return
    fills = {named(column.name): column.fill for column in items.added if column.fill is not None}
    optional = frozenset(map(named, items.optional))
    effects.shifts.setdefault(operation.table, []).append(
        ColumnShift(shift, fills, optional, operation.statement)
    )


def _stop_at_rows_as_text(
    effects: DdlEffects, content: Mapping[str, Any], record: DdlRecord
) -> None:
    """A change of rows as the text of a statement (MSG-40), which says nothing about any row.

    The text holds values, so it is not repeated (MSG-7). A table whose name is unfit has no target.
    """
    try:
        table = TableName(record.schema, str(content["table"]))
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
    written: Callable[[str], str],
) -> None:
    """A schema-change record; those of a snapshot describe the start and drop nothing (MSG-24)."""
    body = content.get("payload", content) if "source" not in content else content
    is_snapshot = body["source"].get("snapshot") not in NOT_SNAPSHOT
    states = _States(dict(effects.schemas), written)
    for change in body.get("tableChanges") or ():
        name = _quoted_name(change)
        if name is None:
            effects.stops[None] = f"a schema change names no table (at position {position})"
            continue
        table = _table_of(name)
        if table is not None and change.get("table") is not None:
            try:
                states.told[table] = columns_of(change["table"])
            except TableStoppedError as error:
                effects.stops[table] = error.what
            states.concerned.append(table)
    effects.schemas |= states.told
    if is_snapshot:
        return
    statements, schema = str(body.get("ddl") or ""), str(body.get("databaseName") or "")
    for operation in parse_ddl(statements, schema):
        _add_operation(effects, operation, position, states)


@dataclass(frozen=True, slots=True)
class _States:
    """What one record tells of its tables.

    before: their states before it. written: a column's name -> as records have it. told: their
    states after it. concerned: every table that it names.
    """

    before: Mapping[TableName, TableSchema]
    written: Callable[[str], str]
    told: dict[TableName, TableSchema] = field(default_factory=dict)
    concerned: list[TableName | None] = field(default_factory=list)


def _add_operation(
    effects: DdlEffects, operation: DdlOperation, position: Position, states: _States
) -> None:
    match operation:
        case DropTable(table):
            effects.dropped[table] = position
        case CreateTable(table) | CopyTable(table):
            effects.make(table)
            if table in states.told:
                effects.schemas[table] = states.told[table]
        case AlterColumns(table, items):
            _add_shift(effects, operation, position, states.written)
            if items.changed:
                before = states.before.get(table)
                _add_changed(effects, operation, before, position, states.written)
        case Unsupported(table, statement, why):
            for concerned in [table] if table else states.concerned or [None]:
                effects.stops[concerned] = f"{why}: {statement}"


def _add_changed(
    effects: DdlEffects,
    operation: AlterColumns,
    before: TableSchema | None,
    position: Position,
    written: Callable[[str], str],
) -> None:
    """What a changed column is now, the table's new state says."""
    now = effects.schemas.get(operation.table)
    if now is None:
        why = f"nothing tells its columns after: {operation.statement}"
        effects.stops.setdefault(operation.table, why)
        return
    names = {written(old): written(new) for old, new in operation.items.renamed}
    had = {names.get(c.name, c.name): c.source_type for c in before.columns} if before else {}
    effects.changed.setdefault(operation.table, []).extend(
        ColumnChange(
            column.name, column.source_type, had.get(column.name), operation.statement, position
        )
        for column in now.columns
        if had.get(column.name) != column.source_type
    )


def _quoted_name(change: Any) -> str | None:
    """``tableChanges[].id``; None where there is none."""
    name = change.get("id") if isinstance(change, dict) else None
    return name if isinstance(name, str) else None


def _table_of(quoted: str) -> TableName | None:
    """The table in ``"schema"."table"``; None when the name is unfit and so cannot be mapped."""
    parts = [part.strip('"') for part in quoted.split('"."')]
    try:
        return TableName(*parts[-2:])
    except (NameRefusedError, TypeError):
        return None
