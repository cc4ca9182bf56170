"""What compaction takes away, and what a source has to be like to be followed nevertheless.

A compacted topic is a feed of the newest state of each key and no log of changes (KEY-13).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.errors import NOT_LANDED, UNCHANGED, WAITING, PreflightError, TableStoppedError
from tidemark.formats.debezium.tombstones import table_of_topic
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.columns import TableSchema
from tidemark.model.event import UNTOLD, Kind
from tidemark.model.names import column_name
from tidemark.model.profile import ProfileEntry
from tidemark.spec import PipelineSpec, SourceSpec, TableSpec

MISNAMED = "misnamed"


def compaction_counts(pipeline: PipelineSpec) -> tuple[Column, ...]:
    """Aggregates over the records of a landing, for `misnamed_topic`."""
    if not pipeline.source.is_compacted:
        return ()
    schema, table = table_of_topic()
    well_named = schema.eqNullSafe(F.col("source_schema")) & table.eqNullSafe(F.col("source_table"))
    is_other = (F.col("kind") == Kind.ROW.value) & ~well_named
    misnamed = F.concat_ws(
        " holds rows of ", "topic", F.concat_ws(".", "source_schema", "source_table")
    )
    return (F.max(F.when(is_other, misnamed)).alias(MISNAMED),)


def misnamed_topic(counts: Mapping[str, Any]) -> PreflightError | None:
    """Why tombstones would not tell their table, in a landing with these ``counts``."""
    if not counts.get(MISNAMED):
        return None
    return PreflightError(
        f"{counts[MISNAMED]}, and is not named <prefix>.<schema>.<table> after it: nothing tells "
        "whose row a tombstone of a compacted topic ends (KEY-12)",
        state=NOT_LANDED,
        next_step="let the connector name its topics by its default, without a router, and fold "
        "them by a new pipeline; or set cleanup.policy=delete on the topic",
    )


def only_tombstones(profile_entries: Sequence[ProfileEntry]) -> bool:
    """There are row events, and none of them tells a row."""
    return bool(profile_entries) and all(
        profile_entry.schema_id == UNTOLD for profile_entry in profile_entries
    )


def refuse_other_record_key(
    source: SourceSpec, spec: TableSpec, schema: TableSchema, records: Sequence[RecordSchema]
) -> None:
    """Stop a table whose rows are not told apart by the key that compaction goes by (KEY-13)."""
    if not source.is_compacted:
        return
    table_key = set(schema.key)
    keys = [{column_name(name) for name in record.key} for record in records]
    other = next((key for key in keys if key != table_key), None)
    if other is None and table_key:
        return
    key_columns = ", ".join(sorted(other or ())) or "none"
    raise TableStoppedError(
        f"the records of {spec.source} have the key columns {key_columns}, but its rows have "
        f"{', '.join(schema.key) or 'none'}: compaction keeps one record of each record key",
        state=WAITING,
        next_step=f"leave key: of {spec.source} out of the pipeline file, or set it to the key of "
        "the records; a table without one needs a topic with cleanup.policy=delete",
    )


def refuse_unavailable(pipeline: PipelineSpec, spec: TableSpec, rows: int) -> None:
    """Stop a table of which updates leave values out: what held them may be gone (UNAV-3)."""
    if pipeline.source.is_compacted and rows:
        raise TableStoppedError(
            f"{rows} changes of {spec.source} leave out values that did not change, and the "
            "records that hold them may have been compacted away",
            state=WAITING,
            next_step="set REPLICA IDENTITY FULL on the table and take a new snapshot of it, or "
            "set cleanup.policy=delete on the topic",
        )


def refuse_other_order(pipeline: PipelineSpec, *, by_offset: bool) -> None:
    """Raise where earlier landings were ordered by position, which tombstones do not have."""
    if pipeline.source.is_compacted and not by_offset:
        raise PreflightError(
            f"changes of pipeline {pipeline.name} were landed by position before source.compacted "
            "was set to allow, and tombstones have none (KEY-13)",
            state=UNCHANGED,
            next_step="follow the compacted topics by a new pipeline; or set source.compacted: "
            "refuse again, and cleanup.policy=delete on the topics",
        )
