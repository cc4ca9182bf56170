"""Choose: how far the next cut goes, and what it holds, from light columns of the changelog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.fold.admit import CHANGES, Zone, with_zone
from tidemark.fold.survey import Survey, highest_places, survey
from tidemark.gate.by_offset import offset_cut
from tidemark.gate.by_watermark import newest_watermarks, watermark_cut
from tidemark.model.cut import Cut, Frontier, GateMode, Hold, HoldCode
from tidemark.model.event import Kind
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place
from tidemark.model.progress import Progress
from tidemark.runs.ddl import DdlEffects, add_up, collect_ddl
from tidemark.runs.land import Landed
from tidemark.spec import PipelineSpec

SAID = (HoldCode.GATE_NO_WATERMARK, HoldCode.UNTIL)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A cut and what it holds.

    zoned: the changelog's events with their zone, one frame for the tables that stand at the
    frontier and one for each that stands lower. watermarks: newest per partition.
    """

    cut: Cut
    watermarks: Mapping[TopicPartition, int]
    zoned: Mapping[TableName | None, DataFrame]
    survey: Survey
    effects: DdlEffects

    @property
    def hold(self) -> Hold | None:
        """Why the cut goes no further; None when nothing waits above it."""
        waits = any(group.zone is Zone.HELD for group in self.survey.groups)
        hold = self.cut.hold
        return hold if hold is not None and (waits or hold.code in SAID) else None

    def events_of(self, table: TableName) -> DataFrame:
        """The events of ``table``, of every zone."""
        return self.zoned.get(table, self.zoned[None]).where(_is_table(table))


def choose_cut(
    pipeline: PipelineSpec,
    events: DataFrame,
    landed: Landed,
    progress: Progress,
    until: datetime | None,
) -> Chosen:
    """The next cut of ``events`` (changelog rows since the oldest that may be held).

    until: source time that the cut may not pass.
    """
    seen = _watermarks(events, progress) if pipeline.source.gate is GateMode.WATERMARK else {}
    watermarks = newest_watermarks(progress.watermarks, seen)
    if pipeline.source.gate is GateMode.WATERMARK:
        cut = watermark_cut(progress, watermarks, landed.plan.data_places, until)
    else:
        late = _first_after(events, until) if until is not None else {}
        cut = offset_cut(progress, landed.mark.offsets, late, until)
    zoned = _zoned(events, cut, progress)
    found = survey(list(zoned.values()), progress.landing)
    cut = replace(cut, frontier=_with_reached(cut.frontier, progress, found))
    in_cut = zoned[None].where(F.col("zone") == Zone.CUT.value)
    has_ddl = any(g.kind is Kind.DDL and g.zone is Zone.CUT for g in found.groups)
    statements = collect_ddl(in_cut) if has_ddl else ()
    effects = add_up(pipeline.source, statements, pipeline.source.modes.connector)
    return Chosen(cut, watermarks, zoned, found, effects)


def _watermarks(events: DataFrame, progress: Progress) -> dict[TopicPartition, int]:
    rows = (
        events.where(F.col("kind") == Kind.WATERMARK.value)
        .where(F.col("landing") > progress.landing)
        .groupBy("topic", "partition")
        .agg(F.max("watermark").alias("watermark"))
        .collect()
    )
    return {TopicPartition(TopicName(r["topic"]), r["partition"]): r["watermark"] for r in rows}


def _first_after(events: DataFrame, until: datetime) -> dict[TopicPartition, int]:
    rows = (
        events.where(F.col("kind").isin(*CHANGES) & (F.col("commit_time") >= F.lit(until)))
        .groupBy("topic", "partition")
        .agg(F.min("offset").alias("offset"))
        .collect()
    )
    return {TopicPartition(TopicName(r["topic"]), r["partition"]): r["offset"] for r in rows}


def _is_table(table: TableName) -> Column:
    return (F.col("source_schema") == table.schema) & (F.col("source_table") == table.table)


def _zoned(events: DataFrame, cut: Cut, progress: Progress) -> dict[TableName | None, DataFrame]:
    """Events with zones: a table that stands lower has bounds of its own."""

    def zone(frame: DataFrame, old: Frontier) -> DataFrame:
        return with_zone(frame, cut.mode, old, cut.frontier, gated_landing=progress.landing)

    apart = F.coalesce(
        reduce(lambda a, b: a | b, map(_is_table, progress.behind), F.lit(False)), F.lit(False)
    )
    frames: dict[TableName | None, DataFrame] = {
        None: zone(events.where(~apart), progress.frontier)
    }
    for table, frontier in progress.behind.items():
        frames[table] = zone(events.where(_is_table(table)), frontier)
    return frames


def _with_reached(frontier: Frontier, progress: Progress, found: Survey) -> Frontier:
    """``frontier`` with the greatest place that each partition settles (POS-20)."""
    settled = highest_places([group for group in found.groups if group.zone is Zone.CUT])
    kept = progress.frontier.reached
    places = kept.keys() | settled.keys()
    reached = {
        place: max(kept.get(place, Place("")), settled.get(place, Place("")))
        for place in sorted(places)
    }
    return replace(frontier, reached=reached) if frontier.offsets else frontier
