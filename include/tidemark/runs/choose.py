"""Choose: how far the next cut goes, and what it holds, from light columns of the changelog."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
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
from tidemark.lake.landing import read_changelog
from tidemark.model.cut import Cut, Frontier, Hold, HoldCode
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.progress import Progress
from tidemark.model.survey import Survey, count
from tidemark.model.zone import Zone
from tidemark.runs.ddl import add_up, collect_ddl
from tidemark.runs.ddl_effects import DdlEffects, DdlRecord
from tidemark.runs.land import Landed
from tidemark.runs.look import look
from tidemark.runs.run import Run
from tidemark.spec import PipelineSpec

SAID = (HoldCode.GATE_NO_WATERMARK, HoldCode.UNTIL)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A cut and what it holds.

    zoned: the changelog's events with their zone, one frame for the tables that stand at the
    frontier and one for each that stands lower. schemas: that its records were written with.
    """

    decision: Decision
    zoned: Mapping[TableName | None, DataFrame]
    effects: DdlEffects
    schemas: Schemas

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

    def schemas_of(self, table: TableName) -> Schemas:
        """The schemas that the row events of ``table`` in the cut were written with."""
        groups = self.survey.of(table, Zone.CUT)
        return named_in(self.schemas, (group.schema_id for group in groups))


def choose_cut(run: Run, events: DataFrame, landed: Landed, progress: Progress) -> Chosen:
    """The next cut of ``events`` (changelog rows since the oldest that may be held)."""
    pipeline, until = run.pipeline, run.request.until
    events = in_epochs(events, progress.epochs)
    sight = look(pipeline, events, landed, progress, until)
    cut = next_cut(pipeline.source.gate, progress, sight, until)
    zoned = _zoned(events, cut, progress)
    found = survey(list(zoned.values()), progress.landing)
    _refuse_new_epoch(pipeline, progress, found)
    cut = with_reached(cut, progress, found)
    chosen = Chosen(Decision(cut, sight, found), zoned, DdlEffects(), landed.schemas)
    zones = {Zone.CUT, Zone.SETTLED} if progress.behind else {Zone.CUT}
    if any(g.kind is Kind.DDL and g.zone in zones for g in found.groups):
        return replace(chosen, effects=_effects(run, events, progress, chosen))
    return chosen


def _effects(run: Run, events: DataFrame, progress: Progress, chosen: Chosen) -> DdlEffects:
    """What the cut's statements do to tables, whichever a record names beside them (MSG-46).

    Of a table that stands lower they are those above its own frontier.
    """
    text = decoder_of(run.pipeline.source, chosen.schemas).text
    statements = events.where(F.col("kind") == Kind.DDL.value)

    def added_up(frontier: Frontier) -> DdlEffects:
        zoned = with_zone(statements, chosen.cut, frontier, gated_landing=progress.landing)
        told = collect_ddl(zoned.where(F.col("zone") == Zone.CUT.value), text)
        effects = add_up(run.pipeline.source, told, judged=progress.judged)
        if not effects.unknown_shadows or not progress.landing:
            return effects
        earlier = _statements_about(run, progress, effects.unknown_shadows, text)
        return add_up(run.pipeline.source, told, earlier, progress.judged)

    effects = added_up(progress.frontier)
    for table, frontier in sorted(progress.behind.items()):
        effects.take(table, added_up(frontier))
    return effects


def _statements_about(
    run: Run, progress: Progress, tables: Collection[TableName], text: Column
) -> tuple[DdlRecord, ...]:
    """The schema changes that name one of ``tables`` in all that was ever landed."""
    landed = read_changelog(run.world.spark, run.world.catalog, run.system, 1)
    told = reduce(lambda a, b: a | b, (text.contains(table.table) for table in tables))
    return collect_ddl(in_epochs(landed, progress.epochs).where(told), text)


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
