"""The schema that a table's rows are read with, from all that tells about it (SCHEMA-1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.conditions import any_of
from tidemark.errors import (
    NOT_FOLDED,
    WAITING,
    RowsUnknownError,
    SchemaUnknownError,
    TableStoppedError,
)
from tidemark.formats.decoder import Decoder
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.column_rename import ColumnRename
from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.event import UNTOLD, Kind, Op
from tidemark.model.names import ColumnName, TableName, column_name
from tidemark.model.position import LAST, Place, Position
from tidemark.model.profile import ProfileEntry
from tidemark.runs.columns.changes import declared_column, follow_changes
from tidemark.runs.columns.modes import refuse_other_modes
from tidemark.runs.columns.names import Names, follow_names, refuse_unread_names
from tidemark.runs.columns.overrides import refuse_unreadable, unreadable_as
from tidemark.runs.columns.recreated import begun_over, recreation_of
from tidemark.runs.columns.snapshot_only import follow_streamed, refuse_snapshot_only
from tidemark.runs.columns.untyped import untold
from tidemark.runs.columns.variants import (
    ColumnsBySchema,
    is_before_rewrite,
    refuse_other_types,
    with_variants,
)
from tidemark.runs.columns.withheld import can_withhold
from tidemark.runs.ddl.column_changes import StatementChange
from tidemark.runs.ddl.effects import DdlEffects
from tidemark.schema.changes import merge_schemas
from tidemark.schema.connect_types import connect_columns, in_binary_mode, refine_known
from tidemark.schema.layouts import check_layout, check_rules
from tidemark.schema.overrides import overridden
from tidemark.schema.postgres_types import postgres_record_columns
from tidemark.schema.record_defaults import joined_defaults
from tidemark.schema.source_types import canal_column
from tidemark.schema.type_text import parse_type
from tidemark.spec import SourceFormat, SourceSpec, TableSpec

_Version = tuple[TableSchema, Position | None]
"""Columns, and the position of the record that tells them; None where statements do."""


def examples(
    events: DataFrame, profile_entries: Iterable[ProfileEntry], decoder: Decoder
) -> dict[TableName, tuple[RecordSchema, ...]]:
    """One record schema per table and ``schema_id`` of ``profile_entries``, newest last.

    The examples are named by partition and offset, so that only their payload is read.
    """
    newest: dict[tuple[tuple[str, str], int | None], ProfileEntry] = {}
    lowest: dict[tuple[tuple[str, str], int | None], Place] = {}
    streamed: dict[tuple[tuple[str, str], int | None], Place] = {}
    profile_entries = list(profile_entries)
    upserted = {
        (profile_entry.table, profile_entry.schema_id)
        for profile_entry in profile_entries
        if profile_entry.op is Op.UPSERT
    }
    for profile_entry in profile_entries:
        if profile_entry.table is None or profile_entry.schema_id == UNTOLD:
            continue
        if profile_entry.lowest_place is not None:
            alike = (profile_entry.table, profile_entry.schema_id)
            lowest[alike] = min(profile_entry.lowest_place, lowest.get(alike, Place(LAST)))
        if profile_entry.op is Op.UPSERT and profile_entry.streamed_from is not None:
            alike = (profile_entry.table, profile_entry.schema_id)
            streamed[alike] = min(profile_entry.streamed_from, streamed.get(alike, Place(LAST)))
        known = newest.get((profile_entry.table, profile_entry.schema_id))
        if known is None or (profile_entry.highest or "") > (known.highest or ""):
            newest[profile_entry.table, profile_entry.schema_id] = profile_entry
    if not newest:
        return {}
    wanted = (
        (F.col("topic") == profile_entry.at.topic)
        & (F.col("partition") == profile_entry.at.partition)
        & (F.col("offset") == profile_entry.newest_offset)
        for profile_entry in newest.values()
    )
    # What a replay has read stands beside the record as it was landed, which tells nothing.
    rows = (
        events.where((F.col("kind") == Kind.ROW.value) & any_of(wanted))
        .select("source_schema", "source_table", "schema_id", "position", "key", "value")
        .collect()
    )
    record_schemas: dict[TableName, tuple[RecordSchema, ...]] = {}
    for row in sorted(rows, key=lambda row: row["position"] or ""):  # Spark needs a job more to
        table = TableName(row["source_schema"], row["source_table"])
        key = bytes(row["key"]) if row["key"] is not None else None
        schema = decoder.record_schema(key, bytes(row["value"]))
        alike = ((table.schema, table.table), row["schema_id"])
        placed = replace(
            schema,
            position=row["position"],
            has_rows=alike in upserted,
            schema_id=row["schema_id"],
            begins_at=lowest.get(alike),
            streamed_from=streamed.get(alike),
        )
        record_schemas[table] = (*record_schemas.get(table, ()), placed)
    return record_schemas


def resolve(  # noqa: PLR0913  all that tells of a table
    source: SourceSpec,
    spec: TableSpec,
    have: TableSchema | None,
    effects: DdlEffects,
    records: Sequence[RecordSchema],
    *,
    is_empty: bool = False,
    reread: StatementChange | None = None,
) -> TableSchema:
    """The schema of one table at the cut.

    have: what the target was made from; is_empty: it has no row that another type might change.
    records: what examples of the cut's records tell. reread: what became of columns in the place of
    what statements did, where no row of before stays.
    `SchemaUnknownError` when nothing tells the columns, `TableStoppedError` when its key is not
    among them, or when it changed in a way that cannot be followed.
    """
    _refuse_flawed(spec, records)
    statements: Sequence[StatementChange] = effects.column_renames.get(spec.source, ())
    created = effects.recreated(spec, have)
    dropped_at = effects.dropped_at(spec.source, have.dropped_at if have else None)
    if reread is not None:
        statements = (reread,)
    elif have is not None and created is not None and dropped_at is not None:
        recreation = recreation_of(source, spec, have, created, dropped_at)
        statements = (recreation, *statements)
        have = begun_over(spec, have, created, recreation, dropped_at)
    names = follow_names(spec, have, statements, records, effects.keys_of(spec.source))
    remaining = names.remaining(have) if have is not None else None
    has_none = source.format is SourceFormat.TICDC_CANAL_JSON
    names = names.with_implied_moments(_moments(remaining), are_null=has_none)
    records = names.renamed(records)
    versions_of = _canal if source.format.is_canal else _debezium
    declared = _declared(source, spec)
    effects = effects.without_types(spec.source, names.void)
    versions, variants = versions_of(source, spec, remaining, effects, records, declared)
    changes = names.changed(effects.changed.get(spec.source, ()))
    followed = follow_changes(
        source, spec, remaining, [version for version, _ in versions], changes
    )
    newer = [followed.newer(version, at) for version, at in versions]
    known = [*([remaining] if remaining else []), *newer]
    if not declared and not any(version.columns for version in known):
        raise untold(source, spec.source, records)
    merged = merge_schemas(known) if known else TableSchema(())
    described = {field["field"] for record in records for field in record.fields}
    fixed = {name: column for name, column in declared.items() if name not in described}
    followed.refuse_stale(spec.source, fixed.values())
    now = followed.now if source.format.is_canal else followed.read
    columns = {column.name: now(column) for column in merged.columns}
    columns |= {name: followed.read(column) for name, column in fixed.items()}
    columns = with_variants(columns, remaining, variants, followed.columns)
    are_stated = source.format.is_canal or source.has_table_states
    if remaining is not None and not is_empty:
        followed.refuse_unstated(spec.source, remaining, columns if are_stated else fixed)
    followed.refuse_unstated_keys(spec.source, spec.key or merged.key, newer if is_empty else known)
    joined = {}
    if not (source.format.is_canal or source.topics.schema_changes):
        of_records = ((record.fields, record.begins_at) for record in records)
        joined = joined_defaults(remaining.names if remaining else (), of_records)
    columns |= _joined_by_message(source, columns.keys(), names, effects, records)
    may_withhold = can_withhold(source, spec)
    for name, column in columns.items():
        columns[name] = _backfilled(
            column, remaining, names, effects, joined, may_withhold=may_withhold
        )
    columns = followed.with_fills(columns)
    rules = spec.target_columns.rules
    columns = follow_streamed(source, columns, remaining, records, rules)
    key = spec.key or merged.key
    if any(name not in columns for name in key):
        raise TableStoppedError(
            f"the key of {spec.source} is not among its columns (key {list(key)}, columns "
            f"{list(columns)})",
            state=NOT_FOLDED,
            next_step=f"declare key: or columns: of {spec.source} in the pipeline file",
        )
    if spec.source in effects.made:
        dropped_at = None
    at = followed.changed_at if reread is None else reread.column_rename.position
    schema = TableSchema(
        *(tuple(columns.values()), key, at, (*names.column_renames, *_joins(joined)), dropped_at),
        *(spec.layout, rules, spec.mode),
    )
    if have is not None:
        schema = replace(schema, key_changed_at=have.key_changed_at, former_key=have.former_key)
    refuse_snapshot_only(spec, schema, may_withhold=may_withhold)
    check_rules(spec.source, schema)
    check_layout(spec.source, schema.in_target)
    return schema


def _backfilled(  # noqa: PLR0913  all that tells of older rows
    column: SourceColumn,
    remaining: TableSchema | None,
    names: Names,
    effects: DdlEffects,
    joined: Mapping[ColumnName, tuple[str, Place]],
    *,
    may_withhold: bool,
) -> SourceColumn:
    """``column`` with what rows hold in it that are older than it is (SCHEMA-14)."""
    if column.name in names.backfills:
        type_text = effects.type_of(names.table, column)
        return names.backfill(column, type_text, may_withhold=may_withhold)
    if remaining is not None and column.name in remaining.names:
        before = remaining[column.name]
        return replace(
            column,
            backfill=before.backfill,
            unknown_below=before.unknown_below,
            is_withheld=before.is_withheld,
            filled_below=before.filled_below,
            numbered_below=before.numbered_below,
        )
    if column.name in names.fills:
        return names.filled(column, may_withhold=may_withhold)
    return replace(column, backfill=joined[column.name][0]) if column.name in joined else column


def _moments(remaining: TableSchema | None) -> frozenset[ColumnName]:
    """The columns of type TIMESTAMP; remaining: the table's columns of before."""
    columns = remaining.columns if remaining is not None else ()
    types = ((column.name, parse_type(column.source_type)) for column in columns)
    return frozenset(name for name, known in types if known and known.base == "timestamp")


def _joins(joined: Mapping[ColumnName, tuple[str, Place]]) -> Iterator[ColumnRename]:
    """What added columns that records alone tell of, with their defaults, in position order."""
    for at in sorted({at for _, at in joined.values()}):
        names = tuple(name for name, (_, since) in joined.items() if since == at)
        yield ColumnRename(Position(at), added=names)


def _refuse_flawed(spec: TableSpec, records: Iterable[RecordSchema]) -> None:
    for record in records:
        if record.flaw:
            raise SchemaUnknownError(
                f"a record of {spec.source} cannot tell its columns: {record.flaw} (at position "
                f"{record.position})",
                state=NOT_FOLDED,
                next_step="find out who wrote it; fold the table into a new target from a new "
                "snapshot of the source, or take it out of the pipeline file",
            )


def _declared(source: SourceSpec, spec: TableSpec) -> dict[ColumnName, SourceColumn]:
    return {name: declared_column(source, name, text) for name, text in spec.columns.items()}


def schema_columns(source: SourceSpec, record: RecordSchema) -> tuple[SourceColumn, ...]:
    """The columns as the schema of ``record`` has them."""
    if source.format is SourceFormat.DEBEZIUM_POSTGRES:
        return postgres_record_columns(record.fields, source.modes.postgres)
    return connect_columns(record.fields, source.modes.connector)


def _debezium(  # noqa: PLR0913  all that tells of a table
    source: SourceSpec,
    spec: TableSpec,
    have: TableSchema | None,
    effects: DdlEffects,
    records: Sequence[RecordSchema],
    declared: Mapping[ColumnName, SourceColumn],
) -> tuple[list[_Version], ColumnsBySchema]:
    changed = effects.schemas.get(spec.source)
    if have is not None and changed is not None:
        _refuse_dropped(spec, have, changed)
    known = changed or have
    if known and source.topics.schema_changes and not spec.columns:
        refuse_unread_names(spec, known.names, records)
    names = {column.name: column for column in known.columns} if known else {}
    stated = _without_other_key(changed, have, records) if changed else None
    versions: list[_Version] = [(stated, None)] if stated else []
    if not records and spec.source in effects.created:
        versions += _made_by_message(source, spec, effects)
    if source.has_table_states and known is not None:
        refuse_unreadable(spec.source, known, declared)
    if have is not None:
        refuse_other_modes(source, spec, have, declared, records)
    variants = []
    newest = [record for record in records if record.has_rows] or records
    for record in records:
        key = tuple(column_name(name) for name in record.key)
        columns = _record_columns(source, spec, names, declared, record)
        if record.schema_id is not None and columns:
            variants.append((record.schema_id, columns))
        # Deletes may have an older schema than rows below them (SCHEMA-5).
        if source.has_table_states or record in newest:
            news = tuple(
                c for c in columns if not is_before_rewrite(have, c.name, record.schema_id)
            )
            versions.append((TableSchema(news, () if spec.key else key), record.position))
    if not source.has_table_states:
        known_first = [*([have] if have else []), *(version for version, _ in versions)]
        may_be_unsigned = source.format is not SourceFormat.DEBEZIUM_POSTGRES
        refuse_other_types(spec.source, known_first, may_be_unsigned=may_be_unsigned)
    return [
        (replace(version, key=spec.key or version.key), at) for version, at in versions
    ], variants


def _without_other_key(
    changed: TableSchema, have: TableSchema | None, records: Sequence[RecordSchema]
) -> TableSchema:
    """``changed``, less a key that records do not have (KEY-1).

    With ``message.key.columns`` a state tells the primary key all the same. A statement that gives
    the table another key is known as such (KEY-16), and without one its records tell.
    """
    keys = (record.key for record in records if record.key)
    key = have.key if have is not None else next(keys, ())
    names = {column_name(name) for name in key}
    return replace(changed, key=()) if names and names != set(changed.key) else changed


def _made_by_message(
    source: SourceSpec, spec: TableSpec, effects: DdlEffects
) -> Iterator[_Version]:
    """PostgreSQL: a table of which nothing came but the message that it was made (SCHEMA-36).

    Records tell more of a type than its name does, and so count alone where there are any. They
    tell columns of types without a known name, if the connector sends them at all.
    """
    columns = []
    for name, text in effects.types.get(spec.source, {}).items():
        with suppress(SchemaUnknownError):
            columns.append(declared_column(source, name, text))
    if columns:
        yield TableSchema(tuple(columns), effects.keys.get(spec.source, ())), None


def _joined_by_message(
    source: SourceSpec,
    known: Collection[ColumnName],
    names: Names,
    effects: DdlEffects,
    records: Sequence[RecordSchema],
) -> dict[ColumnName, SourceColumn]:
    """PostgreSQL: columns with values in older rows, of which no record of the cut can tell yet.

    One that newer records lack is none that the connector sends. A type without a known name is
    known with the first record, and the column joins then.
    """
    newest = max((record.position or "" for record in records if record.has_rows), default="")
    if source.format is not SourceFormat.DEBEZIUM_POSTGRES:
        return {}
    types, joined = effects.types.get(names.table, {}), {}
    for name, (_, statement) in names.backfills.items():
        if name not in known and name in types and newest <= statement.column_rename.position:
            with suppress(SchemaUnknownError):
                joined[name] = declared_column(source, name, types[name])
    return joined


def _record_columns(
    source: SourceSpec,
    spec: TableSpec,
    known: Mapping[ColumnName, SourceColumn],
    declared: Mapping[ColumnName, SourceColumn],
    record: RecordSchema,
) -> tuple[SourceColumn, ...]:
    """The columns as a record holds them, and as what is known besides has them (SCHEMA-1).

    Of a delete the key alone counts, so that the rest may be of any type (SCHEMA-5).
    """
    is_postgres = source.format is SourceFormat.DEBEZIUM_POSTGRES
    modes = None if source.has_table_states else source.modes.connector
    columns = []
    for column in schema_columns(source, record):
        if column.name in declared:
            refined = overridden(
                *(column, declared[column.name]),
                tells_singles=is_postgres,
                may_be_unsigned=not is_postgres,
            )
            if refined is None and record.has_rows:
                raise unreadable_as(spec.source, column, declared[column.name])
        elif column.name in known:
            before = known[column.name]
            refined = refine_known(column, before, modes, tells_singles=is_postgres)
        else:
            refined = column
        if refined is not None and (record.has_rows or column.name in record.key):
            refined = in_binary_mode(column, refined, source.modes.connector)
        columns.append(refined or column)
    return tuple(columns)


def _refuse_dropped(spec: TableSpec, have: TableSchema, changed: TableSchema) -> None:
    gone = [name for name in have.names if name not in changed.names]
    if gone:
        raise RowsUnknownError(
            f"the source dropped or renamed column {', '.join(gone)} of {spec.source}",
            state=WAITING,
            next_step="fold the table into a new target from a new snapshot of the source",
        )


def _canal(  # noqa: PLR0913  all that tells of a table
    source: SourceSpec,
    spec: TableSpec,
    have: TableSchema | None,
    effects: DdlEffects,
    records: Sequence[RecordSchema],
    declared: Mapping[ColumnName, SourceColumn],
) -> tuple[list[_Version], ColumnsBySchema]:
    ddl = effects.types.get(spec.source, {})
    known = {c.name: c.source_type for c in have.columns if c.is_sized} if have else {}
    versions: list[_Version] = []
    if ddl:
        columns = [declared_column(source, name, text) for name, text in ddl.items()]
        versions.append((TableSchema(tuple(columns), effects.keys.get(spec.source, ())), None))
    for record in records:
        columns = [
            canal_column(
                name,
                text,
                spec.columns.get(name) or ddl.get(name) or known.get(name),
                source.zone,
            )
            for name, text in ((column_name(n), text) for n, text in record.types.items())
        ]
        key = tuple(column_name(name) for name in record.key)
        versions.append((TableSchema(tuple(columns), key), record.position))
    for version, _ in versions:
        refuse_unreadable(spec.source, version, declared)
    return [(replace(version, key=spec.key or version.key), at) for version, at in versions], ()
