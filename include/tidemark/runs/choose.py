"""Choose: how far the next cut goes, and what it holds, from light columns of the changelog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.errors import EpochSuspectError
from tidemark.fold.admit import in_epochs, with_zone
from tidemark.fold.survey import survey
from tidemark.formats.avro.wire import Schemas, named_in
from tidemark.formats.decoder import decoder_of
from tidemark.gate.epoch import suspects
from tidemark.gate.next_cut import Decision, next_cut, with_reached
from tidemark.model.cut import Cut, Frontier, Hold, HoldCode
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.progress import Progress
from tidemark.model.quarantine import Entry
from tidemark.model.survey import Survey, count
from tidemark.model.zone import Zone
from tidemark.runs.ddl import add_up, collect_ddl
from tidemark.runs.ddl_effects import DdlEffects
from tidemark.runs.land import Landed
from tidemark.runs.look import look
from tidemark.spec import PipelineSpec

SAID = (HoldCode.GATE_NO_WATERMARK, HoldCode.UNTIL)


@dataclass(frozen=True, slots=True)
class Replay:
    """What of the quarantine a cut tries again.

    entries: that wait and are meant. again: changelog rows of their records, as they are read now,
    in zone REPLAYED. settled: row events of earlier cuts.
    """

    entries: tuple[Entry, ...]
    again: DataFrame
    settled: DataFrame


@dataclass(frozen=True, slots=True)
class Chosen:
    """A cut and what it holds.

    zoned: the changelog's events with their zone, one frame for the tables that stand at the
    frontier and one for each that stands lower. schemas: that its records were written with.
    set_aside: tables of which earlier cuts set changes aside. replay: what of it is tried again.
    """

    decision: Decision
    zoned: Mapping[TableName | None, DataFrame]
    effects: DdlEffects
    schemas: Schemas
    set_aside: frozenset[TableName] = frozenset()
    replay: Replay | None = None

    @property
    def cut(self) -> Cut:
        """How far it goes."""
        return self.decision.cut

    @property
    def survey(self) -> Survey:
        """What it holds, and what waits above it."""
        return self.decision.survey

    @property
    def hold(self) -> Hold | None:
        """Why the cut goes no further; None when nothing waits above it."""
        waits = any(group.zone is Zone.HELD for group in self.survey.groups)
        hold = self.cut.hold
        return hold if hold is not None and (waits or hold.code in SAID) else None

    def events_of(self, table: TableName) -> DataFrame:
        """The events of ``table``, of every zone."""
        return self.zoned.get(table, self.zoned[None]).where(is_table(table))

    def row_events(self, table: TableName) -> DataFrame:
        """The row events of ``table`` that the cut takes, and those that it tries again."""
        in_cut = (F.col("zone") == Zone.CUT.value) & (F.col("kind") == Kind.ROW.value)
        events = self.events_of(table).where(in_cut)
        if self.replay is None:
            return events
        return events.unionByName(self.replay.again.where(is_table(table)))

    def schemas_of(self, table: TableName) -> Schemas:
        """The schemas that the row events of ``table`` in the cut were written with.

        All of them where the cut tries again what earlier ones set aside.
        """
        if self.replay is not None:
            return self.schemas
        groups = self.survey.of(table, Zone.CUT)
        return named_in(self.schemas, (group.schema_id for group in groups))


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
    events = in_epochs(events, progress.epochs)
    sight = look(pipeline, events, landed, progress, until)
    cut = next_cut(pipeline.source.gate, progress, sight, until)
    zoned = _zoned(events, cut, progress)
    found = survey(list(zoned.values()), progress.landing)
    _refuse_new_epoch(pipeline, progress, found)
    cut = with_reached(cut, progress, found)
    has_ddl = any(g.kind is Kind.DDL and g.zone is Zone.CUT for g in found.groups)
    decoder = decoder_of(pipeline.source, landed.schemas)
    # Tables that stand lower have theirs still before them.
    together = reduce(DataFrame.unionByName, zoned.values())
    in_cut, text = together.where(F.col("zone") == Zone.CUT.value), decoder.text
    statements = collect_ddl(in_cut, text) if has_ddl else ()
    effects = add_up(pipeline.source, statements, pipeline.source.modes.connector)
    decision = Decision(cut, sight, found)
    return Chosen(decision, zoned, effects, landed.schemas, progress.set_aside)


def _refuse_new_epoch(pipeline: PipelineSpec, progress: Progress, found: Survey) -> None:
    """Raise when positions fell, so that what is new looks like what was published (POS-16)."""
    newer = suspects(progress, pipeline.source.gate, found.groups)
    if newer:
        raise EpochSuspectError(
            f"{count(newer)} changes of pipeline {pipeline.name}, some of them newer than all that "
            f"is published, stand at lower positions, the first ones in {newer[0].at}: the "
            "source's log has begun anew",
            state="they are landed; nothing of them is published, and no table is changed",
            next_step="find out what happened to the source; if its log began anew, say so: "
            f"tidemark handover {pipeline.name} --help",
        )


def is_table(table: TableName) -> Column:
    """Whether a changelog row belongs to ``table``."""
    return (F.col("source_schema") == table.schema) & (F.col("source_table") == table.table)


def _zoned(events: DataFrame, cut: Cut, progress: Progress) -> dict[TableName | None, DataFrame]:
    """Events with zones: a table that stands lower has bounds of its own."""

    def zone(frame: DataFrame, old: Frontier) -> DataFrame:
        return with_zone(frame, cut, old, gated_landing=progress.landing)

    apart = F.coalesce(
        reduce(lambda a, b: a | b, map(is_table, progress.behind), F.lit(False)), F.lit(False)
    )
    frames: dict[TableName | None, DataFrame] = {
        None: zone(events.where(~apart), progress.frontier)
    }
    for table, frontier in progress.behind.items():
        frames[table] = zone(events.where(is_table(table)), frontier)
    return frames
