"""Whether the file says of values what it said when the target was made (TYPE-8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidemark.errors import REFOLD, WAITING, TableStoppedError
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName
from tidemark.schema.source_types import (
    BINARY_ENCODINGS,
    DECIMAL_ENCODINGS,
    TIME_ENCODINGS,
    UNSIGNED_ENCODINGS,
    known_debezium_column,
)
from tidemark.spec import SourceSpec, TableSpec

_MODES: Mapping[str, frozenset[ValueEncoding]] = {
    "binary": frozenset(BINARY_ENCODINGS.values()),
    "bigint-unsigned": frozenset(UNSIGNED_ENCODINGS.values()),
    "decimal": frozenset(DECIMAL_ENCODINGS.values()),
    "time": frozenset(code for times in TIME_ENCODINGS.values() for code in times.values()),
}
"""Field of ``source.modes`` -> the encodings among which it decides."""


def refuse_other_modes(
    source: SourceSpec,
    spec: TableSpec,
    have: TableSchema,
    declared: Mapping[ColumnName, SourceColumn],
    records: Iterable[RecordSchema],
) -> None:
    """Raise where records that tell nothing of their values would be read by modes of before.

    Nothing shows from which of them on the connector writes otherwise, and either way of reading
    gives values that look well. have: under the names of now, as the target was made.
    """
    if all(record.fields for record in records):
        return
    for column in have.columns:
        now = declared.get(column.name)
        if now is None and source.has_table_states:
            now = known_debezium_column(column.name, column.source_type, source.modes.connector)
        if now is None or now.source_type != column.source_type:
            continue
        for mode, encodings in _MODES.items():
            if now.encoding is not column.encoding and {now.encoding, column.encoding} <= encodings:
                raise _stopped(spec, column, now, mode)


def _stopped(
    spec: TableSpec, column: SourceColumn, now: SourceColumn, mode: str
) -> TableStoppedError:
    return TableStoppedError(
        f"source.modes.{mode} was changed: the target of {spec.source} was made from records that "
        f"hold {column.name} ({column.source_type}) as {column.encoding}, and now they would hold "
        f"it as {now.encoding}; records without schemas do not show which ones do",
        state=WAITING,
        next_step=f"set source.modes.{mode} back, and the connector with it; if it was wrong for "
        f"all records so far, {REFOLD}; else fold the table by a new pipeline from a new snapshot "
        "of the source, once its topic holds records of the new mode alone",
    )
