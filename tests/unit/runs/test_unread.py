"""Which offsets one landing takes."""

from __future__ import annotations

import pytest

from tidemark.model.cut import GateMode
from tidemark.model.names import TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.runs.landing.unread import shortened
from tidemark.topics.preflight import TopicPlan

ROWS, STATEMENTS = TopicPartition(TopicName("s.t"), 0), TopicPartition(TopicName("s"), 0)
PLAN = TopicPlan(
    frozenset({ROWS.topic}),
    frozenset({STATEMENTS.topic}),
    frozenset(),
    (),
    {ROWS: OffsetRange(0, 90), STATEMENTS: OffsetRange(0, 10)},
)


@pytest.mark.parametrize(
    ("gate", "rows", "statements"),
    [(GateMode.TRANSACTION, 10, 10), (GateMode.NONE, 18, 2)],
)
def test_statements_are_landed_before_the_rows_above_them(
    gate: GateMode, rows: int, statements: int
) -> None:
    """GATE-T6: their topic is no partition that the gate waits for."""
    ranges = shortened(PLAN, gate, 20)
    assert ranges == {ROWS: OffsetRange(0, rows), STATEMENTS: OffsetRange(0, statements)}
