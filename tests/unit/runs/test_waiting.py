"""Tables that stand lower share what is read for them."""

from __future__ import annotations

from dataclasses import replace

from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.names import TableName
from tidemark.model.progress import Progress
from tidemark.model.refold import Refold, TableState
from tidemark.runs.waiting import tables_alike

A, B, C, D, E = (TableName("shop", name) for name in "abcde")
NOW = Cut(7, GateMode.WATERMARK, Frontier(commit_ts=70))


def test_tables_that_stopped_in_one_cut_are_read_together() -> None:
    """GATE-5: each other frontier, landing or end of the cut needs statuses of its own."""
    first, second = Frontier(commit_ts=10), Frontier(commit_ts=20)
    progress = Progress(
        cut=6,
        landing=9,
        frontier=Frontier(commit_ts=60),
        behind={D: second, B: first, C: first, A: first, E: first},
        landings={C: 3},
    )
    shorter = replace(NOW, frontier=Frontier(commit_ts=15))
    cuts = {**dict.fromkeys(progress.behind, NOW), E: shorter}
    assert tables_alike(progress, cuts) == [[A, B], [C], [D], [E]]
    refold = Refold("shop.a", Frontier(commit_ts=60), replaces=True, paused=TableState(first))
    refolding = replace(progress, refolds={A: refold})
    assert tables_alike(refolding, cuts) == [[A], [B], [C], [D], [E]]


def test_nothing_is_apart_where_no_table_stands_lower() -> None:
    assert tables_alike(Progress(), {}) == []
