"""The watermark gate: rules GATE-W1, GATE-W2, GATE-W3 and GATE-4."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.gate.by_watermark import newest_watermarks, watermark_cut, watermark_gate
from tidemark.model.cut import Frontier, Hold, HoldCode
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.progress import Progress
from tidemark.model.until import Coordinate, Until

P0, P1, P2 = (TopicPartition(TopicName("shop"), number) for number in range(3))


@pytest.mark.parametrize(
    ("newest", "partitions", "gate"),
    [
        pytest.param({P0: 450, P1: 430}, [P0, P1], 430, id="the slowest partition rules"),
        pytest.param({P0: 450}, [P0, P1], None, id="a silent partition holds everything"),
        pytest.param({P0: 450, P2: 1}, [P0], 450, id="a partition that is not ours does not count"),
        pytest.param({}, [], None, id="no partition proves nothing"),
    ],
)
def test_gate(
    newest: dict[TopicPartition, int], partitions: list[TopicPartition], gate: int | None
) -> None:
    assert watermark_gate(newest, partitions) == gate


def test_a_watermark_that_falls_back_changes_nothing() -> None:
    assert newest_watermarks({P0: 450}, {P0: 400, P1: 10}) == {P0: 450, P1: 10}


def test_the_silent_partition_is_named() -> None:
    cut = watermark_cut(Progress(), {P0: 450, P1: 430}, [P0, P1, P2], None)
    assert cut.frontier == Frontier(commit_ts=0)
    assert cut.hold is not None
    assert cut.hold.code is HoldCode.GATE_NO_WATERMARK
    assert cut.hold.sentence == "no watermark has come yet from partition 2 of topic shop"


def test_the_frontier_never_goes_back() -> None:
    progress = Progress(cut=7, frontier=Frontier(commit_ts=500))
    cut = watermark_cut(progress, {P0: 450}, [P0], None)
    assert (cut.number, cut.frontier.commit_ts) == (8, 500)


TSO = 1_775_001_600_000 << 18  # 2026-04-01T00:00:00Z


@pytest.mark.parametrize(
    ("until", "said"),
    [
        pytest.param(
            Until.at_time(datetime(2026, 4, 1, tzinfo=UTC)), "2026-04-01T00:00:00+00:00", id="time"
        ),
        pytest.param(Until(Coordinate.COMMIT, TSO, str(TSO)), str(TSO), id="commitTs"),
    ],
)
def test_until_caps_the_cut_and_says_so(until: Until, said: str) -> None:
    cut = watermark_cut(Progress(), {P0: TSO + 99}, [P0], until)
    assert cut.frontier.commit_ts == TSO
    assert cut.hold == Hold(HoldCode.UNTIL, f"the run is capped at {said}")


@pytest.mark.parametrize(
    ("watermark", "published", "frontier"),
    [
        pytest.param(449, 0, 449, id="the watermark is lower"),
        pytest.param(450, 0, 450, id="the watermark is as low"),
        pytest.param(900, 700, 700, id="what is published stays"),
    ],
)
def test_a_cap_moves_nothing_up_or_back(watermark: int, published: int, frontier: int) -> None:
    progress = Progress(frontier=Frontier(commit_ts=published))
    cut = watermark_cut(progress, {P0: watermark}, [P0], Until(Coordinate.COMMIT, 450, "450"))
    assert cut.frontier.commit_ts == frontier


@given(
    histories=st.lists(
        st.dictionaries(st.sampled_from([P0, P1, P2]), st.integers(1, 99)), min_size=1, max_size=9
    )
)
def test_frontiers_of_any_history_rise_and_stay_below_every_partition(
    histories: list[dict[TopicPartition, int]],
) -> None:
    progress, newest = Progress(), dict[TopicPartition, int]()
    for seen in histories:
        newest = newest_watermarks(newest, seen)
        cut = watermark_cut(progress, newest, [P0, P1, P2], None)
        assert cut.frontier.commit_ts >= progress.frontier.commit_ts
        assert cut.frontier.commit_ts <= min(newest.get(place, 0) for place in (P0, P1, P2))
        progress = Progress(cut=cut.number, frontier=cut.frontier)
