"""Whether a cut leaves all tables as the source was at one moment: PUB-14."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tidemark.gate.as_of import is_passed, why_not_as_of
from tidemark.gate.next_cut import Decision
from tidemark.gate.statistics import PartitionStatistics, StreamStatistics
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import Cut, Frontier, GateMode, Hold, HoldCode
from tidemark.model.event import Kind, Op
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place
from tidemark.model.profile import BatchProfile, ProfileEntry
from tidemark.model.progress import Progress
from tidemark.model.until import Until

P0, P1 = (TopicPartition(TopicName("shop"), number) for number in (0, 1))
ORDERS = TableName("shop", "orders")
EIGHT = Until.at_time(datetime(2026, 11, 24, 8, tzinfo=UTC))
CAPPED = Hold(HoldCode.UNTIL, EIGHT.sentence)
STALLED = Hold(HoldCode.GATE_STALLED, "partition 1 has sent no watermark")
DONE, BEFORE = "", "nothing proves yet that all is there which the source committed before"


def decided(
    mode: GateMode,
    hold: Hold | None,
    frontier: Frontier | None = None,
    seen: StreamStatistics | None = None,
    *held: str,
) -> Decision:
    """held: places of changes that wait."""
    waiting = [
        ProfileEntry(
            *(P0, Kind.ROW, ("shop", "orders"), Op.UPSERT, None, CheckpointStatus.HELD, True),
            *(1, 0, None, None, 1, 0),
            lowest_place=Place(place),
        )
        for place in held
    ]
    cut = Cut(2, mode, frontier or Frontier(), hold)
    return Decision(cut, seen or StreamStatistics(), BatchProfile(tuple(waiting)))


AT_EIGHT = Frontier(commit_ts=EIGHT.commit_ts)
BELOW = Frontier(commit_ts=EIGHT.commit_ts - 1)


@pytest.mark.parametrize(
    ("hold", "frontier", "why"),
    [
        pytest.param(CAPPED, AT_EIGHT, DONE, id="capped"),
        pytest.param(STALLED, AT_EIGHT, DONE, id="the watermark stands there as well"),
        pytest.param(STALLED, BELOW, f"{BEFORE}: {STALLED.sentence}", id="no watermark yet"),
        pytest.param(Hold(HoldCode.UNTIL, "a statement"), BELOW, BEFORE, id="a statement ends it"),
    ],
)
def test_watermarks_prove_it(hold: Hold, frontier: Frontier, why: str) -> None:
    decision = decided(GateMode.WATERMARK, hold, frontier)
    assert why_not_as_of(EIGHT, decision, Progress(frontier=frontier)) == why


def test_what_is_published_later_cannot_be_shown_apart() -> None:
    above = Frontier(commit_ts=EIGHT.commit_ts + 1)
    assert is_passed(GateMode.WATERMARK, Progress(frontier=above), EIGHT)
    assert not is_passed(GateMode.WATERMARK, Progress(frontier=AT_EIGHT), EIGHT)
    for mode in (GateMode.TRANSACTION, GateMode.NONE):
        assert not is_passed(mode, Progress(newest_ms=EIGHT.number - 1), EIGHT)
        assert is_passed(mode, Progress(newest_ms=EIGHT.number), EIGHT)
        assert is_passed(mode, Progress(read_ms=EIGHT.number), EIGHT), "a snapshot was read then"
    decision = decided(GateMode.WATERMARK, CAPPED, above)
    assert why_not_as_of(EIGHT, decision, Progress(frontier=above)) == (
        "what the source committed later is published already"
    )


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(Progress(frontier=AT_EIGHT, behind={ORDERS: Frontier()}), id="behind"),
        pytest.param(Progress(frontier=AT_EIGHT, blocked={ORDERS: "no column"}), id="blocked"),
    ],
)
def test_a_table_that_stands_lower_leaves_all_without(after: Progress) -> None:
    decision = decided(GateMode.WATERMARK, CAPPED, AT_EIGHT)
    assert why_not_as_of(EIGHT, decision, after).startswith("shop.orders: stopped")


@pytest.mark.parametrize(
    ("hold", "held", "why"),
    [
        pytest.param(CAPPED, ("0020",), DONE, id="what waits came later"),
        pytest.param(CAPPED, ("0010", "0020"), BEFORE, id="a truncate before waits for proof"),
        pytest.param(None, (), BEFORE, id="nothing came later"),
        pytest.param(STALLED, ("0020",), f"{BEFORE}: {STALLED.sentence}", id="not read to the end"),
    ],
)
def test_a_later_change_proves_it_by_transactions(
    hold: Hold | None, held: tuple[str, ...], why: str
) -> None:
    capped = {P0: PartitionStatistics(highest=Place("0020"), capped_from=Place("0020"))}
    seen = StreamStatistics((P0,), partitions=capped)
    decision = decided(GateMode.TRANSACTION, hold, None, seen, *held)
    assert why_not_as_of(EIGHT, decision, Progress()) == why


@pytest.mark.parametrize(
    ("offsets", "unread", "why"),
    [
        pytest.param({P0: 4, P1: 9}, frozenset(), DONE, id="all below the cap"),
        pytest.param({P0: 4, P1: 7}, frozenset(), BEFORE, id="moved keys wait"),
        pytest.param({P0: 4, P1: 9}, frozenset({P1}), BEFORE, id="not read to the end"),
    ],
)
def test_without_a_gate_all_that_is_there_has_to_be_read(
    offsets: dict[TopicPartition, int], unread: frozenset[TopicPartition], why: str
) -> None:
    seen = StreamStatistics((P0, P1), {P0: 6, P1: 9}, unread, first_capped={P0: 4})
    decision = decided(GateMode.NONE, CAPPED, Frontier(offsets=offsets), seen)
    assert why_not_as_of(EIGHT, decision, Progress()) == why
