"""What the schema changes of a cut mean for its tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.errors import NameRefusedError
from tidemark.model.event import Kind
from tidemark.model.names import TableName, TopicName
from tidemark.model.position import Position, event_id_of, place_of
from tidemark.model.reduction import EVENT_ID
from tidemark.model.renames import Renames
from tidemark.runs.ddl.by_state import (
    States,
    add_by_state,
    concerned_by,
    is_description,
    named_tables,
)
from tidemark.runs.ddl.by_text import add_by_text
from tidemark.runs.ddl.effects import DdlEffects, DdlRecord, presence_unknown
from tidemark.schema.ddl_operations import (
    AlterColumns,
    BeginCutOver,
    DdlOperation,
    DropDatabase,
    Unsupported,
    tables_of,
)
from tidemark.schema.postgres_statements import message_operations, message_statement
from tidemark.schema.session_schemas import FollowedNames, parse_in_session
from tidemark.schema.shadow_tables import Shadows
from tidemark.schema.source_types import table_change_columns
from tidemark.schema.virtual_columns import with_virtual, without_virtual
from tidemark.spec import SourceFormat, SourceSpec

UNNAMED = Renames()
_DESCRIBING = frozenset({"DROP", "CREATE"})


def collect_ddl(events: DataFrame, text: Column) -> tuple[DdlRecord, ...]:
    """The schema changes among ``events`` (changelog rows), each once, in position order.

    text: their value as JSON.
    """
    rows = (
        events.where(F.col("kind") == Kind.DDL.value)
        .select("position", "source_schema", text.alias("text"), "topic")
        .collect()
    )
    records = {
        (row["position"], row["text"], row["topic"]): DdlRecord(
            row["position"], row["source_schema"] or "", row["text"], TopicName(row["topic"])
        )
        for row in rows
    }
    return tuple(record for _, record in sorted(records.items()))


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement at the source: its text, and the tables that it names, or that it made others."""

    text: str
    tables: frozenset[TableName]


def read_statement(
    source: SourceSpec, record: DdlRecord, followed: FollowedNames
) -> Statement | None:
    """What ``record`` tells; None where it describes a table, or holds values of rows (MSG-7)."""
    content = json.loads(record.text)
    body = _body(content)
    if source.format.is_canal:
        text = str(content.get("sql") or "") if content.get("isDdl") else ""
    elif source.format is SourceFormat.DEBEZIUM_POSTGRES:
        text = message_statement(body["message"].get("content"))
    else:
        text = "" if is_description(body) else str(body.get("ddl") or "")
    if not text:
        return None
    operations = _operations(source, record, content, followed)
    tables = {table for operation in operations for table in tables_of(operation)}
    dropped = {operation.name for operation in operations if isinstance(operation, DropDatabase)}
    tables |= {table for table in followed.tables if table.schema in dropped}
    return Statement(text.strip(), frozenset((*tables, *concerned_by(body))))


def half_described(records: Iterable[DdlRecord]) -> frozenset[str]:
    """The events at which ``records`` drop or create a table, and do not do both (MSG-24).

    Another cut may have the other half of a description, as a copy that came again has.
    """
    statements = ((record, json.loads(record.text)) for record in records)
    return frozenset(
        event
        for (event, _), kinds in _kinds_at(statements).items()
        if len(_DESCRIBING & kinds.keys()) == 1
    )


def stands_at(events: Collection[str]) -> Column:
    """Whether a record stands at one of ``events``, of which there is at least one.

    A position begins with its event, so files that have none of them are not read.
    """
    in_range = F.col("position").between(min(events), f"{max(events)}~")
    return in_range & F.expr(EVENT_ID).isin(*sorted(events))


def add_up(  # noqa: PLR0913  statements, and all that tells what they are about
    source: SourceSpec,
    records: Sequence[DdlRecord],
    before: Sequence[DdlRecord] = (),
    acknowledged: Collection[Position] = (),
    names: Renames = UNNAMED,
    was_there: Callable[[TableName], bool | None] = presence_unknown,
    tables: Collection[TableName] = (),
) -> DdlEffects:
    """The effect of ``records``.

    before: schema changes of earlier cuts, of which shadow tables alone are followed (SCHEMA-33),
    and which tables they left dropped (SCHEMA-18), and those that stand where one of ``records``
    does (MSG-24).
    acknowledged: positions of statements that a person takes for ones without effect (SCHEMA-26).
    names: former names of tables (SCHEMA-31). was_there: as in `DdlEffects`. tables: those that the
    pipeline follows.
    """
    former = (
        name for rename in (*names.declared, *names.done) for name in (rename.old, rename.new)
    )
    followed = FollowedNames({*tables, *former}, source.shadowed)
    rows_tell_columns = source.format is SourceFormat.CANAL_JSON
    effects = DdlEffects(names, was_there=was_there, rows_tell_columns=rows_tell_columns)
    shadows, states = Shadows(source.shadowed), _states_of(source)
    in_cut, without_effect = set(records), set(map(event_id_of, acknowledged))
    unfollowed = (Unsupported, BeginCutOver)
    place = ""
    statements = tuple(_each_once([*records, *before]))
    descriptions = _descriptions(statements)
    effects.described_at |= {event_id_of(record.position) for record in descriptions}
    for record, content in statements:
        if event_id_of(record.position) != place:
            effects.settle()
            place = event_id_of(record.position)
        parsed = () if record in descriptions else _operations(source, record, content, followed)
        operations = [part for operation in parsed for part in shadows.follow(operation)]
        if record not in in_cut:
            for operation in operations:
                effects.recall(operation, record.position)
            continue
        if event_id_of(record.position) in without_effect and any(
            isinstance(operation, unfollowed) or _gives_unknown_values(operation)
            for operation in operations
        ):
            operations = []
        if source.format.is_canal and place_of(record.position) is None:
            effects.came_by(record.topic, operations)
        if not source.format.has_table_states:
            add_by_text(effects, operations, record.position)
        else:
            add_by_state(effects, _body(content), operations, record.position, states)
    effects.settle()
    renamed = {(rename.old, rename.new) for rename in effects.renames}
    waits = (rename for rename in names.due if (rename.old, rename.new) not in renamed)
    effects.move({rename.old: rename.new for rename in waits})
    return replace(effects, unknown_shadows=frozenset(shadows.unknown))


def _descriptions(
    statements: Iterable[tuple[DdlRecord, Mapping[str, Any]]],
) -> frozenset[DdlRecord]:
    """The records by which a snapshot amid the stream describes a table that it reads (MSG-24).

    It drops and creates the table where it reads it, at one place, and has no mark. Statements that
    a server logged stand at places of their own.
    """
    both = (kinds for kinds in _kinds_at(statements).values() if kinds.keys() >= _DESCRIBING)
    return frozenset(record for kinds in both for record in kinds.values())


def _kinds_at(
    statements: Iterable[tuple[DdlRecord, Mapping[str, Any]]],
) -> Mapping[tuple[str, str], Mapping[str, DdlRecord]]:
    """Event and table -> kind of change -> the record that has it."""
    by_table: dict[tuple[str, str], dict[str, DdlRecord]] = {}
    for record, content in statements:
        for change in _body(content).get("tableChanges") or ():
            table_change = change if isinstance(change, dict) else {}
            of = (event_id_of(record.position), str(table_change.get("id")))
            by_table.setdefault(of, {})[str(table_change.get("type"))] = record
    return by_table


def _states_of(source: SourceSpec) -> States:
    names, modes = source.written_names, source.modes.connector
    return States(partial(table_change_columns, modes=modes, names=names), names.written)


def _gives_unknown_values(operation: DdlOperation) -> bool:
    return isinstance(operation, AlterColumns) and operation.items.has_unknown


def _each_once(
    records: Iterable[DdlRecord],
) -> Iterator[tuple[DdlRecord, Mapping[str, Any]]]:
    """The records and what they hold, in position order, without copies."""
    known: set[tuple[object, ...]] = set()
    for record in sorted(
        set(records), key=lambda record: (record.position, record.text, record.topic)
    ):
        content = json.loads(record.text)
        identity = _identity(record, content)
        if identity not in known:
            known.add(identity)
            yield record, content


def _identity(record: DdlRecord, content: Mapping[str, Any]) -> tuple[object, ...]:
    """What copies of one statement share; several stand at one place (MSG-23, SCHEMA-25).

    An offset is a place in one topic.
    """
    body = _body(content)
    statement = body.get("ddl") or body.get("sql") or body.get("message")
    place: object = event_id_of(record.position)
    if place_of(record.position) is None:
        place = (place, record.topic)
    return (place, record.schema, str(body.get("table")), str(statement), named_tables(body))


def _body(content: Mapping[str, Any]) -> Mapping[str, Any]:
    body: Mapping[str, Any] = (
        content.get("payload", content) if "source" not in content else content
    )
    return body


def _operations(
    source: SourceSpec, record: DdlRecord, content: Mapping[str, Any], followed: FollowedNames
) -> Sequence[DdlOperation]:
    """What a record's statements do; those of a snapshot describe the start (MSG-24).

    What is not understood concerns the tables of which the record tells.
    """
    if source.format.is_canal:
        if not content.get("isDdl"):
            return _rows_as_text(record, content)
        parsed = parse_in_session(str(content["sql"]), record.schema, followed)
        if source.format is not SourceFormat.TICDC_CANAL_JSON:
            return tuple(with_virtual(parsed))
        return [_concerning(record, content, operation) for operation in without_virtual(parsed)]
    body = _body(content)
    if source.format is SourceFormat.DEBEZIUM_POSTGRES:
        return message_operations(body["message"].get("content"))
    if is_description(body):
        return ()
    text, schema = str(body.get("ddl") or ""), str(body.get("databaseName") or "")
    parsed = parse_in_session(text, schema, followed)
    operations: list[DdlOperation] = []
    for operation in with_virtual(parsed):
        if isinstance(operation, Unsupported) and operation.table is None:
            concerned = concerned_by(body) or (None,)
            operations += [replace(operation, table=table) for table in concerned]
        else:
            operations.append(operation)
    return operations


def _concerning(
    record: DdlRecord, content: Mapping[str, Any], operation: DdlOperation
) -> DdlOperation:
    """``operation``; where its text names no table, of the one that TiCDC names beside it.

    Not where it may be about another one, too, which stands in what is not understood.
    """
    if not isinstance(operation, Unsupported) or operation.table is not None:
        return operation
    if {"RENAME", "EXCHANGE", "DROP"} & set(operation.statement.upper().split()):
        return operation
    try:
        table = TableName(record.schema, str(content.get("table") or ""))
    except NameRefusedError:
        return operation
    return replace(operation, table=table)


def _rows_as_text(record: DdlRecord, content: Mapping[str, Any]) -> Sequence[DdlOperation]:
    """A change of rows as the text of a statement (MSG-40), which says nothing about any row.

    The text holds values, so it is not repeated (MSG-7). A table of an invalid name has no target.
    """
    why = (
        f"an {content['type']} came as the text of a statement, so nobody can say which rows it "
        "changed (STATEMENT_DML); binlog_format must be ROW"
    )
    try:
        return (Unsupported(TableName(record.schema, str(content["table"])), "", why),)
    except NameRefusedError:
        return ()
