"""Columns that rows of snapshots have and streamed changes lack: withheld, not made null.

PostgreSQL's log has no values of stored generated columns, while a snapshot reads them. A column
that was dropped between the snapshot and the first change looks the same, and is withheld as well;
one that a streamed change ever had counts as dropped, and stays (SCHEMA-15).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tidemark.errors import WAITING, TableStoppedError
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.column_rules import ColumnRules
from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.names import ColumnName, column_name
from tidemark.model.position import LAST, Place
from tidemark.spec import SourceFormat, SourceSpec, TableSpec


def follow_streamed(
    source: SourceSpec,
    columns: Mapping[ColumnName, SourceColumn],
    have: TableSchema | None,
    records: Iterable[RecordSchema],
    rules: ColumnRules,
) -> dict[ColumnName, SourceColumn]:
    """``columns``, of which those are withheld that streamed changes lack (SCHEMA-38, SCHEMA-5).

    have: as the target was made. rules: what the target excludes is not withheld. A streamed change
    that has such a column ends that, and so does its exclusion. Other logs than PostgreSQL's have
    all columns.
    """
    if source.format is not SourceFormat.DEBEZIUM_POSTGRES:
        return dict(columns)
    described = [
        (record, {column_name(field["field"]) for field in record.fields})
        for record in records
        if record.fields and record.has_rows
    ]
    followed = {}
    for name, column in columns.items():
        having = [record for record, names in described if name in names]
        lacking = [record for record, names in described if name not in names]
        before = have[name] if have is not None and name in have.names else None
        read_at = _read_at(before, having)
        now = replace(column, read_at=read_at)
        is_lacked = read_at is not None and (
            now.unknown_below == LAST or any(read_at < (r.streamed_from or "") for r in lacking)
        )
        if is_lacked and rules.target_name(name) is not None:
            now = replace(now, unknown_below=now.unknown_below or LAST, is_withheld=True)
        elif now.unknown_below == LAST:
            now = replace(now, unknown_below=None, is_withheld=False)
        followed[name] = now
    return followed


def _read_at(before: SourceColumn | None, having: Sequence[RecordSchema]) -> Place | None:
    """The lowest place of rows with a column, where none but snapshots ever had it."""
    if any(record.streamed_from is not None for record in having):
        return None
    if before is not None:
        return before.read_at
    return min((r.begins_at for r in having if r.begins_at is not None), default=None)


def refuse_snapshot_only(spec: TableSpec, schema: TableSchema, *, may_withhold: bool) -> None:
    """Raise TableStoppedError where a column that streamed changes lack cannot be withheld."""
    lacked = [column.name for column in schema.columns if column.unknown_below == LAST]
    in_key = sorted(set(lacked) & set(schema.key))
    if not lacked or (may_withhold and schema.key and not in_key):
        return
    name = in_key[0] if in_key else lacked[0]
    raise TableStoppedError(
        f"column {name} of {spec.source} comes with rows of snapshots alone, and streamed changes "
        "lack it: it is a generated column, or was dropped",
        state=WAITING,
        next_step="declare another key: that is without it"
        if in_key
        else f"write target-columns: {{exclude: [{name}]}} for {spec.source} in the pipeline file",
    )
