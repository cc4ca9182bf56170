"""Progress survives being written and read."""

from __future__ import annotations

from dataclasses import replace

from tidemark.model.cut import Frontier
from tidemark.model.expansion import PartitionExpansion
from tidemark.model.fingerprint import Fingerprint
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition, limit_ranges
from tidemark.model.position import OrderedBy, Place, Position, commit_bound
from tidemark.model.progress import LandingMark, Progress
from tidemark.model.quarantine import Selection
from tidemark.model.refold import Refold, TableState

P0 = TopicPartition(TopicName("dbserver1.inventory.customers"), 0)
ORDERS, ITEMS = TableName("shop", "orders"), TableName("shop", "items")


def test_empty_progress_round_trips() -> None:
    assert Progress.from_json(Progress().to_json()) == Progress()


def test_progress_round_trips() -> None:
    progress = Progress(
        cut=2,
        frontier=Frontier(
            bound="0001AB~",
            time_ms=5,
            numbers={"lsn": 571},
            offsets={P0: 41},
            reached={P0: Place("0001AB")},
            streamed={P0: Place("0001AA")},
            read_at=Place("0001AB"),
        ),
        truncated={ORDERS: Position("0001FF")},
        acknowledged={Position("0001AB"): "moved an index"},
        acknowledged_records={"shop.schemas:0:7": "sent by hand"},
        quiet_settles=True,
        quarantined=frozenset({ORDERS}),
        replays=(Selection("shop.orders"), Selection()),
    )
    assert Progress.from_json(progress.to_json()) == progress


def test_landing_mark_round_trips() -> None:
    fingerprints = {P0: Fingerprint(11, 1_700_000_000_000, "ab")}
    expansions = {P0.topic: PartitionExpansion({P0: 12}, {P0: 15})}
    mark = LandingMark(
        4, {P0: 12}, {P0.topic: "aBc"}, OrderedBy.OFFSET, 4800, expansions, fingerprints, {P0: 17}
    )
    for kept in (mark, LandingMark()):
        assert LandingMark.from_json(kept.to_json()) == kept


def test_positions_of_a_commit_are_at_or_above_its_bound() -> None:
    commit_ts = 465314516869840914
    below = commit_bound(commit_ts - 1) + "F" * 21
    assert below < commit_bound(commit_ts) < commit_bound(commit_ts) + "0" * 21


def test_limited_ranges_starve_no_partition() -> None:
    p1 = TopicPartition(P0.topic, 1)
    limited = limit_ranges({P0: OffsetRange(0, 1_000_000), p1: OffsetRange(5, 6)}, 100)
    assert limited[p1] == OffsetRange(5, 6)
    assert 90 <= limited[P0].count <= 100


def test_topics_that_are_taken_whole_leave_the_rest_to_the_others() -> None:
    """GATE-T6: all of these, and at least one record of each other partition."""
    statements, p1 = TopicPartition(TopicName("schemas"), 0), TopicPartition(P0.topic, 1)
    ranges = {P0: OffsetRange(0, 900), p1: OffsetRange(5, 105), statements: OffsetRange(3, 53)}
    limited = limit_ranges(ranges, 100, {statements.topic})
    assert limited[statements] == OffsetRange(3, 53)
    assert (limited[P0], limited[p1]) == (OffsetRange(0, 45), OffsetRange(5, 10))
    assert [span.count for span in limit_ranges(ranges, 9, {statements.topic}).values()] == [
        *(1, 1, 50)
    ]
    assert limit_ranges(ranges, 2000, {statements.topic}) == ranges
    alone = {P0: OffsetRange(7, 7), statements: OffsetRange(0, 50)}
    assert limit_ranges(alone, 9, {statements.topic}) == alone


REACHED = Frontier(offsets={P0: 41}, reached={P0: Place("0001AB")})
KNOWN = Progress(
    cut=7,
    landing=9,
    oldest_held=10,
    frontier=REACHED,
    truncated={ITEMS: Position("0001A0")},
    window_bounds={ITEMS: Position("0001A1")},
    blocked={ITEMS: "a change came late"},
)


def begun(*, replaces: bool) -> Progress:
    refold = Refold("items__refold_1", REACHED, replaces, KNOWN.state_of(ITEMS))
    return KNOWN.with_refold(ITEMS, refold, TableState(Frontier()))


def test_a_refold_begins_below_all_records_and_is_stored() -> None:
    """REFOLD-1: what was known of the table waits with the refold."""
    progress = begun(replaces=True)
    assert progress.frontier_of(ITEMS) == Frontier()
    assert (progress.oldest_held, progress.truncated, progress.blocked) == (1, {}, {})
    assert Progress.from_json(progress.to_json()) == progress


def test_a_refold_that_is_given_up_leaves_no_trace() -> None:
    """REFOLD-1: but that the table's records are looked through once more."""
    after = begun(replaces=True).without_refold(ITEMS)
    assert replace(after, behind={}, oldest_held=10) == KNOWN
    assert after.behind == {ITEMS: REACHED}


def test_a_target_that_was_replaced_is_blocked_no_more() -> None:
    """REFOLD-1: it has lost no row that its mirror had lost; one beside it changes nothing."""
    done = begun(replaces=True).with_refold_done(ITEMS)
    assert (done.refolds, done.behind, done.blocked) == ({}, {}, {})
    assert done.truncated == {ITEMS: Position("0001A0")}
    newer = replace(begun(replaces=True), truncated={ITEMS: Position("0001AF")})
    assert newer.with_refold_done(ITEMS).truncated == {ITEMS: Position("0001AF")}
    beside = replace(begun(replaces=False), truncated={ITEMS: Position("0001AF")})
    assert beside.with_refold_done(ITEMS).truncated == {ITEMS: Position("0001A0")}
    assert beside.with_refold_done(ITEMS).blocked == KNOWN.blocked


def test_a_table_beside_a_refold_lacks_what_came_late_meanwhile() -> None:
    """GATE-3, REFOLD-1: the new target alone has it."""
    later = replace(begun(replaces=False), landing=11).with_refold_done(ITEMS)
    assert (later.behind, later.landing_of(ITEMS)) == ({ITEMS: REACHED}, 9)
    taken = replace(begun(replaces=True), landing=11).with_refold_done(ITEMS)
    assert (taken.behind, taken.landings) == ({}, {})


def test_behind_a_refold_the_table_catches_up() -> None:
    """REFOLD-1: where its pipeline went on meanwhile."""
    ahead = replace(begun(replaces=True), frontier=Frontier(offsets={P0: 50}))
    assert ahead.with_refold_done(ITEMS).behind == {ITEMS: REACHED}
