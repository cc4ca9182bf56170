"""How the positions of a landing are made, which some sources tell only once they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.errors import UNCHANGED, ActionRefusedError, PreflightError
from tidemark.formats.avro.wire_format import Schemas
from tidemark.formats.debezium.position import lowest_uncommitted, snapshot_lsn
from tidemark.formats.decoder import encoding_of
from tidemark.model.cut import GateMode
from tidemark.model.event import Kind
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import OrderedBy, Ordering, SnapshotRead
from tidemark.model.progress import LandingMark
from tidemark.model.until import Until
from tidemark.runs.landing.compacted import refuse_other_order
from tidemark.spec import PipelineSpec, SourceFormat
from tidemark.topics.preflight import TopicPlan


def expected_ordering(pipeline: PipelineSpec, mark: LandingMark) -> Ordering:
    """What the landings before let expect: positions, until the first changes have none.

    Tombstones that delete have none, so compacted topics begin by the offset (KEY-13).
    """
    first = OrderedBy.OFFSET if pipeline.source.is_compacted else OrderedBy.POSITION
    return Ordering(mark.ordered_by or first, mark.snapshot_lsn)


def ordering_counts(
    pipeline: PipelineSpec, ordering: Ordering, schemas: Schemas
) -> tuple[Column, ...]:
    """Aggregates over records decoded by ``ordering``, for `true_ordering` and `marked`.

    schemas: that they were decoded with, if they are Avro.
    """
    is_change = F.col("kind").isin(Kind.ROW.value, Kind.TRUNCATE.value)
    counts = (F.count(F.when(is_change, 1)).alias("changes"),)
    is_postgres = pipeline.source.format is SourceFormat.DEBEZIUM_POSTGRES
    if not is_postgres or ordering.by is OrderedBy.OFFSET:
        return counts
    lowest = lowest_uncommitted(ordering)
    highest = snapshot_lsn(encoding=encoding_of(pipeline.source, schemas))
    return (*counts, highest.alias("snapshot_lsn"), lowest.alias("lowest_uncommitted"))


def true_ordering(
    pipeline: PipelineSpec, mark: LandingMark, ordering: Ordering, counts: Mapping[str, Any]
) -> Ordering:
    """The ordering that records with these ``counts`` need, which were decoded by ``ordering``.

    A source has no positions if the first landing that has changes has none of them placed
    (POS-12).
    """
    if pipeline.source.format.is_canal:
        return ordering
    if mark.ordered_by is None and counts["unplaced"] and not counts["changes"]:
        return replace(ordering, by=OrderedBy.OFFSET)
    return ordering


def is_below_snapshot(mark: LandingMark, counts: Mapping[str, Any]) -> bool:
    """Whether a change that knows no commit may have come before or after a snapshot (POS-7).

    Its LSN is below that of a new connector's snapshot, which was landed before or with it.
    """
    lowest = counts.get("lowest_uncommitted")
    newest = max(mark.snapshot_lsn, int(counts.get("snapshot_lsn") or "0", 16))
    return lowest is not None and int(lowest, 16) < newest


def ordered_by_reads(
    ordering: Ordering, mark: LandingMark, rows: Iterable[Mapping[str, Any]]
) -> Ordering:
    """``ordering`` by all snapshots that changes of the landing may have come before or after.

    rows: of `snapshots_read`. All came after the one of earlier landings if that is not kept any
    more.
    """
    reads: dict[int, SnapshotRead] = {}
    for row in rows:
        lsn, place = int(row["lsn"], 16), TopicPartition(TopicName(row["topic"]), row["partition"])
        known = reads.get(lsn, SnapshotRead(lsn, row["time_ms"]))
        first = {**known.first, place: row["offset"]}
        reads[lsn] = replace(known, time_ms=min(known.time_ms, row["time_ms"]), first=first)
    landed = mark.snapshot_lsn
    if landed and landed not in reads:
        reads[landed] = SnapshotRead(landed, time_ms=0)
    return replace(ordering, snapshot_lsn=0, reads=tuple(reads[lsn] for lsn in sorted(reads)))


def marked(
    pipeline: PipelineSpec, mark: LandingMark, ordering: Ordering, counts: Mapping[str, Any]
) -> LandingMark:
    """``mark`` with what its records, decoded by ``ordering``, tell of a Debezium source."""
    if pipeline.source.format.is_canal:
        return mark
    ordered_by = mark.ordered_by or (ordering.by if counts["changes"] else None)
    snapshot = int(counts.get("snapshot_lsn") or "0", 16)
    return replace(mark, ordered_by=ordered_by, snapshot_lsn=max(mark.snapshot_lsn, snapshot))


def refuse_unordered(pipeline: PipelineSpec, plan: TopicPlan, ordering: Ordering) -> None:
    """Raise where the offset would have to order and cannot: several partitions, or a gate."""
    refuse_other_order(pipeline, by_offset=ordering.by is OrderedBy.OFFSET)
    if ordering.by is OrderedBy.POSITION:
        return
    cause = f"the changes of pipeline {pipeline.name} have no position"
    if pipeline.source.gate is not GateMode.NONE:
        raise PreflightError(
            f"{cause}, so gate {pipeline.source.gate} has nothing to go by (POS-12)",
            state=UNCHANGED,
            next_step="let the connector write its source block whole, or set gate: none in the "
            "pipeline file for a topic with one partition",
        )
    wide = [t for t in plan.facts if t.name in plan.data and t.partitions > 1]
    if wide:
        raise PreflightError(
            f"{cause}, and topic {wide[0].name} has {wide[0].partitions} partitions: only the "
            "offset of a single one orders its changes (POS-11)",
            state=UNCHANGED,
            next_step="let the connector write its source block whole, or send the changes to a "
            "topic with one partition",
        )


def refuse_unplaced(pipeline: PipelineSpec, until: Until | None, ordering: Ordering) -> None:
    """Raise where a run is capped at a position, and the source's changes have none (POS-12)."""
    if until is None or until.is_time or ordering.by is OrderedBy.POSITION:
        return
    raise ActionRefusedError(
        f"{until.text} cannot cap a run of pipeline {pipeline.name}: its changes tell no position, "
        "so their offsets order them",
        state=UNCHANGED,
        next_step="give a time as until, or leave it out to go as far as the gate allows",
    )
