"""What a person orders between two cuts, kept in the ledger like what cuts leave. No JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tidemark.errors import UNCHANGED, ActionRefusedError
from tidemark.gate.epoch import LandedChange, new_log
from tidemark.gate.reconcile import complete_resync, order_resync
from tidemark.lake.catalog import SystemTables
from tidemark.lake.commits import commit_order
from tidemark.lake.heads import read_heads
from tidemark.lake.history import read_history
from tidemark.lake.landing import (
    changes_since,
    holds_statement,
    holds_transaction,
    holds_unreadable,
    read_mark,
)
from tidemark.lake.ledger import read_progress, record_action
from tidemark.lake.marks import adopt_head
from tidemark.lake.quarantine import add_entries, read_waiting
from tidemark.log import get_logger
from tidemark.model.cut import GateMode
from tidemark.model.log_end import LogEnd
from tidemark.model.names import TableName
from tidemark.model.offsets import Offsets, TopicPartition
from tidemark.model.position import EPOCH, EPOCH_DIGITS, Place, Position
from tidemark.model.progress import Progress
from tidemark.model.quarantine import Entry, RecordPlace, Selection, State
from tidemark.model.target_mode import TargetMode
from tidemark.model.transaction import is_plain, key_of
from tidemark.runs.targets import spec_of, targets_of
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec, SourceFormat
from tidemark.topics.signals import send_snapshot_signal

log = get_logger()

SECOND_MS = 1_000
BINLOG_RESET = (SourceFormat.DEBEZIUM_MYSQL, SourceFormat.DEBEZIUM_MARIADB)


def begin_resync(pipeline: PipelineSpec, world: World, table: TableName) -> bool:
    """Wait for an incremental snapshot of ``table``; other tables go on, and so does this one.

    What the snapshot will not contain is removed once `end_resync` says that it is whole (SNAP-8).
    Returns whether its signal was sent, as the file names the topic for it.
    """
    if pipeline.source.format.is_canal:
        raise ActionRefusedError(
            f"pipeline {pipeline.name} reads {pipeline.source.format}, which sends no snapshots",
            state=UNCHANGED,
            next_step="fold the table into a new target from a new changefeed or instance",
        )

    await_snapshot(pipeline, world, table)
    _take_as_it_is(pipeline, world, table)
    if pipeline.source.signal_topic is None:
        return False
    send_snapshot_signal(world.broker, pipeline.source, table)
    return True


def await_snapshot(pipeline: PipelineSpec, world: World, table: TableName) -> None:
    """Record that an incremental snapshot of ``table`` is awaited."""

    def ordered(progress: Progress) -> Progress:
        reached = progress.frontier.reached.values()
        return replace(progress, snapshots=order_resync(progress.snapshots, table, reached))

    record(pipeline, world, ordered, f"resync {table}")


def _take_as_it_is(pipeline: PipelineSpec, world: World, table: TableName) -> None:
    """Let a mirror go on from what somebody else made of it: the snapshot fixes that (PUB-11)."""
    system = SystemTables.of(pipeline.name)
    progress = read_progress(world.catalog, system).under(pipeline.renames)
    target = targets_of(pipeline, read_history(world.catalog, system), progress).get(table)
    if target is not None and spec_of(pipeline, table).mode is TargetMode.MIRROR:
        adopt_head(world.catalog, target, progress.cut)


def end_resync(pipeline: PipelineSpec, world: World, table: TableName) -> None:
    """The snapshot of ``table`` is whole: the next cut removes what it did not contain."""

    def completed(progress: Progress) -> Progress:
        if table not in progress.snapshots.tables:
            raise ActionRefusedError(
                f"no snapshot of {table} is awaited in pipeline {pipeline.name}",
                state=UNCHANGED,
                next_step=f"order one: tidemark resync {pipeline.name} {table}",
            )
        _refuse_incomplete(pipeline, world, progress, table)
        snapshots = complete_resync(progress.snapshots, table)
        return replace(progress, snapshots=snapshots, quiet_settles=True)

    record(pipeline, world, completed, f"resync {table} --complete")


def _refuse_incomplete(
    pipeline: PipelineSpec, world: World, progress: Progress, table: TableName
) -> None:
    """Raise where rows of the snapshot may be quarantined: it would seem to lack them."""
    below = progress.snapshots.tables[table].below
    if table not in progress.quarantined or not below:
        return
    renames = progress.known_renames(pipeline.renames)
    known = read_waiting(world.catalog, SystemTables.of(pipeline.name), renames, str(table))
    waiting = [entry for entry in known if not entry.is_below(below)]
    if waiting:
        raise ActionRefusedError(
            f"{len(waiting)} changes of {table} are quarantined, so that the rows of its snapshot "
            "may be incomplete",
            state=UNCHANGED,
            next_step=f"tidemark quarantine list {pipeline.name}, then replay or drop them",
        )


def all_waiting(pipeline: PipelineSpec, world: World) -> tuple[Entry, ...]:
    """What waits in quarantine, by the names that its tables have now."""
    system = SystemTables.of(pipeline.name)
    renames = read_progress(world.catalog, system).known_renames(pipeline.renames)
    return read_waiting(world.catalog, system, renames)


def replay_entries(pipeline: PipelineSpec, world: World, selection: Selection) -> int:
    """Have the next cut try again what waits in quarantine (POISON-4); returns how much is meant.

    What still cannot be applied by then goes on waiting.
    """
    waiting = _waiting(pipeline, world, selection)
    meant = [entry for entry in waiting if entry.can_be_replayed]
    if not meant:
        raise ActionRefusedError(
            f"{len(waiting)} changes are of transactions that were given up (TX_SKIPPED)",
            state=UNCHANGED,
            next_step=f"read their tables anew: tidemark status {pipeline.name} names them",
        )

    def ordered(progress: Progress) -> Progress:
        return replace(progress, replays=(*progress.replays, selection))

    record(pipeline, world, ordered, f"quarantine replay {selection}".rstrip())
    return len(meant)


def drop_entries(pipeline: PipelineSpec, world: World, selection: Selection, reason: str) -> int:
    """Give up what waits in quarantine: its keys stay as they are; returns how much it was."""
    system = SystemTables.of(pipeline.name)

    def dropped() -> int:
        heads = read_heads(world.catalog, system)
        cut = heads.ledger.progress.cut
        renames = heads.ledger.progress.known_renames(pipeline.renames)
        ended = [
            replace(entry, state=State.DROPPED, cut=cut, reason=reason).as_stored(renames)
            for entry in _waiting(pipeline, world, selection)
        ]
        add_entries(world.catalog, system, heads.quarantine, cut, ended)
        return len(ended)

    number = commit_order(dropped)
    log.info("quarantine_dropped", pipeline=pipeline.name, entries=number, reason=reason)
    return number


def _waiting(pipeline: PipelineSpec, world: World, selection: Selection) -> list[Entry]:
    meant = [entry for entry in all_waiting(pipeline, world) if selection.takes(entry)]
    if not meant:
        what = f"nothing of {selection}" if str(selection) else "nothing"
        raise ActionRefusedError(
            f"{what} waits in the quarantine of pipeline {pipeline.name}",
            state=UNCHANGED,
            next_step=f"tidemark quarantine list {pipeline.name}",
        )
    return meant


def skip_transaction(pipeline: PipelineSpec, world: World, transaction: str) -> None:
    """Give up a transaction that will never be whole: the cut goes on behind it (GATE-T8).

    transaction: its id as `tidemark status` names it. What came of it is quarantined, and the
    tables that it changed have to be re-snapshotted.
    """
    key = key_of(transaction)
    if pipeline.source.gate is not GateMode.TRANSACTION:
        raise ActionRefusedError(
            f"pipeline {pipeline.name} has gate {pipeline.source.gate}, which waits for no "
            "transactions",
            state=UNCHANGED,
            next_step=f"tidemark status {pipeline.name}",
        )
    if not is_plain(key):
        raise ActionRefusedError(
            f"{transaction!r} is no id of a transaction",
            state=UNCHANGED,
            next_step=f"take the id that tidemark status {pipeline.name} names",
        )

    if not holds_transaction(world.catalog, SystemTables.of(pipeline.name), key):
        raise ActionRefusedError(
            f"no record of transaction {transaction} was landed by pipeline {pipeline.name}",
            state=UNCHANGED,
            next_step=f"take the id that tidemark status {pipeline.name} names",
        )

    def skipped(progress: Progress) -> Progress:
        return replace(progress, skipped=progress.skipped | {key}, quiet_settles=True)

    record(pipeline, world, skipped, f"skip {key}")


def skip_statement(pipeline: PipelineSpec, world: World, position: Position, reason: str) -> None:
    """Take a statement that stops tables for one without effect, as a person judged (SCHEMA-26).

    position: as the message names it. What it did to rows is in no target, unless events tell.
    """
    if not holds_statement(world.catalog, SystemTables.of(pipeline.name), position):
        raise _not_landed(pipeline, f"no statement that was landed stands at position {position}")

    def acknowledged(progress: Progress) -> Progress:
        return replace(progress, acknowledged={**progress.acknowledged, position: reason})

    record(pipeline, world, acknowledged, f"skip --statement {position} --reason {reason!r}")


def skip_record(pipeline: PipelineSpec, world: World, place: RecordPlace, reason: str) -> None:
    """Take a schema change that cannot be read for one without effect (POISON-3).

    It is quarantined by the next cut, which goes on behind it.
    """
    if not holds_unreadable(world.catalog, SystemTables.of(pipeline.name), place):
        raise _not_landed(
            pipeline, f"no record that was landed and cannot be read stands at {place}"
        )

    def acknowledged(progress: Progress) -> Progress:
        records = {**progress.acknowledged_records, str(place): reason}
        return replace(progress, acknowledged_records=records)

    record(pipeline, world, acknowledged, f"skip --record {place} --reason {reason!r}")


def _not_landed(pipeline: PipelineSpec, what: str) -> ActionRefusedError:
    """Nothing that a person could judge stands at the place that was given."""
    return ActionRefusedError(
        what,
        state=UNCHANGED,
        next_step=f"take the place that the message names: tidemark plan {pipeline.name}",
    )


def hand_over(pipeline: PipelineSpec, world: World, *, is_continuous: bool) -> Offsets:
    """The source's log started over; positions from here on stand above all before (POS-17).

    is_continuous: the new log holds everything behind the old one; if not, each table has to be
    re-snapshotted. Returns the offset per partition at which the new log begins: the first change
    of it that is landed (`new_log`); else what is not landed yet.
    """
    tables = SystemTables.of(pipeline.name)

    def binlog_reset(now: Progress) -> Progress:
        mark = read_mark(world.catalog, tables)
        if pipeline.source.format not in BINLOG_RESET or mark.number == 0:
            raise ActionRefusedError(
                f"pipeline {pipeline.name} reads {pipeline.source.format} and has landed "
                f"{mark.number} times; only a binlog that was read can start over",
                state=UNCHANGED,
                next_step="fold the tables by a new pipeline from a new snapshot of the source",
            )
        next_log = new_log(_landed_changes(world, tables, now), _log_end(now))
        known = next_log.starts if next_log is not None else {}
        starts = {place: known.get(place, end) for place, end in mark.offsets.items()}
        snapshots = now.snapshots
        if not is_continuous:
            history = read_history(world.catalog, tables)
            for table in targets_of(pipeline, history, now):
                snapshots = order_resync(snapshots, table, now.frontier.reached.values())
        return replace(now.in_new_log(starts), snapshots=snapshots)

    words = "continuous" if is_continuous else "gap"
    return record(pipeline, world, binlog_reset, f"handover --{words}").epochs[-1]


def _landed_changes(world: World, tables: SystemTables, now: Progress) -> Iterator[LandedChange]:
    """Changes of the newest log, in its own coordinates: those that a cut may not have seen."""
    begun = now.epochs[-1] if now.epochs else {}
    since = now.newest_ms - SECOND_MS
    for change in changes_since(world.catalog, tables, now.landing, since):
        if change.offset >= begun.get(change.at, 0):
            yield change


def _log_end(now: Progress) -> LogEnd:
    """What is settled of the newest log, as records are landed."""
    epoch, landed = (f"{number:0{EPOCH_DIGITS}X}" for number in (now.epoch, EPOCH))

    def as_landed(places: Mapping[TopicPartition, Place]) -> dict[TopicPartition, Place]:
        return {
            at: Place(landed + place.removeprefix(epoch))
            for at, place in places.items()
            if place.startswith(epoch)
        }

    end = now.log_end
    return replace(end, reached=as_landed(end.reached), streamed=as_landed(end.streamed))


def record(
    pipeline: PipelineSpec, world: World, change: Callable[[Progress], Progress], order: str
) -> Progress:
    """Record what ``change`` makes of progress, and the ``order`` as a command.

    ``change`` sees tables under the names that the file has.
    """

    def changed(stored: Progress) -> Progress:
        return change(stored.under(pipeline.renames)).as_stored(pipeline.renames)

    after = record_action(world.catalog, SystemTables.of(pipeline.name), changed, order)
    log.info("order_recorded", pipeline=pipeline.name, order=order)
    return after
