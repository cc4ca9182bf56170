"""Which snapshots remove rows, and when (SNAP-5, SNAP-6, SNAP-8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tidemark.gate.next_cut import Decision
from tidemark.gate.reconcile import (
    after_reconciles,
    ask_unless_whole,
    awaited,
    complete_resync,
    emptied,
    order_resync,
    watch_snapshots,
)
from tidemark.gate.statistics import StreamStatistics
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.event import Kind, Op
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place, Position
from tidemark.model.profile import BatchProfile, ProfileEntry
from tidemark.model.progress import Progress
from tidemark.model.reconcile import Reconcile, ReconcileStage, Snapshots, below_snapshot

AT = TopicPartition(TopicName("t"), 0)
A, B = TableName("shop", "a"), TableName("shop", "b")
NAMES = {("shop", "a"): A, ("shop", "b"): B}
OLD, NEW = Place("0001" + "1" * 25), Place("0001" + "2" * 25)
BELOW = below_snapshot(NEW)


def rows(  # noqa: PLR0913  one per figure that tests vary
    table: TableName = A,
    *,
    read_at: Place | None = None,
    last: Place | None = None,
    chunk: Place | None = None,
    lowest: Place | None = None,
    status: CheckpointStatus = CheckpointStatus.PENDING,
) -> ProfileEntry:
    """Rows of one table in one partition."""
    return ProfileEntry(
        at=AT,
        kind=Kind.ROW,
        table=(table.schema, table.table),
        op=Op.UPSERT,
        schema_id=None,
        status=status,
        is_new=True,
        records=1,
        without_key=0,
        highest_place=read_at,
        highest=None,
        oldest_landing=1,
        newest_offset=1,
        read_at=read_at,
        read_to_last=last,
        chunk_from=chunk,
        lowest_place=lowest,
    )


def watched(  # noqa: PLR0913  one per figure that tests vary
    before: Snapshots,
    *profile_entries: ProfileEntry,
    gate: GateMode = GateMode.NONE,
    cut: int = 1,
    unread: bool = False,
    reconciled: Mapping[TableName, Position] | None = None,
) -> Snapshots:
    """What is known after the cut behind number ``cut``."""
    statistics = StreamStatistics(unread=frozenset({AT} if unread else ()))
    decision = Decision(Cut(cut + 1, gate, Frontier()), statistics, BatchProfile(profile_entries))
    progress = Progress(cut=cut, snapshots=before, truncated=reconciled or {})
    return watch_snapshots(progress, decision, NAMES, {})


def stages(found: Snapshots) -> dict[TableName, ReconcileStage]:
    return {table: one.stage for table, one in found.tables.items()}


def test_the_first_snapshot_contradicts_nothing() -> None:
    first = watched(Snapshots(), rows(read_at=OLD, last=OLD), cut=0)
    assert first == Snapshots(OLD, ended=OLD)
    assert watched(first, rows(read_at=OLD)) == first, "more of it, or the same rows again"
    assert watched(first, rows(B, read_at=OLD)) == first, "also of another table"


@pytest.mark.parametrize(
    ("gate", "at_once"),
    [(GateMode.TRANSACTION, ReconcileStage.DUE), (GateMode.NONE, ReconcileStage.ENDED)],
)
def test_a_gate_has_read_every_partition_when_it_settles(
    gate: GateMode, at_once: ReconcileStage
) -> None:
    begun = watched(Snapshots(OLD), rows(read_at=NEW), gate=gate)
    assert stages(begun) == {A: ReconcileStage.READING}
    ended = watched(begun, rows(B, read_at=NEW, last=NEW), gate=gate)
    assert stages(ended) == {A: at_once, B: at_once}
    assert {one.below for one in ended.tables.values()} == {BELOW}


def test_without_a_gate_the_next_whole_read_proves_the_end() -> None:
    ended = watched(Snapshots(OLD), rows(read_at=NEW, last=NEW))
    assert stages(watched(ended, unread=True)) == {A: ReconcileStage.ENDED}
    held = watched(ended, rows(read_at=NEW, status=CheckpointStatus.HELD))
    assert stages(held) == {A: ReconcileStage.ENDED}
    assert stages(watched(ended)) == {A: ReconcileStage.DUE}
    assert ended.wait_for_a_cut


def test_the_first_cut_may_hold_two_snapshots() -> None:
    """TOP-7: of the one that broke off some rows may be gone."""
    found = watched(Snapshots(), rows(read_at=OLD, lowest=OLD), rows(read_at=NEW, last=NEW), cut=0)
    assert stages(found) == {A: ReconcileStage.ENDED}


def test_a_newer_snapshot_takes_the_place_of_one_that_broke_off() -> None:
    broken = watched(Snapshots(OLD), rows(read_at=NEW))
    newer = Place("0001" + "3" * 25)
    again = watched(broken, rows(read_at=newer, last=newer), gate=GateMode.TRANSACTION)
    assert again.tables[A].below == below_snapshot(newer)
    assert stages(again) == {A: ReconcileStage.DUE}


@pytest.mark.parametrize(
    ("gate", "stage"),
    [(GateMode.TRANSACTION, ReconcileStage.DUE), (GateMode.NONE, ReconcileStage.ENDED)],
)
@pytest.mark.parametrize("is_there", [True, False], ids=["waits", "done"])
def test_rows_of_a_table_may_come_behind_the_end_of_the_snapshot(
    gate: GateMode, stage: ReconcileStage, *, is_there: bool
) -> None:
    """SNAP-5, SNAP-6: the last row, of another table, was settled by an earlier cut."""
    ended = watched(Snapshots(OLD), rows(B, read_at=NEW, last=NEW), gate=gate, unread=True)
    before = ended if is_there else after_reconciles(ended, [B], {})
    late = watched(Snapshots.from_json(before.to_json()), rows(read_at=NEW), gate=gate, unread=True)
    assert late.tables[A] == Reconcile(stage, BELOW)
    assert stages(watched(late, gate=gate))[A] is ReconcileStage.DUE


def test_a_table_that_comes_late_begins_as_all_others() -> None:
    """SNAP-6: with the snapshot's first rows came none of a table that is folded."""
    begun = watched(Snapshots(OLD), rows(TableName("other", "a"), read_at=NEW))
    assert begun.tables == {}
    late = watched(begun, rows(read_at=NEW))
    assert stages(late) == {A: ReconcileStage.READING}
    assert stages(watched(late, rows(B, read_at=NEW, last=NEW))) == {
        A: ReconcileStage.ENDED,
        B: ReconcileStage.ENDED,
    }


def test_what_comes_again_of_a_snapshot_is_reconciled_once() -> None:
    """SNAP-6: nor does it take the place of a snapshot that a person asked for (SNAP-8)."""
    ended = watched(Snapshots(OLD), rows(read_at=NEW, last=NEW), gate=GateMode.TRANSACTION)
    done = after_reconciles(ended, [A], {})
    again = watched(done, rows(read_at=NEW), reconciled={A: BELOW})
    assert again.tables == {}
    ordered = order_resync(done, A, ())
    assert watched(ordered, rows(read_at=NEW)) == ordered
    chunk = watched(ordered, rows(chunk=NEW))
    assert stages(watched(chunk)) == {A: ReconcileStage.READING}, "a chunk that stands there"


def test_a_person_judges_what_comes_late_of_a_snapshot_that_a_signal_asked_for() -> None:
    """SNAP-6."""
    signalled = watched(Snapshots(OLD), replace(rows(), kind=Kind.ORDER))
    due = watched(signalled, rows(B, read_at=NEW, last=NEW), gate=GateMode.TRANSACTION)
    asked = ask_unless_whole(due, [A, B], {}, asks=False)
    late = watched(asked, rows(read_at=NEW), gate=GateMode.TRANSACTION)
    assert stages(late) == {A: ReconcileStage.DUE, B: ReconcileStage.ASKED}
    both = ask_unless_whole(late, [A, B], {}, asks=False)
    assert "a signal" in both.tables[A].why


def test_tables_that_are_not_folded_are_not_watched() -> None:
    strange = rows(TableName("other", "a"), read_at=NEW, last=NEW)
    assert watched(Snapshots(OLD), strange).tables == {}


def test_a_source_without_places_is_not_reconciled() -> None:
    """POS-11: nothing tells what stands below the snapshot."""
    assert watched(Snapshots(), rows(read_at=Place("0001"), last=Place("0001"))).tables == {}


def test_a_person_judges_a_snapshot_that_a_signal_asked_for() -> None:
    """SNAP-6: a filtered one looks like any other; the next one is none of the signal's."""
    signal = replace(rows(), kind=Kind.ORDER)
    begun = watched(Snapshots(OLD), signal)
    due = watched(begun, rows(read_at=NEW, last=NEW), gate=GateMode.TRANSACTION)
    asked = ask_unless_whole(due, [A], {}, asks=False)
    assert stages(asked) == {A: ReconcileStage.ASKED}
    assert "a signal" in asked.tables[A].why
    assert not asked.is_signalled


def test_a_person_judges_a_snapshot_that_may_not_be_whole() -> None:
    due = watched(Snapshots(OLD), rows(read_at=NEW, last=NEW), gate=GateMode.TRANSACTION)
    assert ask_unless_whole(due, [A], {}, asks=False) == due
    missing = ask_unless_whole(due, [A, B], {}, asks=False)
    assert stages(missing) == {A: ReconcileStage.ASKED}
    assert "shop.b" in missing.tables[A].why
    assert ask_unless_whole(due, [A, B], {B: BELOW}, asks=False) == due, "B had its turn"
    assert stages(ask_unless_whole(due, [A], {}, asks=True)) == {A: ReconcileStage.ASKED}
    assert stages(complete_resync(missing, A)) == {A: ReconcileStage.DUE}


def test_a_table_that_was_truncated_is_not_missing() -> None:
    """SNAP-6: it has nothing that a snapshot could show, unless rows came behind the truncate."""
    truncate = replace(rows(B), kind=Kind.TRUNCATE, highest=Position("0005"))
    before, behind = (replace(rows(B), highest=Position(at)) for at in ("0004", "0006"))
    assert emptied([truncate, before], NAMES) == {B}
    assert emptied([truncate, before, behind], NAMES) == set()
    assert emptied([before], NAMES) == set()


def test_a_table_whose_rows_of_the_snapshot_wait_is_not_missing() -> None:
    """SNAP-6, REFOLD-1: it is refolded, and takes what stands higher with the next cut."""
    waits = rows(read_at=NEW, status=CheckpointStatus.HELD)
    last = rows(B, read_at=NEW, last=NEW)
    due = watched(Snapshots(OLD), waits, last, gate=GateMode.TRANSACTION)
    assert stages(due) == {B: ReconcileStage.DUE}
    assert awaited([waits, last], NAMES, due.newest) == {A}
    assert awaited([replace(waits, read_at=OLD), rows(chunk=NEW)], NAMES, due.newest) == set()
    reconciled = {B: BELOW}
    late = watched(
        after_reconciles(due, [B], {}),
        rows(read_at=NEW),
        gate=GateMode.TRANSACTION,
        reconciled=reconciled,
    )
    assert stages(late) == {A: ReconcileStage.DUE}
    assert ask_unless_whole(late, [A, B], reconciled, asks=False) == late


def test_an_ordered_snapshot_counts_from_its_first_chunk() -> None:
    """SNAP-8: chunks stand where they were read; the least of them begins the snapshot."""
    ordered = order_resync(Snapshots(OLD), A, ())
    assert watched(ordered) == ordered
    assert watched(Snapshots(OLD), rows(chunk=NEW)).tables == {}, "nobody ordered this one"
    later = Place("0001" + "3" * 25)
    read = watched(ordered, rows(chunk=later), rows(chunk=NEW))
    assert read.tables[A].below == BELOW
    assert stages(read) == {A: ReconcileStage.READING}
    whole = complete_resync(read, A)
    assert stages(watched(whole)) == {A: ReconcileStage.DUE}
    assert stages(ask_unless_whole(watched(whole), [A, B], {}, asks=True)) == {
        A: ReconcileStage.DUE
    }


def test_what_changed_since_a_snapshot_was_ordered_outlives_it() -> None:
    """SNAP-9: its first chunk stands behind what changed in its window, and leaves that out."""
    published = Place("0001" + "1" * 25)
    ordered = order_resync(Snapshots(OLD), A, (Place("0001" + "0" * 25), published))
    below = watched(ordered, rows(chunk=NEW)).tables[A].below
    assert f"{published}{'F' * 16}" < below < NEW
    assert Snapshots.from_json(ordered.to_json()) == ordered


def test_an_ordered_snapshot_of_which_no_row_came_removes_nothing() -> None:
    whole = complete_resync(order_resync(Snapshots(), A, ()), A)
    assert stages(watched(whole)) == {A: ReconcileStage.ENDED}
    assert not whole.wait_for_a_cut


def test_what_is_done_is_forgotten_and_what_is_refused_is_asked() -> None:
    due = watched(
        Snapshots(OLD),
        rows(read_at=NEW, last=NEW),
        rows(B, read_at=NEW),
        gate=GateMode.TRANSACTION,
    )
    left = after_reconciles(due, [A], {B: "it lacks 7 rows"})
    assert stages(left) == {B: ReconcileStage.ASKED}
    assert left.newest == NEW
    assert Snapshots.from_json(left.to_json()) == left
