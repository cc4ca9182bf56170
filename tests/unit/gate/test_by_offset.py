"""No gate: rule GATE-N1 and the cap of a dated run."""

from __future__ import annotations

from datetime import UTC, datetime

from tidemark.gate.by_offset import offset_cut
from tidemark.model.cut import Frontier, HoldCode
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.progress import Progress

P0, P1 = (TopicPartition(TopicName("db.t"), number) for number in range(2))
UNTIL = datetime(2026, 1, 1, tzinfo=UTC)


def test_everything_landed_is_in_the_cut() -> None:
    cut = offset_cut(Progress(), {P0: 10, P1: 3}, {}, None)
    assert cut.frontier == Frontier(offsets={P0: 10, P1: 3})
    assert cut.hold is None


def test_until_ends_each_partition_at_its_first_later_record() -> None:
    cut = offset_cut(Progress(), {P0: 10, P1: 3}, {P0: 4}, UNTIL)
    assert cut.frontier.offsets == {P0: 4, P1: 3}
    assert cut.hold is not None
    assert cut.hold.code is HoldCode.UNTIL


def test_a_cap_below_the_frontier_takes_nothing_back() -> None:
    progress = Progress(frontier=Frontier(offsets={P0: 6}))
    assert offset_cut(progress, {P0: 10}, {P0: 4}, UNTIL).frontier.offsets == {P0: 6}
