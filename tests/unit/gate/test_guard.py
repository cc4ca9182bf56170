"""Rows that an incremental snapshot read before a truncate and sent after it: SNAP-7."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

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
from tidemark.model.summary import Summary
from tidemark.model.survey import Group, Survey
from tidemark.model.zone import Zone

A = TableName("shop", "a")
B = TableName("shop", "b")
NAMES = {("shop", "a"): A, ("shop", "b"): B}
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
    """The answers are those that an engine gives over the groups' records."""
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    columns = "zone, kind, source_schema, source_table, snapshot, position"
    database.execute(f"CREATE TABLE zoned ({columns})")
    for one in groups:
        chunk = {one.chunk_from, one.chunk_to} - {None}
        mark = "incremental" if chunk else None
        for at in chunk or {one.highest_place}:
            row = ("cut", one.kind, *(one.table or ("", "")), mark, f"{at}{'0' * 16}")
            database.execute("INSERT INTO zoned VALUES (?, ?, ?, ?, ?, ?)", row)

    def ask(question: Summary) -> list[dict[str, Any]]:
        named = {**question.keys, **question.figures}
        found = ", ".join(f"{text} AS {name}" for name, text in named.items())
        keys = ", ".join(question.keys.values())
        query = f"SELECT {found} FROM zoned WHERE {question.where} GROUP BY {keys}"  # noqa: S608
        return [dict(row) for row in database.execute(query)]

    return next_guards(before, decided(*groups), NAMES, ask, sees_windows=sees_windows)


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


def test_of_several_windows_the_first_one_behind_the_truncate_is_sound() -> None:
    """SNAP-7: and so is all that comes later, in the cut of the truncate already."""
    windows = (group(Kind.WINDOW, at) for at in (2, 6, 9))
    found = guards(UNTOUCHED, *windows, group(Kind.TRUNCATE, 3), rows(5, 10), sees_windows=True)
    assert found == {A: position(6)}


def test_each_table_has_the_first_window_behind_its_own_truncate() -> None:
    truncate_b = replace(group(Kind.TRUNCATE, 7), table=("shop", "b"))
    windows = (group(Kind.WINDOW, at) for at in (2, 6, 9))
    found = guards(UNTOUCHED, *windows, group(Kind.TRUNCATE, 3), truncate_b, sees_windows=True)
    assert found == {A: position(6), B: position(9)}


def test_of_several_chunks_the_first_one_behind_the_truncate_falls() -> None:
    """SNAP-7: the windows of later ones opened behind that; chunks of other tables tell nothing."""
    other = replace(rows(4, 4), table=("shop", "b"))
    found = guards(
        UNTOUCHED, group(Kind.TRUNCATE, 3), rows(2, 9), rows(5, 7), other, sees_windows=False
    )
    assert position(5) < found[A] < position(6)


def test_without_windows_the_first_chunk_falls() -> None:
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
