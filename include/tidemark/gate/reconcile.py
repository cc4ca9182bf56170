"""Snapshots of tables that are there already: which tables lose what a snapshot did not contain.

A snapshot of the whole source ends with a mark in one of its partitions. With gate ``transaction``
a cut holds the snapshot as a whole; without a gate, its end is known one cut after the mark was
seen, when every partition has been read behind it (SNAP-5). Of an incremental snapshot only a
person knows the end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from tidemark.gate.next_cut import Decision
from tidemark.gate.window_bound import newest_truncates
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import GateMode
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.position import Place, Position
from tidemark.model.profile import ProfileEntry, highest_places
from tidemark.model.progress import Progress
from tidemark.model.reconcile import (
    Reconcile,
    ReconcileStage,
    Snapshots,
    below_snapshot,
    ordered_resync,
)


def watch_snapshots(
    progress: Progress,
    decision: Decision,
    tables: Mapping[tuple[str, str], TableName],
    window_bounds: Mapping[TableName, Position],
) -> Snapshots:
    """What is known of the tables that are re-snapshotted, with the cut of ``decision``.

    tables: those that are folded, by their names in records. window_bounds: of truncated ones,
    with this cut. Where nothing is older than a snapshot there is nothing that it could
    contradict. Tables that lose a transaction have to be re-snapshotted.
    """
    before, profile_entries = progress.snapshots, decision.profile.profile_entries
    in_cut = [
        profile_entry
        for profile_entry in profile_entries
        if profile_entry.status is CheckpointStatus.PENDING
    ]
    newest = max(before.newest, _newest(profile_entry.read_at for profile_entry in in_cut))
    is_older = any(g.is_change and (g.lowest_place or newest) < newest for g in in_cut)
    is_another = newest > before.newest and (progress.cut > 0 or is_older)
    to_last = _newest(profile_entry.read_to_last for profile_entry in in_cut)
    known = replace(
        before,
        newest=newest,
        contradicting=newest if is_another else before.contradicting,
        ended=max(before.ended, to_last),
    )
    reconciles = _with_rows(known, in_cut, tables, progress.truncated, is_another=is_another)
    reconciles = _not_below_truncates(
        reconciles, newest_truncates(progress, in_cut, tables), window_bounds
    )
    last, ended = below_snapshot(to_last), below_snapshot(known.ended)
    is_gated = decision.cut.mode is GateMode.TRANSACTION
    ends = ReconcileStage.DUE if is_gated else ReconcileStage.ENDED
    held = [
        profile_entry.table
        for profile_entry in profile_entries
        if profile_entry.table and _is_held_read(profile_entry)
    ]
    waiting = {tables[name] for name in held if name in tables}
    for table, reconcile in reconciles.items():
        is_whole = reconcile.below in (last, last if reconcile.is_ordered else ended)
        if reconcile.stage is ReconcileStage.READING and reconcile.below and is_whole:
            reconciles[table] = replace(reconcile, stage=ends)
        elif reconcile == before.tables.get(table) and reconcile.stage is ReconcileStage.ENDED:
            is_read = reconcile.below and not decision.statistics.unread and table not in waiting
            reconciles[table] = (
                replace(reconcile, stage=ReconcileStage.DUE) if is_read else reconcile
            )
    lost = {name for names in decision.cut.skipped.values() for name in names}
    anew = ordered_resync((*progress.frontier.reached.values(), *highest_places(in_cut).values()))
    reconciles |= {table: anew for table in tables.values() if str(table) in lost}
    is_signalled = before.is_signalled or any(
        profile_entry.kind is Kind.ORDER for profile_entry in in_cut
    )
    return replace(known, tables=reconciles, is_signalled=is_signalled)


def _newest(places: Iterable[Place | None]) -> Place:
    return max(filter(None, places), default=Place(""))


def _is_held_read(profile_entry: ProfileEntry) -> bool:
    is_read = profile_entry.read_at is not None or profile_entry.chunk_from is not None
    return is_read and profile_entry.status is CheckpointStatus.HELD


def _with_rows(
    snapshots: Snapshots,
    in_cut: Iterable[ProfileEntry],
    tables: Mapping[tuple[str, str], TableName],
    reconciled: Mapping[TableName, Position],
    *,
    is_another: bool,
) -> dict[TableName, Reconcile]:
    """Every table of which rows of a snapshot came, beside those of before.

    reconciled: below which tables have lost all rows already. is_another: the newest snapshot
    begins in this cut; a table's rows may come behind those of all others, and behind its end.
    """
    reconciles = dict(snapshots.tables)
    below = below_snapshot(snapshots.newest)
    contradicts = snapshots.contradicting == snapshots.newest
    is_open = any(reconcile.below == below for reconcile in reconciles.values())
    for profile_entry in in_cut:
        if profile_entry.table is None or profile_entry.table not in tables:
            continue
        table = tables[profile_entry.table]
        known = reconciles.get(table, Reconcile(ReconcileStage.READING))
        is_late = contradicts and not known.is_ordered and reconciled.get(table, "") < below
        joins = (is_open or is_another or is_late) and known.below < below
        if profile_entry.read_at == snapshots.newest and joins:
            reconciles[table] = Reconcile(ReconcileStage.READING, below)
        elif profile_entry.chunk_from is not None and known.is_ordered:
            chunk = below_snapshot(profile_entry.chunk_from)
            reconciles[table] = replace(
                known, below=min(known.below or chunk, known.since or chunk)
            )
    return reconciles


def _not_below_truncates(
    reconciles: Mapping[TableName, Reconcile],
    truncates: Mapping[TableName, Position],
    window_bounds: Mapping[TableName, Position],
) -> dict[TableName, Reconcile]:
    """``reconciles``; rows behind a truncate stay where the first chunk fell for it (SNAP-7)."""
    return {
        table: replace(reconcile, below=truncates[table])
        if reconcile.is_ordered
        and truncates.get(table, reconcile.below) < reconcile.below < window_bounds.get(table, "")
        else reconcile
        for table, reconcile in reconciles.items()
    }


def ask_unless_whole(
    snapshots: Snapshots,
    holding: Collection[TableName],
    reconciled: Mapping[TableName, Position],
    *,
    asks: bool,
) -> Snapshots:
    """``snapshots``, where a person must judge of a snapshot that may not be of the whole source.

    holding: the tables whose targets have rows. reconciled: below which tables have lost all
    rows already. asks: the pipeline file wants to be asked always.
    """
    acknowledged = dict(snapshots.tables)
    for table, reconcile in snapshots.due.items():
        if reconcile.is_ordered:
            continue
        contained = {t for t, other in snapshots.tables.items() if other.below >= reconcile.below}
        contained |= {t for t, below in reconciled.items() if below >= reconcile.below}
        missing = sorted(set(holding) - contained)
        if asks:
            acknowledged[table] = _asked(reconcile, "the pipeline file asks for a person's word")
        elif snapshots.is_signalled or reconcile.below == below_snapshot(snapshots.signalled):
            why = "a signal asked the connector for it, so it may leave rows out"
            acknowledged[table] = _asked(reconcile, why)
        elif missing:
            why = f"it has no row of {missing[0]}, so it may be of some tables only"
            acknowledged[table] = _asked(reconcile, why)
    signals = snapshots.is_signalled and any(
        not reconcile.is_ordered for reconcile in snapshots.due.values()
    )
    return replace(
        snapshots,
        tables=acknowledged,
        is_signalled=snapshots.is_signalled and not snapshots.due,
        signalled=snapshots.newest if signals else snapshots.signalled,
    )


def awaited(
    profile_entries: Iterable[ProfileEntry],
    tables: Mapping[tuple[str, str], TableName],
    newest: Place,
) -> set[TableName]:
    """The tables of which rows of the snapshot at ``newest`` wait above the cut."""
    waiting = {
        profile_entry.table
        for profile_entry in profile_entries
        if profile_entry.status is CheckpointStatus.HELD and profile_entry.read_at == newest
    }
    return {tables[name] for name in waiting if name is not None and name in tables}


def emptied(
    profile_entries: Collection[ProfileEntry], tables: Mapping[tuple[str, str], TableName]
) -> set[TableName]:
    """The tables that a truncate in the cut leaves without rows: no snapshot can show any."""
    newest: dict[tuple[tuple[str, str], Kind], Position] = {}
    for profile_entry in profile_entries:
        if (
            profile_entry.table is None
            or profile_entry.table not in tables
            or profile_entry.highest is None
        ):
            continue
        if profile_entry.status is CheckpointStatus.PENDING:
            at = (profile_entry.table, profile_entry.kind)
            newest[at] = max(newest.get(at, profile_entry.highest), profile_entry.highest)
    return {
        tables[name]
        for (name, kind), at in newest.items()
        if kind is Kind.TRUNCATE and at > newest.get((name, Kind.ROW), "")
    }


def after_reconciles(
    snapshots: Snapshots, done: Collection[TableName], refused: Mapping[TableName, str]
) -> Snapshots:
    """``snapshots`` once the tables ``done`` were reconciled; refused: table -> why it was not."""
    remaining = {
        table: reconcile for table, reconcile in snapshots.tables.items() if table not in done
    }
    asked = {table: _asked(remaining[table], why) for table, why in refused.items()}
    return replace(snapshots, tables=remaining | asked)


def _asked(reconcile: Reconcile, why: str) -> Reconcile:
    return replace(reconcile, stage=ReconcileStage.ASKED, why=why)


def order_resync(before: Snapshots, table: TableName, reached: Iterable[Place]) -> Snapshots:
    """A person has a snapshot of ``table`` made: its rows are waited for (SNAP-8).

    reached: the places that partitions have settled by now.
    """
    return replace(before, tables={**before.tables, table: ordered_resync(reached)})


def complete_resync(before: Snapshots, table: TableName) -> Snapshots:
    """A person says that the snapshot of ``table`` is whole; KeyError when there is none.

    What is sent of it by then is read by the next cut, and the rows go once it has.
    """
    known = before.tables[table]
    is_read = known.stage in (ReconcileStage.ASKED, ReconcileStage.DUE)
    stage = ReconcileStage.DUE if is_read else ReconcileStage.ENDED
    whole = replace(known, stage=stage, why="", is_ordered=True)
    return replace(before, tables={**before.tables, table: whole})
