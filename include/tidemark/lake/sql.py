"""The only module that holds SQL text: typed arguments in, one statement out.

Every name passes `quote`, every value passes `literal`. Column types come from the closed set
that `schema.source_types` writes, never from a topic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tidemark.model.column_rules import Mask
from tidemark.model.columns import (
    COMMIT_TIME,
    DELETED,
    DELETED_AT,
    END_POSITION,
    OPERATION,
    POSITION,
    ROW,
    STAGED_KEY_HASH,
    STAGED_OP,
    UNAVAILABLE,
    VALID_FROM,
    VALID_TO,
    SourceColumn,
    TableSchema,
)
from tidemark.model.ends import End, first_end
from tidemark.model.event import Kind, Op
from tidemark.model.layout import PartitionField, Transform
from tidemark.model.names import ColumnName, TableName, quote
from tidemark.model.reduction import EVENT_ID
from tidemark.model.target_mode import Operation, TargetMode
from tidemark.schema.changes import BackfillColumn

SYSTEM_COLUMNS: Mapping[str, str] = {POSITION: "string", COMMIT_TIME: "timestamp"}
MODE_COLUMNS: Mapping[TargetMode, Mapping[str, str]] = {
    TargetMode.MIRROR: SYSTEM_COLUMNS,
    TargetMode.SOFT_DELETE: {**SYSTEM_COLUMNS, DELETED: "boolean", DELETED_AT: "timestamp"},
    TargetMode.HISTORY: {
        POSITION: "string",
        VALID_FROM: "timestamp",
        VALID_TO: "timestamp",
        END_POSITION: "string",
    },
    TargetMode.APPEND: {**SYSTEM_COLUMNS, OPERATION: "string", UNAVAILABLE: "array<string>"},
}

OWN_DOCS: Mapping[str, str] = {
    POSITION: "Where the source's log has the change that made the row; sorts in the log's order",
    COMMIT_TIME: "When the source committed that change; null where it told no time",
    DELETED: "Whether the source has the row no more",
    DELETED_AT: "Since when the source has it no more",
    VALID_FROM: "When the source began to have this version of the row",
    VALID_TO: "When the version ended; null while it is the current one",
    END_POSITION: "Where the source's log has the end of the version; null while it is current",
    OPERATION: "What the change did: upsert, delete or truncate",
    UNAVAILABLE: "Columns of which the change tells no value",
    ROW: "The change that made the row: tells equal rows apart",
}
"""What engines show of Tidemark's own columns."""
TARGET_PROPERTIES: Mapping[str, str] = {
    "format-version": "2",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    "write.delete.granularity": "file",
    "write.distribution-mode": "none",
    "write.merge.distribution-mode": "hash",
    "write.target-file-size-bytes": str(128 * 1024 * 1024),
    # By default a whole file is one group: a single task reads it, and all of it for any key.
    "write.parquet.row-group-size-bytes": str(32 * 1024 * 1024),
    "write.parquet.compression-codec": "zstd",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    f"write.metadata.metrics.column.{POSITION}": "full",
}


def system_columns(schema: TableSchema) -> dict[str, str]:
    """Tidemark's own columns of a target, name -> type."""
    row = {} if schema.row_key == schema.key else {ROW: "string"}
    return {**MODE_COLUMNS[schema.mode], **row}


def literal(value: str) -> str:
    r"""A string literal.

    >>> literal("it's")
    "'it\\'s'"
    """
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def create_target(table: Sequence[str], schema: TableSchema, properties: Mapping[str, str]) -> str:
    """CREATE TABLE for a target: the source's columns, then Tidemark's own."""
    keys = set(schema.row_key)
    own = system_columns(schema)
    types = {column.name: column.stored for column in schema.columns} | own
    columns = [
        f"{quote(name)} {iceberg}{' NOT NULL' if name in keys else ''}"
        f"{f' COMMENT {literal(OWN_DOCS[name])}' if name in own else ''}"
        for name, iceberg in types.items()
    ]
    listed = ", ".join(
        f"{literal(name)} = {literal(value)}" for name, value in sorted(properties.items())
    )
    fields = ", ".join(map(_partition_field, schema.layout.partition))
    partitioned = f"PARTITIONED BY ({fields}) " if fields else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {quote(*table)} ({', '.join(columns)}) "
        f"USING iceberg {partitioned}TBLPROPERTIES ({listed})"
    )


def by_spark(statement: str) -> str:
    """An ALTER TABLE of Spark's own, so that Iceberg's extension of it does not take it.

    The extension takes all that begin with the two words and hold ``create tag`` or the like, in a
    name or a text, too.

    >>> by_spark("ALTER TABLE `t` RENAME COLUMN `create tag` TO `c`")
    'ALTER /* */ TABLE `t` RENAME COLUMN `create tag` TO `c`'
    """
    return f"ALTER /* */ TABLE{statement.removeprefix('ALTER TABLE')}"


def set_location(table: Sequence[str], location: str) -> str:
    """ALTER TABLE: files that are written from now on lie there."""
    return f"ALTER TABLE {quote(*table)} SET LOCATION {literal(location)}"


def _partition_field(field: PartitionField) -> str:
    name = quote(field.column)
    match field.transform:
        case Transform.IDENTITY:
            return name
        case Transform.BUCKET | Transform.TRUNCATE:
            return f"{field.transform}({field.width}, {name})"
        case _:
            return f"{field.transform}s({name})"


def add_partition_field(table: Sequence[str], field: PartitionField) -> str:
    """ALTER TABLE by which new files are partitioned by one field more."""
    return f"ALTER TABLE {quote(*table)} ADD PARTITION FIELD {_partition_field(field)}"


def drop_partition_field(table: Sequence[str], field: PartitionField) -> str:
    """ALTER TABLE by which new files are no longer partitioned by one field."""
    return f"ALTER TABLE {quote(*table)} DROP PARTITION FIELD {_partition_field(field)}"


def sort_files(table: Sequence[str], columns: Sequence[ColumnName]) -> str:
    """ALTER TABLE by which rows of new files are sorted, by nothing where there are no columns.

    LOCALLY: rows are not moved between tasks for it.
    """
    if not columns:
        return f"ALTER TABLE {quote(*table)} WRITE UNORDERED"
    return f"ALTER TABLE {quote(*table)} WRITE LOCALLY ORDERED BY {', '.join(map(quote, columns))}"


def add_columns(table: Sequence[str], columns: Iterable[SourceColumn]) -> str:
    """ALTER TABLE that adds optional columns, in one commit."""
    listed = ", ".join(f"{quote(column.name)} {column.stored}" for column in columns)
    return f"ALTER TABLE {quote(*table)} ADD COLUMNS ({listed})"


def widen_columns(table: Sequence[str], columns: Iterable[SourceColumn]) -> str:
    """ALTER TABLE that promotes the types of columns, or of their elements, in one commit."""
    listed = ", ".join(
        f"{quote(column.name, 'element')} TYPE {column.element.stored}"
        if column.element
        else f"{quote(column.name)} TYPE {column.stored}"
        for column in columns
    )
    return f"ALTER TABLE {quote(*table)} ALTER COLUMN {listed}"


def free_column(table: Sequence[str], name: ColumnName) -> str:
    """ALTER TABLE that lets one column hold null."""
    return f"ALTER TABLE {quote(*table)} ALTER COLUMN {quote(name)} DROP NOT NULL"


def set_identifier(table: Sequence[str], columns: Iterable[ColumnName]) -> str:
    """ALTER TABLE that says which columns tell rows apart, for engines that go by it."""
    return f"ALTER TABLE {quote(*table)} SET IDENTIFIER FIELDS {', '.join(map(quote, columns))}"


def drop_identifier(table: Sequence[str], columns: Iterable[str]) -> str:
    """ALTER TABLE after which none of ``columns`` tells rows apart any more; all of them did."""
    return f"ALTER TABLE {quote(*table)} DROP IDENTIFIER FIELDS {', '.join(map(quote, columns))}"


def rename_column(table: Sequence[str], was: str, name: str) -> str:
    """ALTER TABLE that gives one column another name; its field id stays."""
    return f"ALTER TABLE {quote(*table)} RENAME COLUMN {quote(was)} TO {quote(name)}"


def drop_columns(table: Sequence[str], names: Iterable[ColumnName]) -> str:
    """ALTER TABLE that takes columns away, in one commit."""
    return f"ALTER TABLE {quote(*table)} DROP COLUMNS ({', '.join(map(quote, names))})"


def backfill_column(branch: Sequence[str], schema: TableSchema, backfill: BackfillColumn) -> str:
    """UPDATE of what rows hold in a column that is younger than they are (SCHEMA-14)."""
    at, column = quote(POSITION), backfill.column
    filled = _masked(f"CAST({literal(backfill.value)} AS {column.iceberg})", column)
    return (
        f"UPDATE {quote(*branch)} SET {quote(column.name)} = {filled} "
        f"WHERE {schema.holds_values} AND ({at} IS NULL OR {at} <= {literal(backfill.below)})"
    )


def _masked(value: str, column: SourceColumn) -> str:
    """What the target has in place of ``value``, as `formats.rows` makes it of records."""
    match column.mask:
        case Mask.HASH:
            return f"sha2(CAST({value} AS STRING), 256)"
        case Mask.REDACT:
            return "NULL"
        case None:
            return value


def delete_records(
    changelog: Sequence[str],
    wanted: Mapping[int, Collection[TableName]],
    others: Collection[Kind],
    before_ms: int,
) -> str:
    """DELETE of changelog records that are needed no more (KEEP-1).

    wanted: below which landing the rows of which tables go. others: kinds of records beside rows
    that go with the newest of them. before_ms: nothing goes whose source time, in ms since 1970, is
    later.
    """
    rows = [
        f"kind = {literal(Kind.ROW)} AND landing < {landing:d} AND "
        f"struct(source_schema, source_table) IN ({', '.join(map(_pair, sorted(tables)))})"
        for landing, tables in sorted(wanted.items())
    ]
    listed = ", ".join(map(literal, others))
    either = " OR ".join(f"({condition})" for condition in (*rows, f"kind IN ({listed})"))
    return (
        f"DELETE FROM {quote(*changelog)} WHERE landing < {max(wanted):d} "
        f"AND coalesce(commit_time < {moment(before_ms)}, TRUE) AND ({either})"
    )


def erase_records(branch: Sequence[str], places: str) -> str:
    """MERGE that takes key, value and headers from the changelog's records (ERASE-1).

    places: a view of topic, partition and offset of each, and of the value without some of its
    rows, null where nothing stays.
    """
    same = " AND ".join(f"t.{name} = s.{name}" for name in ("topic", "partition", "offset"))
    return (
        f"MERGE INTO {quote(*branch)} t USING {quote(places)} s ON {same} "
        f"WHEN MATCHED AND s.value IS NULL THEN UPDATE SET kind = {literal(Kind.ERASED)}, "
        "key = NULL, value = NULL, headers = NULL WHEN MATCHED THEN UPDATE SET value = s.value"
    )


def key_in_target(schema: TableSchema, key: str) -> dict[str, str]:
    """What each column of the target's key holds of ``key``, a struct of the source's columns."""
    names = zip(schema.in_target.key, schema.key, strict=True)
    return {
        name: _masked(f"{key}.{quote(source)}", schema.in_target[name]) for name, source in names
    }


def erase_rows(branch: Sequence[str], keys: str, schema: TableSchema) -> str:
    """MERGE that deletes what a target keeps of rows that the source has no more (ERASE-1).

    keys: a view of structs ``wanted_key`` and of the positions ``standing``.
    """
    named = key_in_target(schema, "s.wanted_key").items()
    same = [f"t.{quote(name)} <=> {value}" for name, value in named]
    ended = {
        TargetMode.SOFT_DELETE: f"t.{quote(DELETED)}",
        TargetMode.HISTORY: f"t.{quote(END_POSITION)} IS NOT NULL",
        TargetMode.APPEND: f"coalesce(t.{quote(POSITION)} < s.standing, TRUE)",
    }[schema.mode]
    return (
        f"MERGE INTO {quote(*branch)} t USING {quote(keys)} s ON {' AND '.join((*same, ended))} "
        "WHEN MATCHED THEN DELETE"
    )


def _pair(table: TableName) -> str:
    return f"struct({literal(table.schema)}, {literal(table.table)})"


def set_property(table: Sequence[str], name: str, value: str) -> str:
    """ALTER TABLE that sets one property."""
    return f"ALTER TABLE {quote(*table)} SET TBLPROPERTIES ({literal(name)} = {literal(value)})"


def call(catalog: str, procedure: str, table: Sequence[str], arguments: Mapping[str, str]) -> str:
    """Call a procedure of Iceberg; ``arguments``: name -> SQL expression."""
    named = {"table": literal(quote(*table)), **arguments}
    listed = ", ".join(f"{name} => {value}" for name, value in named.items())
    return f"CALL {quote(catalog)}.system.{procedure}({listed})"


def moment(at_ms: int) -> str:
    """A time, in ms since 1970."""
    return f"timestamp_millis({at_ms})"


def options(values: Mapping[str, str | float]) -> str:
    """A map of texts, as procedures take their options."""
    return f"map({', '.join(literal(str(part)) for pair in values.items() for part in pair)})"


def create_branch(table: Sequence[str], branch: str, base: int | None) -> str:
    """ALTER TABLE that makes a branch at the snapshot ``base``; None: an empty one, as is main."""
    at = "" if base is None else f" AS OF VERSION {base:d}"
    return f"ALTER TABLE {quote(*table)} CREATE BRANCH {quote(branch)}{at}"


def create_tag(table: Sequence[str], tag: str, snapshot_id: int) -> str:
    """ALTER TABLE that pins a snapshot by a tag."""
    return f"ALTER TABLE {quote(*table)} CREATE TAG {quote(tag)} AS OF VERSION {snapshot_id:d}"


def delete_below(branch: Sequence[str], position: str) -> str:
    """DELETE of what a truncate or a new snapshot at ``position`` ended (TRUNC-2, SNAP-6)."""
    at = quote(POSITION)
    return f"DELETE FROM {quote(*branch)} WHERE {at} IS NULL OR {at} < {literal(position)}"


def mark_below(branch: Sequence[str], schema: TableSchema, ends: Sequence[End]) -> str:
    """What ``ends``, in position order, do to a target that keeps what they end (TRUNC-12).

    UPDATE of the rows that are blocked; of a target that keeps changes, `append_truncates`.
    """
    if schema.mode is TargetMode.APPEND:
        return append_truncates(branch, schema, ends)
    at = quote(POSITION)
    time = first_end(at, ends, lambda end: end.time)
    marks = {DELETED: "TRUE", DELETED_AT: time}
    if schema.mode is TargetMode.HISTORY:
        marks = {VALID_TO: time, END_POSITION: first_end(at, ends, lambda end: end.place)}
    assigned = ", ".join(f"{quote(name)} = {value}" for name, value in marks.items())
    below = literal(ends[-1].position)
    return (
        f"UPDATE {quote(*branch)} SET {assigned} "
        f"WHERE {schema.stands} AND ({at} IS NULL OR {at} < {below})"
    )


def append_truncates(branch: Sequence[str], schema: TableSchema, ends: Sequence[End]) -> str:
    """MERGE of a row for each truncate that has none; copies of one are one (KEY-14)."""
    truncates = ", ".join(f"({end.place}, {end.time})" for end in ends)
    row_id = f"{EVENT_ID} || '.{Operation.TRUNCATE}'"
    expressions = {
        POSITION: "s.position",
        COMMIT_TIME: "s.ended_at",
        OPERATION: literal(Operation.TRUNCATE),
        ROW: "s.row_id",
    }
    types = {column.name: column.iceberg for column in schema.columns} | system_columns(schema)
    values = {name: expressions.get(name, f"CAST(NULL AS {kind})") for name, kind in types.items()}
    return (
        f"MERGE INTO {quote(*branch)} t USING (SELECT row_id, min(position) AS position, "
        f"min(ended_at) AS ended_at FROM (SELECT *, {row_id} AS row_id "
        f"FROM VALUES {truncates} AS truncates(position, ended_at)) GROUP BY row_id) s "
        f"ON t.{quote(ROW)} = s.row_id WHEN NOT MATCHED THEN {_insert(values)}"
    )


def merge_staged(branch: Sequence[str], staged: Sequence[str], schema: TableSchema) -> str:
    """MERGE of staged winners, one row per key, guarded by position (POS-13).

    What is to end of a target that keeps it is marked there; of a history target the open version
    of the key is meant (KEY-11), and what begins matches none. A copy of a change that an append
    target has takes its place, as nothing filters the scan for a merge that inserts alone.
    staged: parts of a table's name. A plain scan of it and the predicate on the staged op make
    Spark build its runtime Bloom filter; so does the hash for a key of several columns.
    """
    is_delete = f"s.{quote(STAGED_OP)} = {literal(Op.DELETE)}"
    newer = f"s.{quote(POSITION)} > coalesce(t.{quote(POSITION)}, '')"
    values = staged_values(schema)
    update = f"WHEN MATCHED AND {newer} THEN {_update(values, values)} "
    insert = f"WHEN NOT MATCHED AND NOT ({is_delete}) THEN {_insert(values)}"
    on = _same_row(schema)
    match schema.mode:
        case TargetMode.MIRROR:
            clauses = f"WHEN MATCHED AND {newer} AND {is_delete} THEN DELETE {update}{insert}"
        case TargetMode.SOFT_DELETE:
            flag = _update(values, system_columns(schema))
            clauses = f"WHEN MATCHED AND {newer} AND {is_delete} THEN {flag} {update}{insert}"
        case TargetMode.HISTORY:
            on += [f"t.{quote(END_POSITION)} IS NULL", is_delete]
            end = _update(values, (VALID_TO, END_POSITION))
            clauses = f"WHEN MATCHED AND {newer} THEN {end} {insert}"
        case TargetMode.APPEND:
            clauses = f"{update}WHEN NOT MATCHED THEN {_insert(values)}"
    ops = ", ".join(literal(op) for op in Op)
    return (
        f"MERGE INTO {quote(*branch)} t USING "
        f"(SELECT * FROM {quote(*staged)} WHERE {quote(STAGED_OP)} IN ({ops})) s "
        f"ON {' AND '.join(on)} {clauses}"
    )


def seed_values(base: TableSchema, wanted: TableSchema) -> dict[str, str]:
    """What a row of ``base`` gives to each column of a target of ``wanted``; none that it lacks."""
    values = {}
    for name in wanted.names:
        target, was = wanted.target_name(name), base.target_name(name)
        if target is not None:
            is_same = base.rules.mask(name) is wanted.rules.mask(name)
            column = wanted.in_target[target]
            value = "NULL" if was is None else quote(was)
            shown = value if is_same else _masked(value, column)
            values[target] = f"CAST({shown} AS {column.stored})"
    if base.mode is wanted.mode:
        return values | {name: quote(name) for name in system_columns(wanted)}
    began = quote(VALID_FROM if base.mode is TargetMode.HISTORY else COMMIT_TIME)
    expressions = {
        POSITION: quote(POSITION),
        COMMIT_TIME: began,
        VALID_FROM: began,
        DELETED: "FALSE",
    }
    types = system_columns(wanted).items()
    return values | {name: expressions.get(name, f"CAST(NULL AS {kind})") for name, kind in types}


def staged_values(schema: TableSchema) -> dict[str, str]:
    """What a staged row ``s`` gives to each column of the target."""
    values = {name: f"s.{quote(name)}" for name in (*schema.names, *system_columns(schema))}
    if schema.mode is TargetMode.APPEND:
        is_upsert = f"s.{quote(STAGED_OP)} = {literal(Op.UPSERT)}"
        words = (literal(Operation.UPSERT), literal(Operation.DELETE))
        values[OPERATION] = f"CASE WHEN {is_upsert} THEN {words[0]} ELSE {words[1]} END"
    return values


def _same_row(schema: TableSchema) -> list[str]:
    key = schema.row_key
    same = [f"t.{quote(name)} = s.{quote(name)}" for name in key]
    if len(key) > 1:
        hashed = ", ".join(f"t.{quote(name)}" for name in key)
        same.append(f"xxhash64({hashed}) = s.{quote(STAGED_KEY_HASH)}")
    return same


def _update(values: Mapping[str, str], names: Iterable[str]) -> str:
    return f"UPDATE SET {', '.join(f'{quote(name)} = {values[name]}' for name in names)}"


def _insert(values: Mapping[str, str]) -> str:
    return f"INSERT ({', '.join(map(quote, values))}) VALUES ({', '.join(values.values())})"
