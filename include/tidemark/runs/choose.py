"""Choose: how far the next cut goes, and what it holds, from light columns of the changelog."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.conditions import any_of
from tidemark.fold.profile import profile
from tidemark.fold.renamed import is_table
from tidemark.formats.avro.wire_format import Schemas, named_in
from tidemark.formats.decoder import decoder_of
from tidemark.gate.by_offset import holds_rows_below
from tidemark.gate.next_cut import Decision, ended_at, next_cut, with_reached
from tidemark.gate.statistics import StreamStatistics
from tidemark.lake.history import read_history
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import Cut, Frontier, GateMode, Hold, HoldCode
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.position import place_of
from tidemark.model.profile import BatchProfile
from tidemark.model.progress import Progress
from tidemark.model.quarantine import Entry
from tidemark.model.renames import Rename, Renames
from tidemark.model.until import Barrier, Cap
from tidemark.runs.changelog import Changelog
from tidemark.runs.ddl.barriers import barrier_of, barriers_of_ended, published_place
from tidemark.runs.ddl.effects import DdlEffects, DdlRecord, DdlStop
from tidemark.runs.ddl.presence import was_there
from tidemark.runs.ddl.records import add_up, collect_ddl, half_described, stands_at
from tidemark.runs.ddl.table_swaps import hold_table_swaps
from tidemark.runs.ddl.unread import refuse_unread_statements
from tidemark.runs.landing.land import Landed
from tidemark.runs.landing.look import first_waiting, look
from tidemark.runs.read_since import read_since
from tidemark.runs.renamed_tables import first_rename
from tidemark.runs.run import Run
from tidemark.runs.targets import is_folded, targets_of
from tidemark.runs.waiting import Waiting, read_waiting_events, tables_alike, towards
from tidemark.spec import OtherTables, PipelineSpec

UNREAD = "partitions are not read up to it"
ALWAYS_SHOWN = (HoldCode.GATE_NO_WATERMARK, HoldCode.UNTIL)


@dataclass(frozen=True, slots=True)
class Replay:
    """What of the quarantine a cut tries again.

    entries: that wait and are meant. again: changelog rows of their records, as they are read now,
    with status REPLAYED. settled: row events of earlier cuts. since: likewise, of records that an
    earlier replay has read; None where there are none. newer: by table, those changes of both that
    may be newer, once somebody asked for them.
    """

    entries: tuple[Entry, ...]
    again: DataFrame
    settled: DataFrame
    since: DataFrame | None = None
    newer: dict[TableName, DataFrame] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A cut and what it holds.

    waiting: the changelog's events with their status. schemas: that its records were written with.
    changelog: under the names of now. quarantined: tables of which earlier cuts quarantined
    changes. ends: tables that go less far than the cut, and how far. replay: what of the
    quarantined is tried again. replays_later: whether some of what is to be tried again may be of
    tables that are folded again. refolded: tables whose refold ends with the cut (REFOLD-1).
    read_since: `read_since.read_since` of it.
    """

    decision: Decision
    waiting: Waiting
    effects: DdlEffects
    schemas: Schemas
    changelog: Changelog
    quarantined: frozenset[TableName] = frozenset()
    ends: Mapping[TableName, Frontier] = field(default_factory=dict)
    replay: Replay | None = None
    replays_later: bool = False
    refolded: frozenset[TableName] = frozenset()
    read_since: Callable[[], DataFrame | None] = lambda: None

    @property
    def run(self) -> Run:
        """The run, with the names that tables have at its end."""
        return self.changelog.run

    @property
    def cut(self) -> Cut:
        """How far it goes."""
        return self.decision.cut

    @property
    def renames(self) -> Sequence[Rename]:
        """Under which its tables have the names of now."""
        return self.changelog.renames

    @property
    def profile(self) -> BatchProfile:
        """What it holds, and what waits above it."""
        return self.decision.profile

    @property
    def hold(self) -> Hold | None:
        """Why the cut goes no further; None when nothing waits above it."""
        waits = any(
            profile_entry.status is CheckpointStatus.HELD
            for profile_entry in self.profile.profile_entries
        )
        hold = self.cut.hold
        return hold if hold is not None and (waits or hold.code in ALWAYS_SHOWN) else None

    def events_of(self, table: TableName) -> DataFrame:
        """The events of ``table``, of every status."""
        return self.waiting.events_of(table)

    def row_events(self, table: TableName) -> DataFrame:
        """The row events of ``table`` that the cut takes, and those that it tries again."""
        in_cut = (F.col("status") == CheckpointStatus.PENDING.value) & (
            F.col("kind") == Kind.ROW.value
        )
        events = self.events_of(table).where(in_cut)
        if self.replay is None:
            return events
        return events.unionByName(self.replay.again.where(is_table(table)))

    def schemas_of(self, table: TableName) -> Schemas:
        """The schemas that the row events of ``table`` in the cut were written with.

        All of them where the cut tries again what earlier ones quarantined.
        """
        if self.replay is not None:
            return self.schemas
        profile_entries = self.profile.of(table, CheckpointStatus.PENDING)
        return named_in(
            self.schemas, (profile_entry.schema_id for profile_entry in profile_entries)
        )


def choose_cut(run: Run, changelog: Changelog, landed: Landed) -> Chosen:
    """The next cut of what waits in ``changelog``, which has the names of the records.

    It ends at the first statement that gives a table another key (SCHEMA-11).
    """
    return _choose(run, changelog, landed, run.request.until)


def _choose(run: Run, changelog: Changelog, landed: Landed, until: Cap | None) -> Chosen:
    pipeline, progress, events = run.pipeline, changelog.progress, changelog.waiting()
    statistics = look(pipeline, events, landed, progress, until)
    if isinstance(until, Barrier) and _lags(pipeline, progress, statistics, until):
        until = replace(until, excluded=UNREAD)
        statistics = look(pipeline, events, landed, progress, until)
    cut = next_cut(pipeline.source.gate, progress, statistics, until)
    reading = _Reading(run, changelog, cut, landed)
    others = frozenset(table.source for table in pipeline.tables if table.was is None)
    names = Renames(run.renames, progress.renames, others)
    effects = reading.effects(names) if names.due else None
    renames = names.with_renames(effects.renames if effects else ())
    named = changelog.under(renames)
    read_by = dict(reading.cuts)
    replayed = cache(partial(read_since, run, named, landed))
    read_again = replayed() if progress.refolds else None
    waiting = read_waiting_events(named, cut, read_by, read_again)
    batch_profile = profile(waiting.frames, progress.landing)
    refuse_unread_statements(
        pipeline, progress, landed.plan.schema_changes, batch_profile, waiting.at_frontier
    )
    cut = with_reached(cut, progress, batch_profile)
    statuses = (
        {CheckpointStatus.PENDING, CheckpointStatus.COMMITTED}
        if progress.behind
        else {CheckpointStatus.PENDING}
    )
    if effects is None and any(
        g.kind is Kind.DDL and g.status in statuses for g in batch_profile.profile_entries
    ):
        effects = reading.effects(names)
        if reading.cuts != read_by:
            waiting = read_waiting_events(named, cut, reading.cuts, read_again)
            batch_profile = profile(waiting.frames, progress.landing)
    effects = effects or DdlEffects()
    for followed in run.renamed:
        if not followed.stays and followed.rename.position is not None:
            effects.drop(followed.spec.source, followed.rename.position)
    before = published_place(progress.frontier, landed.plan.schema_changes)
    changed = effects.key_changes.keys() - progress.behind
    barriers = [barrier_of(pipeline, table, effects, before) for table in changed]
    renaming = first_rename(run, effects, batch_profile, before)
    barriers += [renaming.barrier] if renaming is not None else []
    if effects.ended:
        history = read_history(run.world.catalog, run.system)
        known = targets_of(pipeline, history, progress).keys() - progress.behind
        barriers += barriers_of_ended(effects, before, known)
    barrier = min(filter(None, barriers), key=lambda b: (b.position, b.table), default=None)
    if barrier is not None and barrier != until:
        return _choose(run, changelog, landed, barrier)
    if renaming is not None and not run.renamed:
        waits = renaming.waits_for(run, effects, batch_profile)
        if waits:
            return _choose(run, changelog, landed, replace(renaming.barrier, excluded=waits))
        run = run.following(renaming.renames)
        return _choose(run, replace(changelog, run=run), landed, until)
    ends = {
        table: _end(table_cut, progress, batch_profile, table)
        for table, table_cut in reading.cuts.items()
        if table_cut.frontier != reading.cut.frontier
    }
    refolded = frozenset(
        table
        for table, refold in progress.refolds.items()
        if reading.cuts[table].frontier == refold.until
    )
    decision = Decision(cut, statistics, batch_profile)
    return Chosen(
        *(decision, waiting, effects, landed.schemas, named, progress.quarantined, ends),
        refolded=refolded,
        read_since=replayed,
    )


def _lags(
    pipeline: PipelineSpec, progress: Progress, statistics: StreamStatistics, barrier: Barrier
) -> bool:
    """Whether rows from below the statement may be unread, which no gate says (GATE-N2, TOP-3).

    Where the offset is all the order there is, the statement stands among its table's rows.
    """
    if pipeline.source.gate is not GateMode.NONE or place_of(barrier.position) is None:
        return False
    unread = statistics.unread & set(statistics.places) - statistics.first_capped.keys()
    return bool(unread) or holds_rows_below(progress, statistics)


def _end(
    table_cut: Cut, progress: Progress, batch_profile: BatchProfile, table: TableName
) -> Frontier:
    """How far ``table`` is once ``table_cut``, its part of the cut, is published."""
    profile_entries = (
        g for g in batch_profile.profile_entries if g.table == (table.schema, table.table)
    )
    before = replace(progress, frontier=progress.frontier_of(table))
    return with_reached(table_cut, before, BatchProfile(tuple(profile_entries))).frontier


@dataclass(frozen=True, slots=True)
class _Reading:
    """Where the statements of a cut are read.

    changelog: with the names that records have. cuts: tables that stand lower -> their part of the
    cut; where it ends at a statement is known with the effects. tables: those that have a target,
    or get one by what waits.
    """

    run: Run
    changelog: Changelog
    cut: Cut
    landed: Landed
    cuts: dict[TableName, Cut] = field(default_factory=dict)
    tables: set[TableName] = field(default_factory=set)

    def __post_init__(self) -> None:
        """What was broken off or given up in earlier cuts counts for them as it did then."""
        void = tuple(self.progress.void | set(self.cut.void))
        skipped = {**dict.fromkeys(self.progress.given_up, frozenset[str]()), **self.cut.skipped}
        whole = replace(self.cut, void=void, skipped=skipped)
        for table in self.progress.behind:
            refold = self.progress.refolds.get(table)
            self.cuts[table] = replace(whole, frontier=refold.until) if refold else whole

    @property
    def progress(self) -> Progress:
        return self.changelog.progress

    def effects(self, names: Renames) -> DdlEffects:
        """What statements do to tables, whichever a record names beside them (MSG-46).

        Of a table that stands lower they are those above its own frontier.
        """
        self.tables.update(_followed(self.changelog))
        effects = self._above(None, names, self.cut)
        for tables in tables_alike(self.progress, self.cuts):
            above = self._above(tables[0], names, self.cuts[tables[0]])
            for table in tables:
                effects.take(table, self._up_to_barrier(table, names, above))
        hold_table_swaps(self.changelog, self.cut, names, effects)
        due = Renames(names.declared, (*names.done, *effects.renames)).due
        borne = {rename.old for rename in due}
        for rename in due:
            if rename.new not in borne:
                self._refuse_early(rename, effects)
        return effects

    def _up_to_barrier(self, table: TableName, names: Renames, above: DdlEffects) -> DdlEffects:
        """``above``, or what of it is below the statement that ends the cut of ``table``."""
        frontier = self.progress.behind[table]
        before = published_place(frontier, self.landed.plan.schema_changes)
        barrier = barrier_of(self.run.pipeline, table, above, before)
        if barrier is None:
            return above
        first = first_waiting(self.changelog.waiting(), self.progress, barrier)
        self.cuts[table] = ended_at(self.cuts[table], barrier, frontier, first)
        return self._above(table, names, self.cuts[table])

    def _above(self, table: TableName | None, names: Renames, cut: Cut) -> DdlEffects:
        """What statements do above the frontier of ``table``; without one, of the pipeline."""
        text = decoder_of(self.run.pipeline.source, self.landed.schemas).text
        records = collect_ddl(self._in_cut(table, cut), text)
        known = partial(was_there, self.run, names)
        add = partial(
            add_up,
            self.run.pipeline.source,
            records,
            names=names,
            was_there=known,
            tables=self.tables,
        )
        beside: tuple[DdlRecord, ...] = ()
        if self.run.pipeline.source.has_table_states and (events := half_described(records)):
            beside = collect_ddl(self.changelog.landed().where(stands_at(events)), text)
        effects = add(before=beside, acknowledged=self.progress.acknowledged)
        shadowed = map(self.run.pipeline.source.shadowed, effects.unknown_shadows)
        unknown = {*filter(None, shadowed), *effects.unseen_drops}
        if not unknown or not self.progress.landing:
            return effects
        earlier = _statements_about(self.changelog, unknown, text)
        return add(before=(*beside, *earlier), acknowledged=self.progress.acknowledged)

    def _in_cut(self, table: TableName | None, cut: Cut) -> DataFrame:
        events = towards(self.changelog, cut, table).waiting()
        return events.where(F.col("status") == CheckpointStatus.PENDING.value)

    def _refuse_early(self, rename: Rename, effects: DdlEffects) -> None:
        """Stop a table whose new name comes before the statement that gave it (GATE-N2)."""
        cut = self.cuts.get(rename.new, self.cut)
        rows = self._in_cut(rename.new, cut).where(is_table(rename.new))
        first = rows.where(F.col("kind") != Kind.DDL.value).select("position").first()
        if first is not None:
            why = (
                f"its records have its new name (at position {first[0]}), and the RENAME TABLE of "
                f"{rename.old} was not read; if it came before this pipeline, take was: out"
            )
            effects.stops.setdefault(rename.new, DdlStop(why, None))


def _followed(changelog: Changelog) -> frozenset[TableName]:
    """The tables that have a target, or get one by what waits in ``changelog``."""
    run = changelog.run
    if run.pipeline.other_tables is OtherTables.IGNORE:
        return run.pipeline.declared
    history = read_history(run.world.catalog, run.system)
    rows = changelog.waiting().where(F.col("kind") == Kind.ROW.value)
    names = rows.select("source_schema", "source_table").distinct().collect()
    waiting = {TableName(*name) for name in names if is_folded(run.pipeline, (name[0], name[1]))}
    return frozenset(targets_of(run.pipeline, history, changelog.progress)) | waiting


def _statements_about(
    changelog: Changelog, tables: Collection[TableName], text: Column
) -> tuple[DdlRecord, ...]:
    """The schema changes that name one of ``tables`` or its shadows, of all that was landed."""
    names_table = any_of(text.contains(table.table) for table in tables)
    return collect_ddl(changelog.landed().where(names_table), text)
