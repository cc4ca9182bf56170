"""Rows that an incremental snapshot read before a truncate and sent after it: SNAP-7."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

from tidemark.gate.next_cut import Decision
from tidemark.gate.reconcile import watch_snapshots
from tidemark.gate.statistics import StreamStatistics
from tidemark.gate.window_bound import ALL, next_window_bounds
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.event import Kind, Op
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place, Position
from tidemark.model.profile import BatchProfile, ProfileEntry
from tidemark.model.progress import Progress
from tidemark.model.reconcile import BELOW_ALL_OFFSETS, Reconcile, ReconcileStage, Snapshots
from tidemark.model.summary import Summary

A = TableName("shop", "a")
B = TableName("shop", "b")
NAMES = {("shop", "a"): A, ("shop", "b"): B}
UNTOUCHED = Progress(cut=1)


def place(number: int) -> Place:
    return Place(f"0001{number:025d}")


def position(number: int) -> Position:
    return Position(place(number) + "0" * 16)


def profile_entry(
    kind: Kind, highest: int, *, chunk: tuple[int, int] | None = None
) -> ProfileEntry:
    table = ("shop", "debezium_signal") if kind is Kind.WINDOW else ("shop", "a")
    return ProfileEntry(
        at=TopicPartition(TopicName("s.shop"), 0),
        kind=kind,
        table=table,
        op=Op.UPSERT if kind is Kind.ROW else None,
        schema_id=None,
        status=CheckpointStatus.PENDING,
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


def rows(first: int, last: int) -> ProfileEntry:
    return profile_entry(Kind.ROW, last, chunk=(first, last))


def decided(*profile_entries: ProfileEntry) -> Decision:
    return Decision(
        Cut(2, GateMode.NONE, Frontier()), StreamStatistics(), BatchProfile(profile_entries)
    )


def window_bounds(
    before: Progress, *profile_entries: ProfileEntry, sees_windows: bool
) -> dict[TableName, Position]:
    """The answers are those that an engine gives over the groups' records."""
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    columns = "status, kind, source_schema, source_table, snapshot, position"
    database.execute(f"CREATE TABLE zoned ({columns})")
    for one in profile_entries:
        chunk = {one.chunk_from, one.chunk_to} - {None}
        mark = "incremental" if chunk else None
        for at in chunk or {one.highest_place}:
            row = ("pending", one.kind, *(one.table or ("", "")), mark, f"{at}{'0' * 16}")
            database.execute("INSERT INTO zoned VALUES (?, ?, ?, ?, ?, ?)", row)

    def ask(question: Summary) -> list[dict[str, Any]]:
        named = {**question.keys, **question.figures}
        found = ", ".join(f"{text} AS {name}" for name, text in named.items())
        keys = ", ".join(question.keys.values())
        query = f"SELECT {found} FROM zoned WHERE {question.where} GROUP BY {keys}"  # noqa: S608
        return [dict(row) for row in database.execute(query)]

    return next_window_bounds(
        before, decided(*profile_entries), NAMES, ask, sees_windows=sees_windows
    )


def test_a_table_that_was_never_truncated_needs_no_window_bound() -> None:
    for sees_windows in (True, False):
        assert window_bounds(UNTOUCHED, rows(5, 5), sees_windows=sees_windows) == {}


def test_a_window_that_opened_after_the_truncate_is_sound() -> None:
    truncate = profile_entry(Kind.TRUNCATE, 3)
    open_before, open_after = profile_entry(Kind.WINDOW, 2), profile_entry(Kind.WINDOW, 6)
    found = window_bounds(UNTOUCHED, open_before, truncate, rows(5, 5), sees_windows=True)
    assert found == {A: ALL}, "no window is known to have opened since"
    later = Progress(cut=2, truncated={A: position(3)}, window_bounds=found)
    assert window_bounds(later, rows(5, 5), sees_windows=True) == {A: ALL}
    assert window_bounds(later, open_after, rows(7, 7), sees_windows=True) == {A: position(6)}


def test_of_several_windows_the_first_one_behind_the_truncate_is_sound() -> None:
    """SNAP-7: and so is all that comes later, in the cut of the truncate already."""
    windows = (profile_entry(Kind.WINDOW, at) for at in (2, 6, 9))
    found = window_bounds(
        UNTOUCHED, *windows, profile_entry(Kind.TRUNCATE, 3), rows(5, 10), sees_windows=True
    )
    assert found == {A: position(6)}


def test_each_table_has_the_first_window_behind_its_own_truncate() -> None:
    truncate_b = replace(profile_entry(Kind.TRUNCATE, 7), table=("shop", "b"))
    windows = (profile_entry(Kind.WINDOW, at) for at in (2, 6, 9))
    found = window_bounds(
        UNTOUCHED, *windows, profile_entry(Kind.TRUNCATE, 3), truncate_b, sees_windows=True
    )
    assert found == {A: position(6), B: position(9)}


def test_of_several_chunks_the_first_one_behind_the_truncate_falls() -> None:
    """SNAP-7: the windows of later ones opened behind that; chunks of other tables tell nothing."""
    other = replace(rows(4, 4), table=("shop", "b"))
    found = window_bounds(
        UNTOUCHED,
        profile_entry(Kind.TRUNCATE, 3),
        rows(2, 9),
        rows(5, 7),
        other,
        sees_windows=False,
    )
    assert position(5) < found[A] < position(6)


def test_without_windows_the_first_chunk_falls() -> None:
    found = window_bounds(
        UNTOUCHED, profile_entry(Kind.TRUNCATE, 3), rows(1, 2), sees_windows=False
    )
    assert found == {A: ALL}, "rows below the truncate fall in any case"
    later = Progress(cut=2, truncated={A: position(3)}, window_bounds=found)
    guarded = window_bounds(later, rows(5, 5), sees_windows=False)
    assert position(5) < guarded[A] < position(6)
    kept = replace(later, window_bounds=guarded)
    assert window_bounds(kept, rows(8, 8), sees_windows=False) == guarded


def test_a_newer_truncate_begins_anew_and_a_repeated_one_does_not() -> None:
    """TRUNC-3: what is sent again stands at the same place."""
    kept = Progress(cut=2, truncated={A: position(3)}, window_bounds={A: position(6)})
    again = replace(profile_entry(Kind.TRUNCATE, 3), highest=Position(place(3) + "0" * 15 + "9"))
    assert window_bounds(kept, again, sees_windows=True) == {A: position(6)}
    assert window_bounds(kept, profile_entry(Kind.TRUNCATE, 7), sees_windows=True) == {A: ALL}


def test_what_a_person_ordered_does_not_fall_unless_a_window_says_so() -> None:
    """SNAP-8: what was lost is in no stream, so the rows that were ordered have to stay."""
    ordered = Snapshots(tables={A: Reconcile(ReconcileStage.READING, is_ordered=True)})
    kept = Progress(cut=2, truncated={A: position(3)}, snapshots=ordered, window_bounds={A: ALL})
    assert window_bounds(kept, rows(5, 5), sees_windows=False) == {}
    assert window_bounds(kept, rows(5, 5), sees_windows=True) == {A: ALL}


def test_a_table_keeps_what_was_written_behind_a_truncate_that_an_ordered_chunk_spans() -> None:
    """SNAP-8: rows behind the truncate were streamed; their fall proves nothing."""
    ordered = Snapshots(tables={A: Reconcile(ReconcileStage.READING, is_ordered=True)})
    before = Progress(cut=2, snapshots=ordered)
    decision = decided(profile_entry(Kind.TRUNCATE, 3), rows(5, 5))
    fell = watch_snapshots(before, decision, NAMES, {A: ALL}).tables[A]
    assert fell.below == position(3)
    counted = watch_snapshots(before, decision, NAMES, {A: position(4)}).tables[A]
    assert counted.below == place(5) + BELOW_ALL_OFFSETS


def test_only_the_offset_orders_so_nothing_is_told() -> None:
    """POS-11."""
    truncate = replace(profile_entry(Kind.TRUNCATE, 3), highest=Position("0001" + "0" * 15 + "3"))
    assert window_bounds(UNTOUCHED, truncate, sees_windows=False) == {}
