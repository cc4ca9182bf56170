"""Tables whose rows may have changed without events: they go on once each row came again.

What changed them is a statement, or shows in the types of records. From there on the table is like
one that was recreated: columns that became others begin without a value, and the rows of before are
gone. Nothing is lost by that where each of them was changed, deleted or read again since, by an
update of them all, or by an incremental snapshot (SCHEMA-37).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidemark.errors import RowsUnknownError, TableStoppedError
from tidemark.formats.record_schema import RecordSchema
from tidemark.lake.evolve import TargetHead
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.position import Position, place_of
from tidemark.model.profile import count
from tidemark.model.reconcile import below_snapshot
from tidemark.model.target_mode import TargetMode
from tidemark.runs.choose import Chosen
from tidemark.runs.columns.changes import declared_column
from tidemark.runs.columns.recreated import recreation
from tidemark.runs.columns.schemas import schema_columns
from tidemark.runs.ddl.column_changes import StatementChange
from tidemark.spec import PipelineSpec, TableSpec

READ_AGAIN = "every row was changed or read again since"
AGAIN = (
    "have all its rows read again by an incremental snapshot, or change them all at the source: "
    "then it goes on by itself"
)


@dataclass(frozen=True, slots=True)
class Reread:
    """A table that goes on at ``at`` if no row of before is left.

    change: what became of its columns there. stop: why the rows of before are unknown.
    """

    at: Position
    change: StatementChange
    stop: RowsUnknownError


def can_go_on(pipeline: PipelineSpec, spec: TableSpec, have: TableSchema | None) -> bool:
    """Whether records can show that each row came again."""
    is_mirror = spec.mode is TargetMode.MIRROR and have is not None and bool(have.key)
    return is_mirror and not pipeline.source.format.is_canal


def waits_for_rows(
    chosen: Chosen, spec: TableSpec, head: TargetHead | None, stop: RowsUnknownError
) -> TableStoppedError:
    """``stop`` with what helps; not a RowsUnknownError where reading rows again does not."""
    have = head.source_schema if head else None
    is_one_table = _is_one_table(chosen, spec)
    if not is_one_table or not can_go_on(chosen.run.pipeline, spec, have):
        return TableStoppedError(stop.what, state=stop.state, next_step=stop.next_step)
    return RowsUnknownError(
        stop.what, state=stop.state, next_step=f"{AGAIN}; else {stop.next_step}"
    )


def _is_one_table(chosen: Chosen, spec: TableSpec) -> bool:
    """Whether the rows of the target are of the table that has the name, and have its key.

    Else what is published does not show whether the rows that came again are all that there are.
    """
    effects, table = chosen.effects, spec.source
    has_other_key = table in effects.key_changes and not spec.key
    return not has_other_key and effects.dropped_at(table, None) is None


def reread_of(
    chosen: Chosen,
    spec: TableSpec,
    head: TargetHead | None,
    records: Sequence[RecordSchema],
    stop: RowsUnknownError,
) -> Reread | None:
    """Where the table may go on; None where it cannot, or where too few of its rows came.

    records: what examples of the cut's records tell.
    """
    pipeline, effects = chosen.run.pipeline, chosen.effects
    if None in effects.stops:
        return None  # Any of the statements that concern all tables may be the newest.
    if head is None or head.published is None or not can_go_on(pipeline, spec, head.source_schema):
        return None
    have, table = head.source_schema, spec.source
    came = count(chosen.profile.of(table, CheckpointStatus.PENDING))
    if came < head.published.rows or not _is_one_table(chosen, spec):
        return None
    newest = _newest(chosen, spec, have, records)
    if newest is None:
        return None
    at, columns = newest
    key = {column.name: column.iceberg for column in have.columns if column.name in have.key}
    if not key.items() <= {column.name: column.iceberg for column in columns}.items():
        return None
    return Reread(at, recreation(spec, have, columns, at), stop)


def _newest(
    chosen: Chosen, spec: TableSpec, have: TableSchema, records: Sequence[RecordSchema]
) -> tuple[Position, Sequence[SourceColumn]] | None:
    """Where the newest columns of the table begin, and what they are."""
    source, effects, table = chosen.run.pipeline.source, chosen.effects, spec.source
    if source.topics.schema_changes:
        stopped = effects.stops.get(table)
        positions = (effects.stated_at.get(table), stopped.position if stopped else None)
        at = max(filter(None, positions), default=None)
        if at is None or place_of(at) is None:
            return None
        return at, [
            declared_column(source, name, text) for name, text in _types(chosen, spec, have)
        ]
    newest = next((record for record in reversed(records) if record.has_rows), None)
    if newest is None or newest.begins_at is None or not newest.fields:
        return None
    begins_at = below_snapshot(newest.begins_at)
    return (begins_at, schema_columns(source, newest)) if begins_at else None


def _types(chosen: Chosen, spec: TableSpec, have: TableSchema) -> Iterable[tuple[str, str]]:
    columns = chosen.effects.schemas.get(spec.source, have).columns
    return ((column.name, column.source_type) for column in columns)
