"""The next cut of a pipeline, by whichever gate it has; and its progress once it is published."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from tidemark.gate.by_offset import offset_cut
from tidemark.gate.by_transaction import transaction_cut
from tidemark.gate.by_watermark import newest_watermarks, watermark_cut
from tidemark.gate.retired_topics import IF_RETIRED, RETIRED, lagging_topics, with_retired
from tidemark.gate.statistics import StreamStatistics
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.event import Kind
from tidemark.model.names import ColumnName, TableName, TopicName
from tidemark.model.offsets import Offsets, TopicPartition
from tidemark.model.position import Place, Position
from tidemark.model.profile import (
    BatchProfile,
    highest_places,
    newest_ms,
    read_ms,
    streamed_places,
)
from tidemark.model.progress import Progress
from tidemark.model.quarantine import Selection
from tidemark.model.reconcile import Snapshots
from tidemark.model.renames import Rename
from tidemark.model.until import Barrier, Cap


@dataclass(frozen=True, slots=True)
class Decision:
    """A cut, what the gate decided it by, and what it holds."""

    cut: Cut
    statistics: StreamStatistics
    profile: BatchProfile


def next_cut(
    mode: GateMode, progress: Progress, statistics: StreamStatistics, until: Cap | None
) -> Cut:
    """How far the next cut goes; until: where the run is capped, if it is."""
    match mode:
        case GateMode.WATERMARK:
            return _watermark_cut(progress, statistics, until)
        case GateMode.TRANSACTION:
            return transaction_cut(progress, statistics, until)
        case GateMode.NONE:
            return offset_cut(progress, statistics, until)


def _watermark_cut(progress: Progress, statistics: StreamStatistics, until: Cap | None) -> Cut:
    """The next cut of a source with watermarks, without those of retired topics (GATE-W7)."""
    places = statistics.places
    newest = newest_watermarks(progress.watermarks, statistics.watermarks)
    lagging = lagging_topics(progress, newest, places, statistics.unread)
    complete = with_retired(progress, newest, places, lagging, statistics.departures)
    retired = {place.topic for place in complete if complete[place] != newest[place]}
    notes = dict.fromkeys(lagging, IF_RETIRED) | dict.fromkeys(retired, RETIRED)
    return watermark_cut(progress, complete, places, until, notes=notes)


def with_reached(cut: Cut, progress: Progress, profile: BatchProfile) -> Cut:
    """``cut`` with the greatest places that each partition settles by it (POS-20)."""
    if cut.mode is GateMode.WATERMARK:
        return cut
    # What cannot be read proves nothing about what may come behind it.
    settled = [
        profile_entry
        for profile_entry in profile.profile_entries
        if profile_entry.status is CheckpointStatus.PENDING
        and profile_entry.kind is not Kind.UNREADABLE
    ]
    before = progress.frontier
    frontier = replace(
        cut.frontier,
        reached=_raised(before.reached, highest_places(settled)),
        streamed=_raised(before.streamed, streamed_places(settled)),
        read_at=max((before.read_at, *(g.read_at for g in settled if g.read_at))),
    )
    return replace(cut, frontier=frontier)


def _raised(
    before: Mapping[TopicPartition, Place], settled: Mapping[TopicPartition, Place]
) -> dict[TopicPartition, Place]:
    return {
        at: max(before.get(at, Place("")), settled.get(at, Place("")))
        for at in sorted(before.keys() | settled.keys())
    }


def ended_at(cut: Cut, barrier: Barrier, old: Frontier, first: Offsets) -> Cut:
    """``cut`` as a table that stands lower takes it: up to ``barrier`` and no further.

    old: how far the table is. first: with gate ``none``, per partition the first offset behind it.
    """
    new = cut.frontier
    match cut.mode:
        case GateMode.WATERMARK:
            new = replace(new, commit_ts=min(new.commit_ts, barrier.commit_ts))
        case GateMode.TRANSACTION:
            new = replace(new, bound=min(new.bound, barrier.bound))
        case GateMode.NONE:
            offsets = {
                place: max(old.offsets.get(place, 0), min(end, first.get(place, end)))
                for place, end in new.offsets.items()
            }
            new = replace(new, offsets=offsets)
    return replace(cut, frontier=new)


@dataclass(frozen=True, slots=True)
class Effects:
    """What a cut does to tables, as far as the next one has to know.

    standing: tables whose changes wait; they keep their frontier. truncated: the newest position
    below which a table lost its rows in this cut. snapshots: what is left to be reconciled.
    window_bounds: as in progress. blocked: tables that stay stopped, and why. renames: of tables.
    quarantined: tables of which this cut quarantined changes. replays: what is to be tried again by
    the next one. ends: tables that go less far than the cut, and how far. followed: the tables that
    the file declares. acknowledged: statements that may have changed rows, and why they do not
    matter any more. withheld: of tables that the cut changes, the columns of which values are
    unknown; may_release: the cut changes rows of such a table, and the next one may find that none
    is left. topics: table -> the topic by whose offsets its rows are ordered. dropped: of tables
    that the cut changes, where the source dropped them; None of those that it has.
    """

    standing: Collection[TableName]
    truncated: Mapping[TableName, Position]
    snapshots: Snapshots
    window_bounds: Mapping[TableName, Position] = field(default_factory=dict)
    blocked: Mapping[TableName, str] = field(default_factory=dict)
    renames: tuple[Rename, ...] = ()
    quarantined: frozenset[TableName] = frozenset()
    replays: tuple[Selection, ...] = ()
    ends: Mapping[TableName, Frontier] = field(default_factory=dict)
    followed: frozenset[TableName] | None = None
    acknowledged: Mapping[Position, str] = field(default_factory=dict)
    withheld: Mapping[TableName, tuple[ColumnName, ...]] = field(default_factory=dict)
    may_release: bool = False
    topics: Mapping[TableName, TopicName] = field(default_factory=dict)
    dropped: Mapping[TableName, Position | None] = field(default_factory=dict)


def _overtaken_landings(progress: Progress, decision: Decision) -> list[int]:
    """Landings with changes that came below a published snapshot, while more of them may come.

    Their ENDs may come later, and count them (SNAP-10): none of those is settled before the stream
    has come up to the snapshot.
    """
    if decision.cut.mode is not GateMode.TRANSACTION or not decision.cut.frontier.trails_snapshot:
        return []
    return [
        profile_entry.oldest_landing
        for profile_entry in decision.profile.profile_entries
        if profile_entry.streamed_from is not None
        and profile_entry.streamed_from < progress.frontier.read_at
    ]


def advance(progress: Progress, landing: int, decision: Decision, effects: Effects) -> Progress:
    """Progress as it is once the cut of ``decision`` is published; landing: the newest one."""
    cut, statistics, profile = decision.cut, decision.statistics, decision.profile
    standing = {table: progress.frontier_of(table) for table in effects.standing}
    names = {(table.schema, table.table) for table in standing}
    behind = {**effects.ends, **standing}
    landings = {table: progress.landing_of(table) for table in standing}
    held = [
        profile_entry.oldest_landing
        for profile_entry in profile.profile_entries
        if profile_entry.status is CheckpointStatus.HELD
        or (profile_entry.status is CheckpointStatus.PENDING and profile_entry.table in names)
        # A statement may concern several tables, and stands under the name of one.
        or (bool(behind) and profile_entry.kind is Kind.DDL)
    ]
    truncated = dict(progress.truncated)
    for table, at in effects.truncated.items():
        truncated[table] = max(at, truncated.get(table, at))
    withheld = {**progress.withheld, **effects.withheld}
    dropped = {**progress.dropped, **effects.dropped}
    in_cut = [g for g in profile.profile_entries if g.status is CheckpointStatus.PENDING]
    oldest_held = min((*held, *_overtaken_landings(progress, decision)), default=landing + 1)
    quiet_helps = cut.mode is GateMode.TRANSACTION and bool(held) and not statistics.is_quiet
    return Progress(
        cut=cut.number,
        landing=landing,
        oldest_held=oldest_held,
        frontier=cut.frontier,
        behind=behind,
        landings={table: gated for table, gated in landings.items() if gated < landing},
        epochs=progress.epochs,
        newest_ms=max(progress.newest_ms, newest_ms(in_cut)),
        read_ms=max(progress.read_ms, read_ms(in_cut)),
        watermarks=newest_watermarks(progress.watermarks, statistics.watermarks),
        truncated=truncated,
        snapshots=effects.snapshots,
        window_bounds=effects.window_bounds,
        blocked=effects.blocked,
        skipped=progress.skipped - cut.skipped.keys(),
        acknowledged={**progress.acknowledged, **effects.acknowledged},
        renames=(*progress.renames, *effects.renames),
        quiet_settles=quiet_helps or effects.snapshots.wait_for_a_cut or effects.may_release,
        quarantined=progress.quarantined | effects.quarantined,
        replays=effects.replays,
        followed=effects.followed,
        withheld={t: names for t, names in withheld.items() if names},
        refolds=progress.refolds,
        void=progress.void | set(cut.void),
        given_up=progress.given_up | cut.skipped.keys(),
        topics={**progress.topics, **effects.topics},
        dropped={table: at for table, at in dropped.items() if at is not None},
    )
