"""Columns that statements declare again: what is followed, what stops a table (SCHEMA-13)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidemark.errors import WAITING, RowsUnknownError, TableStoppedError
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName, TableName
from tidemark.model.position import Position
from tidemark.runs.ddl.column_changes import ColumnChange
from tidemark.schema.changes import is_followed
from tidemark.schema.postgres_types import postgres_column
from tidemark.schema.rewrites import is_rewritten
from tidemark.schema.source_types import canal_column, debezium_column
from tidemark.schema.type_text import parse_type
from tidemark.schema.type_widening import holds_every_value, is_known, is_same
from tidemark.spec import SourceFormat, SourceSpec, TableSpec

_REWRITTEN = {
    (ValueEncoding.FLOAT, ValueEncoding.DOUBLE),
    (ValueEncoding.TIMESTAMP_MILLIS, ValueEncoding.TIMESTAMP_MICROS),
    (ValueEncoding.TIME_MILLIS, ValueEncoding.TIME_MICROS),
}
"""Where the same text means another value before the change than after it."""


@dataclass
class Followed:
    """What became of changed columns.

    columns: as statements of the cut declare them, last. formers: how records up to a position
    hold a column. changed_at: of the newest change. rewritten: columns of which statements of the
    cut have the rows rewritten. filled: columns in which one may have given rows with null a value,
    and where, last; numbered: or rows with 0.
    """

    columns: dict[ColumnName, SourceColumn] = field(default_factory=dict)
    formers: dict[ColumnName, tuple[SourceColumn, Position]] = field(default_factory=dict)
    changed_at: Position | None = None
    rewritten: set[ColumnName] = field(default_factory=set)
    filled: dict[ColumnName, Position] = field(default_factory=dict)
    numbered: dict[ColumnName, Position] = field(default_factory=dict)

    @classmethod
    def before(cls, have: TableSchema | None) -> Followed:
        """What was followed in earlier cuts, or in one that failed."""
        followed = cls(changed_at=have.changed_at if have else None)
        for column in have.columns if have else ():
            if column.former is not None and column.changed_at is not None:
                followed.formers[column.name] = (column.former, column.changed_at)
        return followed

    def now(self, column: SourceColumn) -> SourceColumn:
        """``column``, which Canal's or TiCDC's records tell, as it is from now on.

        A statement tells the size of a type that TiCDC's records tell without one (SCHEMA-1).
        """
        after = self.columns.get(column.name)
        if after is None or after.source_type == column.source_type:
            return self.read(column)
        fits = after.iceberg == column.iceberg or is_followed(column.iceberg, after.iceberg)
        is_sized = after.source_type.lower().partition("(")[0] == column.source_type.lower()
        return self.read(after if fits or is_sized else column)

    def read(self, column: SourceColumn) -> SourceColumn:
        """``column``, and how records hold it that are older than its change."""
        if column.name not in self.formers:
            return column
        former, changed_at = self.formers[column.name]
        return replace(column, former=former, changed_at=changed_at)

    def fill(self, name: ColumnName, change: ColumnChange) -> None:
        """``change`` of the column ``name`` may have given values to rows."""
        if change.fills_nulls:
            self.filled[name] = change.position
        if change.numbers_rows:
            self.numbered[name] = change.position

    def with_fills(
        self, columns: Mapping[ColumnName, SourceColumn]
    ) -> dict[ColumnName, SourceColumn]:
        """``columns``, and up to where statements of the cut may have filled nulls and zeros."""
        return {
            name: replace(
                column,
                filled_below=self.filled.get(name, column.filled_below),
                numbered_below=self.numbered.get(name, column.numbered_below),
            )
            for name, column in columns.items()
        }

    def newer(self, version: TableSchema, at: Position | None) -> TableSchema:
        """``version``, which a record at ``at`` tells, with what statements above it changed."""
        changed = {name for name, (_, until) in self.formers.items() if at and at <= until}
        columns = (
            self.columns.get(column.name) if column.name in changed else column
            for column in version.columns
        )
        return replace(version, columns=tuple(column for column in columns if column is not None))

    def refuse_unstated(
        self, table: TableName, have: TableSchema, columns: Mapping[ColumnName, SourceColumn]
    ) -> None:
        """Raise where rows would be rewritten and no statement that was read says why.

        columns: that statements tell of, or the file.
        """
        for name, column in columns.items():
            before = have[name] if name in have.names else column
            if is_rewritten(before, column) and name not in self.rewritten:
                raise TableStoppedError(
                    f"{table} cannot be followed: column {name} is {column.source_type} and was "
                    f"{before.source_type}, and the statement that changed it was not read",
                    state=WAITING,
                    next_step=f"nothing to do, if the next run finds the statement; if the file "
                    f"alone changed, declare {name}: {before.source_type} in columns: of {table}; "
                    "otherwise fold the table into a new target from a new snapshot of the source",
                )

    def refuse_unstated_keys(
        self, table: TableName, key: Collection[ColumnName], versions: Sequence[TableSchema]
    ) -> None:
        """Raise where values of a key are cast and no statement of the cut says why.

        versions: oldest first. Records do not show whether the source computed the new values, and
        then a row would stand under its old key as well.
        """
        known: dict[ColumnName, SourceColumn] = {}
        for column in (column for version in versions for column in version.columns):
            before = known.get(column.name, column)
            if not is_rewritten(before, column):
                known[column.name] = before if is_rewritten(column, before) else column
            elif column.name in key and column.name not in self.rewritten:
                raise TableStoppedError(
                    f"{table} cannot be followed: records alone tell that column {column.name} of "
                    f"its key changed from {before.source_type} to {column.source_type}, and the "
                    "source may have given its rows other values",
                    state=WAITING,
                    next_step="fold the table by a new pipeline from a new snapshot, once its "
                    "topic holds the new type alone",
                )
            else:
                known[column.name] = column

    def refuse_stale(self, table: TableName, declared: Iterable[SourceColumn]) -> None:
        """Raise where the file still declares what a column was before it changed."""
        for column in declared:
            if column.name not in self.columns:
                continue
            after = self.columns[column.name]
            new, old = parse_type(after.source_type), parse_type(column.source_type)
            if new is None or old is None or not is_same(new, old):
                raise TableStoppedError(
                    f"{table} cannot be followed: its column {column.name} became "
                    f"{after.source_type}, and the file declares {column.source_type}",
                    state=WAITING,
                    next_step=f"declare {column.name}: {after.source_type} in columns: of {table}",
                )


def declared_column(source: SourceSpec, name: str, type_text: str) -> SourceColumn:
    """A column as DDL tells it, or the file, and as records of ``source`` will tell it too.

    TiCDC's ``mysqlType`` has no length, scale or labels.
    """
    if source.format is SourceFormat.DEBEZIUM_POSTGRES:
        return postgres_column(name, type_text, source.modes.postgres)
    if not source.format.is_canal:
        return debezium_column(name, type_text, source.modes.connector)
    parsed, source_type = parse_type(type_text), type_text
    if parsed is not None and source.format is SourceFormat.TICDC_CANAL_JSON:
        source_type = str(replace(parsed, parameters=()))
    return canal_column(name, source_type, type_text, source.zone)


def follow_changes(
    source: SourceSpec,
    spec: TableSpec,
    have: TableSchema | None,
    versions: Sequence[TableSchema],
    changes: Sequence[ColumnChange],
) -> Followed:
    """Judge ``changes``, each against what the column was before it.

    versions: what the cut tells of the columns, oldest first; it counts where nothing older is
    known. What ``have`` was already changed by is not judged again, as after a cut that failed.
    A statement may write a name in another case. Raises TableStoppedError for a change that may
    have given the rows other values.
    """
    known = _known(source, spec, have, versions)
    aliased = {name.lower(): name for name in known}
    followed = Followed.before(have)
    keys = (version.key for version in [*([have] if have else []), *versions] if version.key)
    key = spec.key or next(keys, ())
    done = followed.changed_at or ""
    for change in changes:
        name = aliased.get(change.name.lower(), change.name)
        after = None
        if change.type_text is not None:
            after = declared_column(source, name, change.type_text)
        if change.position > done:
            was = declared_column(source, name, change.was) if change.was else None
            before = was or known.get(name)
            if before is not None and after is not None:
                _judge(source, spec.source, change, before, after)
                is_cast = is_rewritten(before, after)
                is_written_otherwise = is_cast or (before.encoding, after.encoding) in _REWRITTEN
                if is_written_otherwise and name in key:
                    _judge_key(spec.source, change, before, after)
                if is_written_otherwise:
                    former = replace(followed.read(before), backfill=None, mask=None, by_schema=())
                    followed.formers[name] = (former, change.position)
                if is_cast:
                    followed.rewritten.add(name)
            if source.format is not SourceFormat.TICDC_CANAL_JSON:
                followed.fill(name, change)  # TiDB refuses where a row has null.
            followed.changed_at = change.position
        if after is not None:
            known[name] = followed.columns[name] = after
    return followed


def _known(
    source: SourceSpec,
    spec: TableSpec,
    have: TableSchema | None,
    versions: Sequence[TableSchema],
) -> dict[ColumnName, SourceColumn]:
    """The columns before any change; sizes that are told nowhere else are those of the file."""
    oldest = [*([have] if have else []), *versions]
    known = {column.name: column for version in reversed(oldest) for column in version.columns}
    if source.format is not SourceFormat.TICDC_CANAL_JSON:
        return known
    for name in spec.columns.keys() & known.keys():
        declared = declared_column(source, name, spec.columns[name])
        bare = parse_type(declared.source_type)
        if bare and str(replace(bare, parameters=())) == known[name].source_type:
            known[name] = declared
    return known


def _judge(
    source: SourceSpec,
    table: TableName,
    change: ColumnChange,
    before: SourceColumn,
    after: SourceColumn,
) -> None:
    """Raise when rows may have got other values, or the target cannot take the new type."""
    old, new = parse_type(before.source_type), parse_type(after.source_type)
    if old is None or new is None or not is_known(old):
        return  # A type that a record's schema names; the types of the target decide alone.
    fits = before.iceberg == after.iceberg or is_followed(before.iceberg, after.iceberg)
    if not fits:
        why = f"Iceberg cannot promote {before.iceberg} to {after.iceberg}"
    elif not holds_every_value(
        new,
        old,
        is_numbered=source.format.is_canal,
        tells_sizes=source.format is not SourceFormat.TICDC_CANAL_JSON,
    ):
        why = "the source may have changed values to make them fit, which no event tells"
    else:
        return
    kinds = f"{before.source_type} became {after.source_type}"
    raise _stopped(table, change, f"{kinds}: {why}")


def _judge_key(
    table: TableName, change: ColumnChange, before: SourceColumn, after: SourceColumn
) -> None:
    """Raise where a row may have another key behind ``change``, though its value is the same."""
    if before.encoding is ValueEncoding.FLOAT:
        raise _stopped(table, change, "records write keys in another way")
    if (before.iceberg, after.iceberg) == ("date", "string"):
        why = "0000-00-00 has another value in the target, and is another key as a text"
        raise _stopped(table, change, why)


def _stopped(table: TableName, change: ColumnChange, why: str) -> RowsUnknownError:
    return RowsUnknownError(
        f"{table} cannot be followed: it changes column {change.name} ({why}): "
        f"{change.statement} (at position {change.position})",
        state=WAITING,
        next_step="fold the table into a new target from a new snapshot of the source",
    )
