"""Columns of PostgreSQL whose records show a type that holds less than before (SCHEMA-16).

The source rounds its rows to such a type without events, and no statement tells it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tidemark.errors import WAITING, RowsUnknownError
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName
from tidemark.model.position import Place, place_of
from tidemark.runs.columns.schemas import schema_columns
from tidemark.schema.source_types import TIME_ENCODINGS
from tidemark.spec import SourceFormat, SourceSpec, TableSpec


def refuse_rounded(
    source: SourceSpec,
    spec: TableSpec,
    have: TableSchema | None,
    records: Sequence[RecordSchema],
    published: Place,
) -> None:
    """Raise where rows of the table may have been rounded since they were sent.

    have: as the target was made; a column that the file declares has the type of the file there.
    records: examples of the cut's. published: what stands at it or below came again.
    """
    if source.format is not SourceFormat.DEBEZIUM_POSTGRES or source.topics.schema_changes:
        return
    forms = list(_forms(source, records, published))
    stored = {} if have is None else {c.name: c for c in have.columns if c.name not in spec.columns}
    for record, columns in forms:
        before = [
            of_other
            for other, of_other in forms
            if other.begins_at is not None and other.begins_at < _highest(record)
        ]
        for name, column in columns.items():
            wider = _wider(source, column.encoding)
            known = [of_other[name] for of_other in before if name in of_other]
            if name in stored and not _came_before(column, stored[name]):
                known.append(stored[name])
            was = next((one for one in known if one.encoding is wider), None)
            if was is not None:
                raise _rounded(spec, was, column)


def _came_before(column: SourceColumn, known: SourceColumn) -> bool:
    """Whether rows that hold times in this form were taken, beside others of the column."""
    if column.encoding is ValueEncoding.FLOAT:
        return False  # Rows that came again make another column of it.
    return any(column.encoding is variant.encoding for _, variant in known.by_schema)


def _forms(
    source: SourceSpec, records: Sequence[RecordSchema], published: Place
) -> Iterator[tuple[RecordSchema, Mapping[ColumnName, SourceColumn]]]:
    """What columns are in rows that came for the first time."""
    for record in records:
        if record.has_rows and _highest(record) > published:
            yield record, {column.name: column for column in schema_columns(source, record)}


def _highest(record: RecordSchema) -> Place:
    place = place_of(record.position) if record.position else None
    return place or Place("")


def _wider(source: SourceSpec, encoding: ValueEncoding) -> ValueEncoding | None:
    """How the connector writes the type of which ``encoding`` is that of one with less digits.

    None where the settings of the connector alone decide.
    """
    if encoding is ValueEncoding.FLOAT:
        return ValueEncoding.DOUBLE
    times = TIME_ENCODINGS[source.modes.postgres.time]
    for kind in ("time", "datetime"):
        if times[kind] is encoding and times.get(f"{kind}(6)", encoding) is not encoding:
            return times[f"{kind}(6)"]
    return None


def _rounded(spec: TableSpec, was: SourceColumn, column: SourceColumn) -> RowsUnknownError:
    fix = "rebuild the target from a new snapshot of the source table"
    if column.encoding is not ValueEncoding.FLOAT:
        fix = (
            "if the connector's time.precision.mode was changed, say so in source.modes.time; "
            f"else {fix}"
        )
    return RowsUnknownError(
        f"{spec.source} cannot be followed: column {column.name} changed from {was.source_type} "
        f"to {column.source_type}, and the source may have rounded the rows that are there",
        state=WAITING,
        next_step=fix,
    )
