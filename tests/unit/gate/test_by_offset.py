"""No gate: rule GATE-N1, the cap of a dated run, and partitions that are added (TOP-3)."""

from __future__ import annotations

import pytest

from tidemark.gate.by_offset import holds_rows_below, offset_cut
from tidemark.gate.expansion import seen_expansions
from tidemark.gate.statistics import StreamStatistics
from tidemark.model.cut import Cut, Frontier, Hold, HoldCode
from tidemark.model.expansion import PartitionExpansion, PartitionExpansions
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import Offsets, TopicPartition
from tidemark.model.position import Position
from tidemark.model.progress import Progress
from tidemark.model.until import Barrier, Behind, Until

T = TopicName("db.t")
P0, P1, P2, P3 = (TopicPartition(T, number) for number in range(4))
OTHER = TopicPartition(TopicName("db.u"), 0)
STATEMENT = Barrier(TableName("db", "t"), Position(f"{15:04X}" + "0" * 16), Behind.OTHER_KEY)
UNTIL = Until.at_binlog(3, 1547, "binlog.000003:1547")


def cut_of(landed: Offsets, expansion: PartitionExpansion, progress: Progress | None = None) -> Cut:
    statistics = StreamStatistics(landed=landed, expansions={T: expansion})
    return offset_cut(progress or Progress(), statistics, None)


def test_everything_landed_is_in_the_cut() -> None:
    cut = offset_cut(Progress(), StreamStatistics(landed={P0: 10, P1: 3}), None)
    assert cut.frontier == Frontier(offsets={P0: 10, P1: 3})
    assert cut.hold is None


def test_until_ends_each_partition_at_its_first_later_record() -> None:
    cut = offset_cut(
        Progress(), StreamStatistics(landed={P0: 10, P1: 3}, first_capped={P0: 4}), UNTIL
    )
    assert cut.frontier.offsets == {P0: 4, P1: 3}
    assert cut.hold == Hold(HoldCode.UNTIL, "the run is capped at binlog.000003:1547")


def test_a_cap_below_the_frontier_takes_nothing_back() -> None:
    progress = Progress(frontier=Frontier(offsets={P0: 6}))
    statistics = StreamStatistics(landed={P0: 10}, first_capped={P0: 4})
    assert offset_cut(progress, statistics, UNTIL).frontier.offsets == {P0: 6}


def test_an_added_partition_waits_for_the_older_one() -> None:
    """TOP-3; other topics go on, and so does a single older partition: no key moves to it."""
    expansion = PartitionExpansion({P0: 5}, {P0: 9})
    cut = cut_of({P0: 8, P1: 4, OTHER: 2}, expansion)
    assert cut.frontier.offsets == {P0: 8, P1: 0, OTHER: 2}
    assert cut.hold is not None
    assert cut.hold.code is HoldCode.PARTITIONS_ADDED
    assert cut.hold.sentence == (
        "topic db.t got partition 1, so keys move; their changes wait until it is read in "
        "partition 0 to offset 9 (read to 8)"
    )
    done = cut_of({P0: 9, P1: 4}, expansion)
    assert (done.frontier.offsets, done.hold) == ({P0: 9, P1: 4}, None)


def test_keys_move_between_older_partitions_too() -> None:
    """TOP-3: from two to three, k mod 2 becomes k mod 3; all partitions wait for one cut."""
    expansion = PartitionExpansion({P0: 5, P1: 3}, {P0: 9, P1: 7})
    assert cut_of({P0: 9, P1: 6, P2: 4}, expansion).frontier.offsets == {P0: 5, P1: 3, P2: 0}
    assert cut_of({P0: 9, P1: 7, P2: 4}, expansion).frontier.offsets == {P0: 9, P1: 7, P2: 4}


def test_what_is_published_stays_published_while_keys_move() -> None:
    progress = Progress(frontier=Frontier(offsets={P0: 6, P1: 3}))
    cut = cut_of(
        {P0: 9, P1: 6, P2: 4}, PartitionExpansion({P0: 5, P1: 3}, {P0: 9, P1: 7}), progress
    )
    assert cut.frontier.offsets == {P0: 6, P1: 3, P2: 0}


def test_a_cap_below_the_end_of_an_older_partition_holds_the_added_one() -> None:
    """Clocks step back: a delete in the added partition may look older than its insert."""
    statistics = StreamStatistics(
        landed={P0: 9, P1: 4},
        first_capped={P0: 8},
        expansions={T: PartitionExpansion({P0: 5}, {P0: 9})},
    )
    cut = offset_cut(Progress(), statistics, UNTIL)
    assert cut.frontier.offsets == {P0: 8, P1: 0}
    assert cut.hold is not None
    assert cut.hold.code is HoldCode.UNTIL


@pytest.mark.parametrize(
    ("landed", "taken"),
    [
        pytest.param({P0: 50, P1: 99}, {P0: 0, P1: 0}, id="lagging"),
        pytest.param({P0: 99, P1: 99}, {P0: 20, P1: 30}, id="read"),
    ],
)
def test_a_cap_at_one_place_of_the_log_is_as_a_statement(landed: Offsets, taken: Offsets) -> None:
    """TOP-3: what waits above it is no reason to wait below it."""
    statistics = StreamStatistics(
        landed=landed,
        first_capped={P0: 20, P1: 30},
        in_log_order=True,
        expansions={T: PartitionExpansion({P0: 0, P1: 0}, {P0: 99, P1: 99})},
    )
    assert offset_cut(Progress(), statistics, UNTIL).frontier.offsets == taken


@pytest.mark.parametrize(
    ("landed", "taken", "waits"),
    [
        pytest.param({P0: 50, P1: 60, OTHER: 1}, {P0: 0, P1: 0, OTHER: 1}, True, id="lagging"),
        pytest.param({P0: 99, P1: 99, OTHER: 1}, {P0: 20, P1: 30, OTHER: 1}, False, id="read"),
    ],
)
def test_a_statement_waits_for_keys_that_moved_below_it(
    landed: Offsets, taken: Offsets, waits: bool
) -> None:
    """TOP-3, SCHEMA-11: once the older partitions are read, it caps all at one place."""
    statistics = StreamStatistics(
        landed=landed,
        first_capped={P0: 20, P1: 30},
        expansions={T: PartitionExpansion({P0: 0, P1: 0}, {P0: 99, P1: 99})},
    )
    cut = offset_cut(Progress(), statistics, STATEMENT)
    assert (cut.frontier.offsets, holds_rows_below(Progress(), statistics)) == (taken, waits)
    published = Progress(frontier=Frontier(offsets={P0: 20, P1: 30}))
    assert not holds_rows_below(published, statistics)


@pytest.mark.parametrize(
    ("kept", "landed", "ends", "expansions"),
    [
        pytest.param({}, {}, {P0: 5, P1: 2}, {}, id="a new topic did not grow"),
        pytest.param({}, {P0: 3, P1: 0}, {P0: 5, P1: 2}, {}, id="a partition that was empty"),
        pytest.param(
            {}, {P0: 3}, {P0: 5, P1: 2}, {T: PartitionExpansion({P0: 3}, {P0: 5})}, id="first sight"
        ),
        pytest.param(
            {T: PartitionExpansion({P0: 3}, {P0: 5})},
            {P0: 5, P1: 0},
            {P0: 8, P1: 1},
            {T: PartitionExpansion({P0: 3}, {P0: 8})},
            id="the ends are those at the first record of an added partition",
        ),
        pytest.param(
            {T: PartitionExpansion({P0: 3}, {P0: 8})},
            {P0: 6, P1: 1},
            {P0: 20, P1: 9},
            {T: PartitionExpansion({P0: 3}, {P0: 8})},
            id="and then stay",
        ),
        pytest.param(
            {T: PartitionExpansion({P0: 3}, {P0: 8})},
            {P0: 6, P1: 1},
            {P0: 20, P1: 9, P2: 0},
            {T: PartitionExpansion({P0: 3, P1: 0}, {P0: 20, P1: 9})},
            id="more are added before the older ones are read",
        ),
        pytest.param(
            {T: PartitionExpansion({P0: 3}, {P0: 8})},
            {P0: 9, P1: 4},
            {P0: 20, P1: 9, P2: 0, P3: 1},
            {T: PartitionExpansion({P0: 9, P1: 4}, {P0: 20, P1: 9})},
            id="more are added later",
        ),
    ],
)
def test_expansions_are_kept_with_the_landing(
    kept: PartitionExpansions, landed: Offsets, ends: Offsets, expansions: PartitionExpansions
) -> None:
    """TOP-3, GATE-4."""
    assert seen_expansions(kept, landed, ends, ends) == expansions


def test_a_topic_may_have_grown_before_it_was_first_seen() -> None:
    """TOP-3: read whole in one landing it cannot harm; else nothing of it is published before."""
    planned = {P0: 4, P1: 2, OTHER: 1}
    expansions = seen_expansions({}, {}, {P0: 9, P1: 2, OTHER: 7}, planned)
    assert expansions == {T: PartitionExpansion({P0: 0, P1: 0}, {P0: 9, P1: 2})}
    cut = offset_cut(Progress(), StreamStatistics(landed=planned, expansions=expansions), None)
    assert cut.frontier.offsets == {P0: 0, P1: 0, OTHER: 1}
    assert cut.hold is not None
    assert cut.hold.sentence == (
        "keys of topic db.t may have moved before it was first read; their changes wait until it "
        "is read in partition 0 to offset 9 (read to 4)"
    )
    later = {P0: 12, P1: 5}
    assert seen_expansions(expansions, {P0: 4, P1: 2}, later, later) == expansions
