"""Rows that an incremental snapshot read before a truncate and sent after it: SNAP-7."""

from __future__ import annotations

from dataclasses import replace

from tidemark.gate.guard import ALL, next_guards
from tidemark.gate.next_cut import Decision
from tidemark.gate.reconcile import watch_snapshots
from tidemark.gate.sight import Sight
from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.event import Kind, Op
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place, Position
from tidemark.model.progress import Progress
from tidemark.model.reconcile import BELOW_ALL_OFFSETS, Reconcile, ReconcileStage, Snapshots
from tidemark.model.survey import Group, Survey
from tidemark.model.zone import Zone

A = TableName("shop", "a")
NAMES = {("shop", "a"): A}
UNTOUCHED = Progress(cut=1)


def place(number: int) -> Place:
    return Place(f"0001{number:025d}")


def position(number: int) -> Position:
    return Position(place(number) + "0" * 16)


def group(kind: Kind, highest: int, *, chunk: tuple[int, int] | None = None) -> Group:
    table = ("shop", "debezium_signal") if kind is Kind.WINDOW else ("shop", "a")
    return Group(
        at=TopicPartition(TopicName("s.shop"), 0),
        kind=kind,
        table=table,
        op=Op.UPSERT if kind is Kind.ROW else None,
        schema_id=None,
        zone=Zone.CUT,
        is_new=True,
        records=1,
        without_key=0,
        highest_place=place(highest),
        highest=position(highest),
        oldest_landing=1,
        newest_offset=1,
        chunk_from=place(chunk[0]) if chunk else None,
        chunk_to=place(chunk[1]) if chunk else None,
    )


def rows(first: int, last: int) -> Group:
    return group(Kind.ROW, last, chunk=(first, last))


def decided(*groups: Group) -> Decision:
    return Decision(Cut(2, GateMode.NONE, Frontier()), Sight(), Survey(groups))


def guards(before: Progress, *groups: Group, sees_windows: bool) -> dict[TableName, Position]:
    return next_guards(before, decided(*groups), NAMES, sees_windows=sees_windows)


def test_a_table_that_was_never_truncated_needs_no_guard() -> None:
    for sees_windows in (True, False):
        assert guards(UNTOUCHED, rows(5, 5), sees_windows=sees_windows) == {}


def test_a_window_that_opened_after_the_truncate_is_sound() -> None:
    truncate = group(Kind.TRUNCATE, 3)
    open_before, open_after = group(Kind.WINDOW, 2), group(Kind.WINDOW, 6)
    found = guards(UNTOUCHED, open_before, truncate, rows(5, 5), sees_windows=True)
    assert found == {A: ALL}, "no window is known to have opened since"
    later = Progress(cut=2, truncated={A: position(3)}, guards=found)
    assert guards(later, rows(5, 5), sees_windows=True) == {A: ALL}
    assert guards(later, open_after, rows(7, 7), sees_windows=True) == {A: position(6)}


def test_without_windows_the_first_chunks_fall() -> None:
    found = guards(UNTOUCHED, group(Kind.TRUNCATE, 3), rows(1, 2), sees_windows=False)
    assert found == {A: ALL}, "rows below the truncate fall in any case"
    later = Progress(cut=2, truncated={A: position(3)}, guards=found)
    guarded = guards(later, rows(5, 5), sees_windows=False)
    assert position(5) < guarded[A] < position(6)
    kept = replace(later, guards=guarded)
    assert guards(kept, rows(8, 8), sees_windows=False) == guarded


def test_a_newer_truncate_begins_anew_and_a_repeated_one_does_not() -> None:
    """TRUNC-3: what is sent again stands at the same place."""
    kept = Progress(cut=2, truncated={A: position(3)}, guards={A: position(6)})
    again = replace(group(Kind.TRUNCATE, 3), highest=Position(place(3) + "0" * 15 + "9"))
    assert guards(kept, again, sees_windows=True) == {A: position(6)}
    assert guards(kept, group(Kind.TRUNCATE, 7), sees_windows=True) == {A: ALL}


def test_what_a_person_ordered_does_not_fall_unless_a_window_says_so() -> None:
    """SNAP-8: what was lost is in no stream, so the rows that were ordered have to stay."""
    ordered = Snapshots(tables={A: Reconcile(ReconcileStage.READING, is_ordered=True)})
    kept = Progress(cut=2, truncated={A: position(3)}, snapshots=ordered, guards={A: ALL})
    assert guards(kept, rows(5, 5), sees_windows=False) == {}
    assert guards(kept, rows(5, 5), sees_windows=True) == {A: ALL}


def test_a_table_keeps_what_was_written_behind_a_truncate_that_an_ordered_chunk_spans() -> None:
    """SNAP-8: rows behind the truncate were streamed; their fall proves nothing."""
    ordered = Snapshots(tables={A: Reconcile(ReconcileStage.READING, is_ordered=True)})
    before = Progress(cut=2, snapshots=ordered)
    decision = decided(group(Kind.TRUNCATE, 3), rows(5, 5))
    fell = watch_snapshots(before, decision, NAMES, {A: ALL}).tables[A]
    assert fell.below == position(3)
    counted = watch_snapshots(before, decision, NAMES, {A: position(4)}).tables[A]
    assert counted.below == place(5) + BELOW_ALL_OFFSETS


def test_only_the_offset_orders_so_nothing_is_told() -> None:
    """POS-11."""
    truncate = replace(group(Kind.TRUNCATE, 3), highest=Position("0001" + "0" * 15 + "3"))
    assert guards(UNTOUCHED, truncate, sees_windows=False) == {}
