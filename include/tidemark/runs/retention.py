"""Retention: bases of tables are kept, and records of the changelog go that these stand for.

Part of maintenance (KEEP-1). A base is made while cuts go on: it counts only if no cut was
published between what progress said and what the targets were. What is needed for more than a fold
of a base and what came later is never removed: rows of a table without a key, of one that has
changes in quarantine, and of tables without a base; statements; and what cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from tidemark.lake.bases import bases_in, keep_bases
from tidemark.lake.catalog import SystemTables, TableId, catalog_errors
from tidemark.lake.evolve import read_target
from tidemark.lake.forks import has_fork
from tidemark.lake.history import TargetChange, read_history
from tidemark.lake.ledger import LedgerHead, read_ledger
from tidemark.lake.quarantine import read_waiting
from tidemark.lake.removed import Unneeded, remove_records, rows_there, say_removed
from tidemark.log import get_logger
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.progress import Progress
from tidemark.model.retention import Base, is_due, oldest_needed, removable
from tidemark.runs.targets import targets_of
from tidemark.runs.world import World
from tidemark.spec import OtherTables, PipelineSpec

log = get_logger()

BESIDE_ROWS: tuple[Kind, ...] = (Kind.BEGIN, Kind.END, Kind.TOMBSTONE)
"""Watermarks tell repeats of rows without a key apart, also of tables that are added later."""


@dataclass(frozen=True, slots=True)
class _FollowedTable:
    """A table that is followed: its target as it was read, and the bases that this has.

    newest: the newest cut that changed the target, None where none did.
    """

    name: TableName
    target: TableId
    table: Table
    newest: TargetChange | None
    bases: tuple[Base, ...]


def keep_changelog(pipeline: PipelineSpec, world: World, now_ms: int) -> int:
    """Make the bases that are due, and remove the records that are needed no more; how many went.

    now_ms: since 1970. Nothing is done where the pipeline keeps all records.
    """
    keep_days = pipeline.changelog.keep_days
    if keep_days is None:
        return 0
    _make_bases(pipeline, world, keep_days, now_ms)
    system, unneeded = SystemTables.of(pipeline.name), _unneeded(pipeline, world, keep_days, now_ms)
    if not unneeded.below or not rows_there(world.catalog, system, unneeded, limit=1):
        return 0
    say_removed(world.catalog, system, unneeded)
    if _unneeded(pipeline, world, keep_days, now_ms) != unneeded:
        log.info("records_kept", pipeline=pipeline.name, why="somebody needs them since")
        return 0
    removed = remove_records(world.spark, world.catalog, system, unneeded)
    log.info("records_removed", pipeline=pipeline.name, records=removed)
    return removed


def removable_rows(pipeline: PipelineSpec, world: World, now_ms: int) -> int:
    """How many rows `keep_changelog` would remove by the bases that are there. No JVM."""
    keep_days = pipeline.changelog.keep_days
    if keep_days is None:
        return 0
    unneeded = _unneeded(pipeline, world, keep_days, now_ms)
    if not unneeded.below:
        return 0
    return rows_there(world.catalog, SystemTables.of(pipeline.name), unneeded)


def _unneeded(pipeline: PipelineSpec, world: World, keep_days: int, now_ms: int) -> Unneeded:
    """What may go, by the bases that are there."""
    system = SystemTables.of(pipeline.name)
    head = read_ledger(world.catalog, system)
    progress = head.progress.under(pipeline.renames)
    renames = progress.known_renames(pipeline.renames)
    waiting = _waiting(pipeline, world, progress)
    if "" in waiting:
        log.info("records_kept", pipeline=pipeline.name, why="records wait in quarantine")
        return Unneeded({}, (), progress.newest_ms)
    tables = _followed(pipeline, world, head)
    oldest = {
        followed.name: oldest_needed(followed.bases, keep_days, now_ms) for followed in tables
    }
    needed = {
        table: min(base.landing, progress.oldest_held)
        for table, base in oldest.items()
        if base is not None and base.schema.key and str(table) not in waiting
    }
    below, others = removable(needed, oldest, renames), BESIDE_ROWS
    if pipeline.other_tables is OtherTables.FOLLOW and oldest.keys() <= below.keys():
        others += (Kind.WATERMARK,)
    return Unneeded(below, others, progress.newest_ms)


def _waiting(pipeline: PipelineSpec, world: World, progress: Progress) -> frozenset[str]:
    """The tables of which something waits in quarantine, ``""`` where that may be of any."""
    renames, system = progress.known_renames(pipeline.renames), SystemTables.of(pipeline.name)
    return frozenset(entry.table for entry in read_waiting(world.catalog, system, renames))


def _make_bases(pipeline: PipelineSpec, world: World, keep_days: int, now_ms: int) -> None:
    """A base for each table that is due one; bases that are older than needed go.

    None where a replay may apply a record that stands below it.
    """
    system = SystemTables.of(pipeline.name)
    head = read_ledger(world.catalog, system)
    progress = head.progress.under(pipeline.renames)
    tables = list(_followed(pipeline, world, head))
    waiting = _waiting(pipeline, world, progress)
    made = {
        followed.name: _base(pipeline, world, progress, followed, now_ms)
        for followed in tables
        if not waiting & {"", str(followed.name)}
        and is_due(followed.bases, progress.cut, keep_days, now_ms)
    }
    if read_ledger(world.catalog, system).snapshot != head.snapshot:
        log.info("bases_left", pipeline=pipeline.name, why="a cut was published meanwhile")
        made = {}
    for followed in tables:
        needed = oldest_needed(followed.bases, keep_days, now_ms)
        gone = [base for base in followed.bases if needed is not None and base.cut < needed.cut]
        if followed.name in progress.refolds:
            gone = []  # It may begin with one of them.
        base = made.get(followed.name)
        if gone or base is not None:
            keep_bases(followed.table, [base] if base is not None else [], gone)
        if gone:
            _give_back(pipeline, world, followed, gone)


def _give_back(
    pipeline: PipelineSpec, world: World, followed: _FollowedTable, gone: Sequence[Base]
) -> None:
    """Keep that of ``gone`` with which a refold is to begin that was ordered meanwhile.

    An order that is recorded later looks itself whether its base is there.
    """
    progress = read_ledger(world.catalog, SystemTables.of(pipeline.name)).progress
    refold = progress.under(pipeline.renames).refolds.get(followed.name)
    chosen = [base for base in gone if refold is not None and base.cut == refold.base]
    if chosen:
        keep_bases(followed.table, chosen, [])


def _base(
    pipeline: PipelineSpec, world: World, progress: Progress, followed: _FollowedTable, now_ms: int
) -> Base | None:
    """What would be a base of the table now; None while anything of it is under way."""
    if followed.name in progress.refolds or followed.name in progress.snapshots.tables:
        return None
    if has_fork(world.catalog, SystemTables.of(pipeline.name).ledger.namespace, followed.target):
        return None
    target = read_target(world.catalog, followed.target, followed.newest)
    if target is None or target.snapshot is None or target.published is None:
        return None
    if target.change or target.altered:
        return None
    return Base(
        *(progress.cut, now_ms, progress.oldest_held, target.snapshot),
        *(progress.state_of(followed.name), target.source_schema),
    )


def _followed(pipeline: PipelineSpec, world: World, head: LedgerHead) -> Iterator[_FollowedTable]:
    """The tables that are followed and have a target."""
    progress = head.progress.under(pipeline.renames)
    history = read_history(world.catalog, SystemTables.of(pipeline.name))
    for name, target in sorted(targets_of(pipeline, history, progress).items()):
        with catalog_errors(f"the reading of {target}"):
            try:
                table = world.catalog.load_table(target.parts)
            except NoSuchTableError:
                continue
        newest = history.changed.get(str(target))
        yield _FollowedTable(name, target, table, newest, bases_in(table))
