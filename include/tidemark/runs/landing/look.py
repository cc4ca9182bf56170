"""Look: what the gate decides by, collected from light columns of the changelog."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.fold.admit import answer
from tidemark.formats.decoder import decoder_of
from tidemark.gate.by_watermark import newest_watermarks
from tidemark.gate.retired_topics import lagging_topics
from tidemark.gate.statistics import (
    PartitionStatistics,
    StreamStatistics,
    first_capped,
    has_nothing_new,
    lowest_capped,
    overtaken_shares,
    partitions,
    place_of,
    shares,
    snapshots,
    snapshots_of,
    watermarks,
)
from tidemark.model.checkpoint_status import BOUNDARIES
from tidemark.model.cut import GateMode
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import OrderedBy
from tidemark.model.progress import Progress
from tidemark.model.summary import Summary, listed
from tidemark.model.transaction import Boundary, Share, boundary_of, share_of
from tidemark.model.until import Cap, Until
from tidemark.runs.landing.departures import departures
from tidemark.runs.landing.land import Landed
from tidemark.spec import OtherTables, PipelineSpec, SourceFormat


def look(
    pipeline: PipelineSpec,
    events: DataFrame,
    landed: Landed,
    progress: Progress,
    until: Cap | None,
) -> StreamStatistics:
    """What the pipeline's gate needs to know of ``events``, changelog rows that may be held."""
    places, offsets, unread = landed.plan.data_places, landed.mark.offsets, _unread(landed)
    match pipeline.source.gate:
        case GateMode.WATERMARK:
            newest = _rows(events, watermarks(progress.landing))
            seen = {place_of(row): row["watermark"] for row in newest}
            known = newest_watermarks(progress.watermarks, seen)
            lag = lagging_topics(progress, known, places, unread)
            left = departures(pipeline, events) if lag else ()
            return StreamStatistics(places, offsets, unread, watermarks=seen, departures=left)
        case GateMode.NONE:
            read = StreamStatistics(places, offsets, unread, expansions=landed.mark.expansions)
            return read if until is None else _capped(read, events, landed, progress, until)
        case GateMode.TRANSACTION:
            return _transactions(pipeline, events, landed, progress, until)


def first_waiting(events: DataFrame, progress: Progress, until: Cap) -> dict[TopicPartition, int]:
    """Per partition the offset of the first change of ``events`` that waits by ``until``."""
    rows = _rows(events, first_capped(until.waits(progress.epoch)))
    return {place_of(row): row["offset"] for row in rows}


def _capped(
    read: StreamStatistics, events: DataFrame, landed: Landed, progress: Progress, until: Cap
) -> StreamStatistics:
    """``read`` with where its partitions end by ``until``.

    Clocks step back, so a time is no place of the log. Where keys may have moved between partitions
    it has to be one (TOP-3): that of the first change which waits by its time. Offsets tell none.
    """
    waits = until.waits(progress.epoch)
    in_log_order = landed.mark.ordered_by is OrderedBy.POSITION
    if in_log_order and read.expansions and isinstance(until, Until) and until.is_time:
        (lowest,) = _rows(events, lowest_capped(waits))
        if lowest["position"] is not None:
            waits = f"position >= '{lowest['position']}'"
    first = {place_of(row): row["offset"] for row in _rows(events, first_capped(waits))}
    return replace(read, first_capped=first, in_log_order=in_log_order)


def _transactions(
    pipeline: PipelineSpec,
    events: DataFrame,
    landed: Landed,
    progress: Progress,
    until: Cap | None,
) -> StreamStatistics:
    bound, read_at = progress.frontier.bound, progress.frontier.read_at
    text = decoder_of(pipeline.source, landed.schemas).text
    waits = until.waits(progress.epoch) if until is not None else None
    question = partitions(bound, progress.landing, waits)
    is_postgres = pipeline.source.format is SourceFormat.DEBEZIUM_POSTGRES
    seen = {place_of(row): PartitionStatistics.of(row) for row in _rows(events, question)}
    unread, overtaken = _unread(landed), tuple[Share, ...]()
    if progress.frontier.trails_snapshot:
        below = overtaken_shares(progress.frontier, has_positions=is_postgres)
        overtaken = tuple(map(share_of, _rows(events, below)))
    return StreamStatistics(
        landed.plan.data_places,
        landed.mark.offsets,
        unread,
        is_quiet=has_nothing_new(seen, unread),
        boundaries=tuple(_boundaries(events, progress, text)),
        shares=tuple(map(share_of, _rows(events, shares(bound, has_positions=is_postgres)))),
        overtaken=overtaken,
        partitions=seen,
        snapshots=snapshots_of(_rows(events, snapshots(bound, read_at, progress.landing))),
        followed=_followed(pipeline),
        signals=str(pipeline.source.signal_table) if pipeline.source.signal_table else None,
    )


def _unread(landed: Landed) -> frozenset[TopicPartition]:
    """Partitions that were not read to the end that they had when the run was planned."""
    return frozenset(
        place
        for place, span in landed.plan.ranges.items()
        if landed.mark.offsets.get(place, 0) < span.end
    )


def _rows(events: DataFrame, question: Summary) -> Iterable[Mapping[str, Any]]:
    """The answer as Python values; columnar on the way, as there may be very many."""
    rows: list[Mapping[str, Any]] = answer(events, question).toArrow().to_pylist()
    return rows


def _boundaries(events: DataFrame, progress: Progress, text: Column) -> Iterable[Boundary]:
    """text: of their values, as JSON."""
    rows = (
        events.where(f"kind IN ({listed(BOUNDARIES)})")
        .select(
            "topic",
            "partition",
            "offset",
            text.alias("value"),
            F.unix_millis("kafka_time").alias("kafka_ms"),
        )
        .toArrow()
        .to_pylist()
    )
    settled = progress.frontier.offsets
    for row in rows:
        place = place_of(row)
        if row["offset"] >= settled.get(place, 0):
            yield boundary_of(place, row["offset"], row["value"], row["kafka_ms"])


def _followed(pipeline: PipelineSpec) -> frozenset[str] | None:
    """Tables that a transaction waits for; tables whose topics nobody reads can never come.

    Signals are waited for, as they say what the rows behind them are.
    """
    if pipeline.other_tables is OtherTables.FOLLOW:
        return None
    signals = pipeline.source.signal_table
    declared = frozenset(str(table.source) for table in pipeline.tables)
    declared |= {str(rename.old) for rename in pipeline.renames}
    return declared if signals is None else declared | {str(signals)}
