"""The transaction gate: rules GATE-T2 to GATE-T13, SNAP-4 and SNAP-5."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from tidemark.gate.by_transaction import transaction_cut
from tidemark.gate.statistics import PartitionStatistics, SnapshotStatistics, StreamStatistics
from tidemark.model.cut import Cut, Frontier, Hold, HoldCode
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place, Position
from tidemark.model.progress import Progress
from tidemark.model.transaction import Boundary, Share
from tidemark.model.until import Barrier, Behind, Coordinate, Until

A0, A1 = (TopicPartition(TopicName("s.db.a"), number) for number in range(2))
B0 = TopicPartition(TopicName("s.db.b"), 0)
TX = TopicPartition(TopicName("s.transaction"), 0)
PLACES = (A0, A1, B0)
UNTIL = Until(Coordinate.LSN, 20, "0/14")


def place(number: int) -> Place:
    return Place(f"{number:04X}")


def gtid(number: int) -> str:
    return f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{number}"


def begin(offset: int, number: int) -> Boundary:
    return Boundary(TX, offset, gtid(number))


def end(offset: int, number: int, counts: Mapping[str, int]) -> Boundary:
    return Boundary(TX, offset, gtid(number), counts, time_ms=1000 * number)


def share(at: TopicPartition, number: int, events: int, lowest: int, highest: int) -> Share:
    table = at.topic.removeprefix("s.")
    return Share(at, gtid(number), table, events, False, place(lowest), place(highest))


def statistics(
    boundaries: tuple[Boundary, ...],
    shares: tuple[Share, ...],
    partitions: Mapping[TopicPartition, PartitionStatistics] | None = None,
) -> StreamStatistics:
    """What is landed; every partition's highest change is that of its shares unless told."""
    tops = {s.at: max(o.highest for o in shares if o.at == s.at) for s in shares}
    seen = {at: PartitionStatistics(highest=top, records=1) for at, top in tops.items()}
    landed = {TX: len(boundaries)} | dict.fromkeys(PLACES, 9)
    return StreamStatistics(
        PLACES,
        landed,
        boundaries=boundaries,
        shares=shares,
        partitions={**seen, **(partitions or {})},
    )


def cut_of(seen: StreamStatistics, frontier: Frontier | None = None) -> Cut:
    return transaction_cut(Progress(frontier=frontier or Frontier()), seen, None)


def code(cut: Cut) -> HoldCode | None:
    return cut.hold.code if cut.hold else None


TWO = (
    begin(0, 1),
    end(1, 1, {"db.a": 2}),
    begin(2, 2),
    end(3, 2, {"db.a": 1, "db.b": 1}),
)


def test_complete_transactions_are_in_the_cut() -> None:
    shares = (
        share(A0, 1, 1, 10, 10),
        share(A1, 1, 1, 11, 11),
        share(A0, 2, 1, 20, 20),
        share(B0, 2, 1, 21, 21),
    )
    frontier = cut_of(statistics(TWO, shares)).frontier
    assert place(21) < frontier.bound < place(22)
    assert frontier.offsets == {TX: 4}
    assert frontier.time_ms == 2000


def test_a_row_on_its_way_holds_its_transaction_and_all_behind_it() -> None:
    shares = (share(A0, 1, 1, 10, 10), share(A0, 2, 1, 20, 20), share(B0, 2, 1, 21, 21))
    cut = cut_of(statistics(TWO, shares))
    assert cut.frontier.bound == ""
    assert cut.hold is not None
    assert cut.hold.code is HoldCode.TX_INCOMPLETE
    assert f"transaction {gtid(1)} is not complete: its END counts 2 of db.a, 1 came" in (
        cut.hold.sentence
    )


def test_rows_without_their_end_hold_what_stands_above_them() -> None:
    shares = (share(A0, 1, 2, 10, 11), share(B0, 2, 1, 20, 20))
    cut = cut_of(statistics(TWO[:3], shares))
    assert place(11) < cut.frontier.bound < place(20)
    assert code(cut) is HoldCode.TX_INCOMPLETE


def test_an_end_before_its_rows_waits() -> None:
    assert code(cut_of(statistics(TWO[:2], ()))) is HoldCode.TX_INCOMPLETE


def test_an_empty_transaction_is_complete_at_once() -> None:
    cut = cut_of(statistics((begin(0, 1), end(1, 1, {})), ()))
    assert cut.frontier.offsets == {TX: 2}


def test_tables_that_are_not_followed_are_not_waited_for() -> None:
    seen = statistics(TWO, (share(A0, 1, 2, 10, 11), share(A0, 2, 1, 20, 20)))
    cut = cut_of(replace(seen, followed=frozenset({"db.a"})))
    assert cut.frontier.offsets == {TX: 4}


def test_a_second_begin_makes_equal_counts_prove_nothing() -> None:
    boundaries = (begin(0, 1), begin(1, 1), end(2, 1, {"db.a": 2}))
    seen = statistics(boundaries, (share(A0, 1, 1, 10, 10), share(A1, 1, 1, 11, 11)))
    assert code(cut_of(seen)) is HoldCode.TX_UNPROVABLE
    assert cut_of(seen).frontier.bound == ""


def test_later_changes_in_each_partition_prove_a_doubted_transaction() -> None:
    boundaries = (begin(0, 1), begin(1, 1), end(2, 1, {"db.a": 2}))
    doubted = (share(A0, 1, 1, 10, 10), share(A1, 1, 1, 11, 11))
    one_later = statistics(boundaries, (*doubted, share(A0, 2, 1, 20, 20)))
    assert code(cut_of(one_later)) is HoldCode.TX_UNPROVABLE
    both = (*doubted, share(A0, 2, 1, 20, 20), share(A1, 2, 1, 21, 21))
    assert place(11) < cut_of(statistics(boundaries, both)).frontier.bound < place(20)


def test_a_run_without_anything_new_proves_a_doubted_transaction() -> None:
    boundaries = (begin(0, 1), begin(1, 1), end(2, 1, {"db.a": 2}))
    seen = statistics(boundaries, (share(A0, 1, 2, 10, 11),))
    assert cut_of(replace(seen, is_quiet=True)).frontier.bound > place(11)


def test_a_later_end_stands_for_one_whose_events_were_lost() -> None:
    """Three were counted, one of them was never sent; after a restart it has number 1."""
    boundaries = (
        *(begin(0, 1), end(1, 1, {"db.a": 3})),
        *(begin(2, 1), end(3, 1, {"db.a": 1})),
    )
    seen = statistics(boundaries, (share(A0, 1, 2, 10, 12),))
    assert code(cut_of(seen)) is HoldCode.TX_UNPROVABLE
    settled = cut_of(replace(seen, is_quiet=True))
    assert settled.frontier.bound > place(12)
    assert settled.frontier.offsets == {TX: 4}


def test_more_events_than_counted_are_doubted() -> None:
    seen = statistics(TWO[:2], (share(A0, 1, 3, 10, 12),))
    assert code(cut_of(seen)) is HoldCode.TX_UNPROVABLE


def test_repeated_boundaries_of_a_settled_transaction_say_nothing() -> None:
    settled = cut_of(statistics(TWO[:2], (share(A0, 1, 2, 10, 11),))).frontier
    again = (begin(2, 1), end(3, 1, {}), begin(4, 2), end(5, 2, {"db.b": 1}))
    cut = cut_of(statistics(again, (share(B0, 2, 1, 20, 20),)), settled)
    assert cut.frontier.offsets == {TX: 6}


def test_an_end_that_is_sent_twice_settles_once() -> None:
    twice = (*TWO[:2], begin(2, 1), end(3, 1, {"db.a": 2}))
    cut = cut_of(statistics(twice, (share(A0, 1, 2, 10, 11),)))
    assert cut.frontier.offsets == {TX: 2}
    assert cut_of(
        replace(statistics(twice, (share(A0, 1, 2, 10, 11),)), is_quiet=True)
    ).frontier.offsets == {TX: 4}


def test_a_repeated_end_does_not_pass_over_a_begin() -> None:
    settled = cut_of(statistics(TWO[:2], (share(A0, 1, 2, 10, 11),))).frontier
    again = (begin(2, 3), end(3, 1, {"db.a": 2}))
    assert cut_of(statistics(again, ()), settled).frontier.offsets == {TX: 2}


def test_a_begin_of_mariadb_without_an_end_is_outside_transactions() -> None:
    truncate = replace(share(A1, 2, 1, 15, 15), only_truncates=True)
    boundaries = (begin(0, 1), end(1, 1, {"db.a": 1}), begin(2, 2))
    open_end = statistics(boundaries, (share(A0, 1, 1, 10, 10), truncate))
    cut = cut_of(open_end)
    assert place(10) < cut.frontier.bound < place(15)
    assert cut_of(replace(open_end, is_quiet=True)).frontier.bound > place(15)
    later = (*boundaries, begin(3, 3), end(4, 3, {"db.a": 1}))
    passed = statistics(later, (share(A0, 1, 1, 10, 10), truncate, share(A0, 3, 1, 20, 20)))
    assert cut_of(passed).frontier.bound > place(20)


def test_changes_outside_transactions_settle_below_one_or_in_silence() -> None:
    outside = {A1: PartitionStatistics(highest=place(15), records=1)}
    seen = statistics(TWO[:2], (share(A0, 1, 2, 10, 11),), outside)
    assert place(11) < cut_of(seen).frontier.bound < place(15)
    assert code(cut_of(seen)) is HoldCode.GATE_STALLED
    quiet = cut_of(replace(seen, is_quiet=True))
    assert place(15) < quiet.frontier.bound < place(16)
    assert quiet.hold is None


def test_a_partition_that_was_not_read_to_its_end_holds_what_stands_above() -> None:
    shares = (share(A0, 1, 2, 10, 11), share(A0, 2, 1, 20, 20), share(B0, 2, 1, 21, 21))
    late = {A1: PartitionStatistics(highest=place(12), records=1)}
    seen = replace(statistics(TWO, shares, late), unread=frozenset({A1}))
    cut = cut_of(seen)
    assert place(11) < cut.frontier.bound < place(20)
    assert cut.hold is not None
    assert cut.hold.sentence == "partition 1 of topic s.db.a is not read to its end"


def test_an_open_snapshot_holds_itself_and_all_behind_it() -> None:
    rows = {A0: PartitionStatistics(highest=place(5), records=3)}
    seen = statistics(TWO[:2], (share(A1, 1, 2, 10, 11),), rows)
    seen = replace(seen, snapshots=(SnapshotStatistics(place(5), is_whole=True, ended=False),))
    assert code(cut_of(seen)) is HoldCode.SNAPSHOT_OPEN
    assert cut_of(seen).frontier.bound == ""


def test_a_snapshot_settles_once_every_partition_was_read_behind_its_end() -> None:
    ended = (SnapshotStatistics(place(5), is_whole=True, ended=True),)
    silent = {A0: PartitionStatistics(highest=place(5))}
    seen = replace(statistics((), (), silent), snapshots=ended, is_quiet=True)
    assert cut_of(seen).frontier.bound > place(5)
    arriving = {**silent, A1: PartitionStatistics(highest=place(5), records=2)}
    still = replace(statistics((), (), arriving), snapshots=ended)
    assert code(cut_of(still)) is HoldCode.SNAPSHOT_OPEN


def test_a_snapshot_below_the_cut_is_waited_for() -> None:
    """SNAP-10: amid the stream it stands where that was, and is ahead of what comes behind it."""
    frontier = Frontier(bound=place(5) + "~")
    read = SnapshotStatistics(place(5), is_whole=True, ended=False)
    shares = (share(A0, 1, 1, 10, 10), share(A1, 1, 1, 11, 11))
    seen = replace(statistics(TWO[:2], shares), snapshots=(read,))
    cut = cut_of(seen, frontier)
    assert (cut.frontier.bound, cut.opened) == (frontier.bound, (place(5),))
    assert code(cut) is HoldCode.SNAPSHOT_OPEN
    silent = dict.fromkeys(PLACES, PartitionStatistics(highest=place(11)))
    ended = replace(read, ended=True)
    cut = cut_of(replace(seen, snapshots=(ended,), partitions=silent), frontier)
    assert (cut.frontier.bound, cut.opened) == (place(11) + "~", ())


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        pytest.param((1, 1), (7, {TX: 4}, None), id="all of it came"),
        pytest.param((1, 0), (5, {TX: 0}, HoldCode.TX_INCOMPLETE), id="an event is on its way"),
    ],
)
def test_events_below_a_published_snapshot_count(
    counts: tuple[int, int], expected: tuple[int, Mapping[TopicPartition, int], HoldCode | None]
) -> None:
    """SNAP-10, GATE-T4: it overtook them, and was settled before they came."""
    below = tuple(
        share(at, 1, events, number, number)
        for at, events, number in zip((A0, A1), counts, (3, 4), strict=True)
        if events
    )
    boundaries = (begin(0, 1), end(1, 1, {"db.a": 2}), begin(2, 2), end(3, 2, {"db.a": 1}))
    behind = share(A0, 2, 1, 7, 7)
    frontier = Frontier(bound=place(5) + "~", offsets={TX: 0}, read_at=place(5))
    seen = replace(statistics(boundaries, (behind,)), overtaken=below, is_quiet=True)
    cut = cut_of(seen, frontier)
    number, offsets, why = expected
    assert (cut.frontier.bound, cut.frontier.offsets) == (place(number) + "~", offsets)
    assert code(cut) is why


def test_a_snapshot_that_was_broken_off_is_void_once_a_later_one_has_ended() -> None:
    both = (SnapshotStatistics(place(5), False, False), SnapshotStatistics(place(8), True, True))
    seen = replace(
        statistics((), (), {A0: PartitionStatistics(highest=place(8))}),
        snapshots=both,
        is_quiet=True,
    )
    assert cut_of(seen).void == (place(5),)
    assert cut_of(seen).frontier.bound > place(8)
    assert cut_of(replace(seen, snapshots=both[:1])).void == ()


LOST = (begin(0, 1), end(1, 1, {"db.a": 2}), begin(2, 2), end(3, 2, {"db.a": 1}))
"""An event of the first one was never sent; the second came after a snapshot at 15."""


def lost(
    tables: Collection[str] = ("db.a",), *, at: int = 15, came: int = 1, kafka_ms: int = 1
) -> StreamStatistics:
    """came: how many events came of the transaction that lacks one. kafka_ms: of the snapshot."""
    again = SnapshotStatistics(place(at), True, True, frozenset(tables), kafka_ms)
    first = (share(A0, 1, 1, 10, 10),) if came else ()
    seen = statistics(LOST, (*first, share(A0, 2, 1, 20, 20)))
    return replace(seen, snapshots=(again,))


@pytest.mark.parametrize("came", [0, 1])
def test_a_new_snapshot_stands_for_what_was_never_sent(came: int) -> None:
    """GATE-T14: by an event's place, or by Kafka's time; each END was sent at 0."""
    cut = cut_of(lost(came=came))
    assert cut.frontier.bound > place(20)
    assert (code(cut), cut.skipped) == (HoldCode.GATE_STALLED, {})


@pytest.mark.parametrize(
    "seen",
    [
        lost(tables=("db.b",)),
        lost(at=5),
        lost(came=0, kafka_ms=0),
    ],
    ids=["no row of the table", "snapshot below it", "END sent after the snapshot"],
)
def test_a_snapshot_that_may_not_hold_what_is_lacking_stands_for_nothing(
    seen: StreamStatistics,
) -> None:
    """GATE-T14."""
    cut = cut_of(seen)
    assert (cut.frontier.bound, code(cut)) == ("", HoldCode.TX_INCOMPLETE)


def test_what_a_snapshot_stands_for_is_not_published_without_it() -> None:
    """GATE-T14: the cut would end below the snapshot, in the midst of the transaction."""
    seen = lost()
    seen = replace(seen, boundaries=LOST[:2], shares=seen.shares[:1])
    assert (cut_of(seen).frontier.bound, code(cut_of(seen))) == ("", HoldCode.TX_INCOMPLETE)
    rows = {A0: PartitionStatistics(highest=place(15))}
    quiet = replace(seen, is_quiet=True, partitions=rows)
    assert cut_of(quiet).frontier.bound > place(15)
    capped = {A0: PartitionStatistics(highest=place(15), capped_from=place(12))}
    cut = transaction_cut(Progress(), replace(quiet, partitions=capped), UNTIL)
    assert cut.frontier.bound <= place(10)


@pytest.mark.parametrize("came", [0, 1])
@pytest.mark.parametrize("at", [5, 12, 15])
def test_a_statement_below_the_snapshot_waits_with_what_is_lacking(came: int, at: int) -> None:
    """GATE-T14, SCHEMA-11: the cut would end at it, in front of what stands for the transaction."""
    seen = lost(came=came)
    first = min(number for number in (*[10][:came], 15, 20) if number > at)
    capped = {A0: PartitionStatistics(highest=place(20), capped_from=place(first))}
    position = Position(place(at) + "0" * 16)
    statement = Barrier(TableName("db", "a"), position, Behind.OTHER_KEY)
    cut = transaction_cut(Progress(), replace(seen, partitions=capped), statement)
    if at < 15:
        assert (cut.frontier, code(cut)) == (Frontier(), HoldCode.TX_INCOMPLETE)
    else:
        assert place(15) < cut.frontier.bound < place(16)
    given_up = Progress(skipped=frozenset({gtid(1)}))
    cut = transaction_cut(given_up, replace(seen, partitions=capped), statement)
    assert place(at) < cut.frontier.bound < place(at + 1)


@pytest.mark.parametrize(("lsn", "is_settled"), [(180, True), (179, False)])
def test_an_id_with_the_lsn_of_its_commit_tells_whether_a_snapshot_holds_it(
    lsn: int, is_settled: bool
) -> None:
    """GATE-T14: PostgreSQL's END names it; no event of the transaction came."""
    again = Place(f"0001{lsn:016X}0{lsn:016X}")
    seen = StreamStatistics(
        PLACES,
        boundaries=(Boundary(TX, 0, "571:100"), Boundary(TX, 1, "571:180", {"public.a": 1})),
        snapshots=(SnapshotStatistics(again, True, True, frozenset({"public.a"})),),
        partitions={A0: PartitionStatistics(highest=again)},
        is_quiet=True,
    )
    assert (cut_of(seen).frontier.bound > again) is is_settled


def test_until_ends_the_cut_below_the_first_later_change() -> None:
    shares = (share(A0, 1, 2, 10, 11), share(A0, 2, 1, 20, 20), share(B0, 2, 1, 21, 21))
    late = {A0: PartitionStatistics(highest=place(20), capped_from=place(20))}
    cut = transaction_cut(Progress(), statistics(TWO, shares, late), UNTIL)
    assert place(11) < cut.frontier.bound < place(20)
    assert cut.hold == Hold(HoldCode.UNTIL, "the run is capped at 0/14")


@pytest.mark.parametrize("is_quiet", [False, True])
def test_until_inside_a_transaction_leaves_all_of_it_out(is_quiet: bool) -> None:
    """GATE-T2; silence publishes what is outside transactions, and no half of one (GATE-T6)."""
    shares = (
        share(A0, 1, 1, 10, 10),
        share(A1, 1, 1, 30, 30),
        share(A0, 2, 1, 40, 40),
        share(B0, 2, 1, 41, 41),
    )
    outside = PartitionStatistics(highest=place(8), records=1)
    late = {
        A1: PartitionStatistics(highest=place(30), capped_from=place(30)),
        A0: PartitionStatistics(highest=place(40), capped_from=place(40)),
        B0: outside,
    }
    cut = transaction_cut(
        Progress(), replace(statistics(TWO, shares, late), is_quiet=is_quiet), UNTIL
    )
    assert cut.frontier.bound <= place(10)
    assert (cut.frontier.bound > place(8)) is is_quiet
    assert code(cut) is HoldCode.UNTIL


def test_until_between_transactions_cuts_there_in_silence() -> None:
    shares = (share(A0, 1, 2, 10, 11), share(A0, 2, 1, 20, 20), share(B0, 2, 1, 21, 21))
    late = {A0: PartitionStatistics(highest=place(20), capped_from=place(20))}
    seen = replace(statistics(TWO, shares, late), is_quiet=True)
    assert transaction_cut(Progress(), seen, UNTIL).frontier.bound == place(20)


def test_until_inside_several_transactions_leaves_all_of_them_out() -> None:
    """A copy of PostgreSQL's may know another commit (POS-9): transactions can overlap."""
    shares = (
        share(A0, 1, 1, 10, 10),
        share(A1, 1, 1, 25, 25),
        share(A0, 2, 1, 20, 20),
        share(B0, 2, 1, 31, 31),
    )
    late = {B0: PartitionStatistics(highest=place(31), capped_from=place(31))}
    ends = (begin(0, 1), end(1, 1, {"db.a": 2}), begin(2, 2), end(3, 2, {"db.a": 1, "db.b": 1}))
    seen = replace(statistics(ends, shares, late), is_quiet=True)
    assert transaction_cut(Progress(), seen, UNTIL).frontier.bound == place(10)


def test_postgres_joins_by_the_number_of_the_transaction() -> None:
    boundaries = (
        Boundary(TX, 0, "571:100"),
        Boundary(TX, 1, "571:180", {"public.a": 1}),
    )
    row = Share(A0, "571", "public.a", 1, False, place(10), place(10))
    frontier = cut_of(statistics(boundaries, (row,))).frontier
    assert frontier.bound > place(10)
    assert frontier.numbers == {"lsn": 180}


def test_postgres_begins_of_one_transaction_differ_in_their_position() -> None:
    boundaries = (
        Boundary(TX, 0, "571:100"),
        Boundary(TX, 1, "571:130"),
        Boundary(TX, 2, "571:180", {"public.a": 1}),
    )
    row = Share(A0, "571", "public.a", 1, False, place(10), place(10))
    assert code(cut_of(statistics(boundaries, (row,)))) is HoldCode.TX_UNPROVABLE


def test_the_frontier_never_goes_back() -> None:
    ahead = Frontier(bound=place(99), offsets={TX: 7}, time_ms=9)
    cut = cut_of(statistics(TWO, (share(A0, 1, 2, 10, 11),)), ahead)
    assert cut.frontier == ahead


def test_a_transaction_that_a_person_gave_up_is_passed_over() -> None:
    """GATE-T8: its END no longer holds the cut; its tables are named, to be re-snapshotted."""
    seen = statistics(
        (begin(0, 1), end(1, 1, {"db.a": 2, "db.c": 1}), begin(2, 2), end(3, 2, {"db.b": 1})),
        (share(A0, 1, 1, 10, 10), share(B0, 2, 1, 20, 20)),
    )
    held = transaction_cut(Progress(), seen, None)
    assert held.hold is not None
    assert held.hold.code is HoldCode.TX_INCOMPLETE
    given_up = Progress(skipped=frozenset({gtid(1)}))
    cut = transaction_cut(given_up, seen, None)
    assert cut.skipped == {gtid(1): frozenset({"db.a", "db.c"})}
    assert cut.frontier.bound > place(20)


def test_a_transaction_without_end_is_given_up_once_the_cut_is_behind_it() -> None:
    """GATE-T8."""
    given_up = Progress(skipped=frozenset({gtid(2)}))
    shares = (share(A0, 1, 1, 10, 10), share(A0, 2, 1, 20, 20), share(B0, 3, 1, 30, 30))
    first = statistics((begin(0, 1), end(1, 1, {"db.a": 1}), begin(2, 2)), shares[:2])
    assert transaction_cut(given_up, first, None).skipped == {}
    later = (*first.boundaries, begin(3, 3), end(4, 3, {"db.b": 1}))
    cut = transaction_cut(given_up, statistics(later, shares), None)
    assert cut.skipped == {gtid(2): frozenset({"db.a"})}


@pytest.mark.parametrize(
    ("boundaries", "below"),
    [
        pytest.param(TWO, 15, id="a transaction behind it proves it"),
        pytest.param(TWO[:3], 10, id="nothing complete stands behind it"),
    ],
)
def test_a_statement_between_transactions_caps_behind_itself(
    boundaries: tuple[Boundary, ...], below: int
) -> None:
    """SCHEMA-11, GATE-T6: what never is blocked would never settle it in silence."""
    shares = (
        *(share(A0, 1, 1, 9, 9), share(A1, 1, 1, 10, 10)),
        *(share(A0, 2, 1, 20, 20), share(B0, 2, 1, 21, 21)),
    )
    late = {
        A0: PartitionStatistics(highest=place(20), capped_from=place(20), records=1),
        B0: PartitionStatistics(highest=place(21), capped_from=place(21), records=1),
    }
    statement = Barrier(TableName("db", "a"), Position(place(15) + "0" * 16), Behind.OTHER_KEY)
    cut = transaction_cut(Progress(), statistics(boundaries, shares, late), statement)
    assert place(below) < cut.frontier.bound < place(below + 1)
    assert (cut.frontier.offsets, cut.frontier.time_ms) == ({TX: 2}, 1000)


STATEMENT = Barrier(TableName("db", "a"), Position(place(15) + "0" * 16), Behind.OTHER_KEY)


def around_the_statement(*above: Share) -> StreamStatistics:
    """The first transaction has rows on both sides of `STATEMENT`; above: of the second one."""
    shares = (share(A0, 1, 1, 9, 9), share(A1, 1, 1, 20, 20), *above)
    tops = {s.at: max(o.highest for o in shares if o.at == s.at) for s in shares}
    late = {
        at: PartitionStatistics(highest=top, capped_from=min(place(20), top), records=1)
        for at, top in tops.items()
        if top > place(15)
    }
    return statistics(TWO, shares, late)


def above_the_statement(seen: StreamStatistics) -> StreamStatistics:
    """What is above the frontier once the cut has ended at `STATEMENT`."""
    shares = tuple(share for share in seen.shares if share.lowest > place(15))
    return replace(statistics(seen.boundaries, shares), is_quiet=seen.is_quiet)


SECOND = (share(A0, 2, 1, 30, 30), share(B0, 2, 1, 31, 31))


@pytest.mark.parametrize("above", [(), SECOND[:1], SECOND], ids=["none", "a part", "whole"])
@pytest.mark.parametrize("is_quiet", [False, True])
def test_a_statement_inside_a_transaction_splits_it(
    above: tuple[Share, ...], is_quiet: bool
) -> None:
    """SCHEMA-11, GATE-T2: its counts were complete as its first part was published."""
    seen = replace(around_the_statement(*above), is_quiet=is_quiet)
    first = transaction_cut(Progress(), seen, STATEMENT)
    assert place(15) < first.frontier.bound <= place(20)
    assert code(first) is HoldCode.UNTIL
    rest = cut_of(above_the_statement(seen), first.frontier)
    assert rest.frontier.bound > place(31 if above == SECOND else 20)
    assert rest.frontier.offsets == {TX: 4 if above == SECOND else 2}


def test_two_statements_inside_a_transaction_split_it_twice() -> None:
    """SCHEMA-11: and it is forgotten once the frontier is above it."""
    boundaries = (begin(0, 1), end(1, 1, {"db.a": 3}))
    shares = (share(A0, 1, 1, 9, 9), share(A1, 1, 2, 20, 30))
    capped = {A1: PartitionStatistics(highest=place(30), capped_from=place(20), records=1)}
    first = transaction_cut(Progress(), statistics(boundaries, shares, capped), STATEMENT)
    later = Barrier(TableName("db", "a"), Position(place(25) + "0" * 16), Behind.OTHER_NAME)
    capped = {A1: PartitionStatistics(highest=place(30), capped_from=place(30))}
    second = transaction_cut(
        Progress(frontier=first.frontier), statistics(boundaries, shares[1:], capped), later
    )
    assert place(25) < second.frontier.bound < place(30)
    assert second.frontier.offsets == {}
    rest = cut_of(statistics(boundaries, (share(A1, 1, 1, 30, 30),)), second.frontier)
    assert (rest.frontier.bound > place(30), rest.frontier.offsets) == (True, {TX: 2})
    assert rest.frontier.split == {}


def test_a_statement_splits_no_transaction_of_which_an_event_is_missing() -> None:
    """GATE-T2, GATE-T4: rows of another topic lag."""
    seen = around_the_statement()
    seen = replace(seen, boundaries=(begin(0, 1), end(1, 1, {"db.a": 2, "db.b": 1})))
    cut = transaction_cut(Progress(), seen, STATEMENT)
    assert (cut.frontier, code(cut)) == (Frontier(), HoldCode.TX_INCOMPLETE)


@pytest.mark.parametrize("counts", [{"db.a": 2}, {"db.a": 1}], ids=["all again", "its last part"])
def test_a_split_transaction_that_is_sent_again_waits_for_what_it_may_hold(
    counts: Mapping[str, int],
) -> None:
    """GATE-T5, GATE-T9: what a second END counts may be below the statement."""
    first = transaction_cut(Progress(), around_the_statement(), STATEMENT)
    again = (*TWO[:2], begin(2, 1), end(3, 1, {**counts, "db.b": 5}))
    seen = statistics(again, (share(A1, 1, 1, 20, 20),))
    cut = cut_of(seen, first.frontier)
    assert (cut.frontier.offsets, code(cut)) == ({TX: 2}, HoldCode.TX_UNPROVABLE)
    assert cut_of(replace(seen, is_quiet=True), first.frontier).frontier.offsets == {TX: 4}


def test_a_statement_that_waits_lets_through_what_is_in_front_of_it() -> None:
    """SCHEMA-31: as renames that the file tells come first."""
    waiting = replace(STATEMENT, excluded="something comes first")
    at = Place(waiting.bound)
    late = {A1: PartitionStatistics(highest=place(20), capped_from=at, records=1)}
    seen = around_the_statement()
    seen = replace(seen, partitions={**seen.partitions, **late})
    cut = transaction_cut(Progress(), seen, waiting)
    assert cut.frontier.bound == at
    assert cut_of(above_the_statement(seen), cut.frontier).frontier.bound > place(20)


MESSAGES = TopicPartition(TopicName("s.message"), 0)
ALTER = Share(MESSAGES, "571", ".None", 1, False, place(12), place(12), is_statement=True)
BEGUN = Boundary(TX, 0, "571:100")
ENDED = Boundary(TX, 1, "571:100", {"db.a": 1})


def with_statement(boundaries: tuple[Boundary, ...], *rows: Share) -> StreamStatistics:
    """`ALTER` is landed; its transaction may have rows behind it."""
    seen = statistics(boundaries, (ALTER, *rows))
    places = (*PLACES, MESSAGES)
    return replace(seen, places=places, followed=frozenset({"db.a"}), is_quiet=True)


def test_a_statement_waits_for_the_end_of_its_transaction() -> None:
    """GATE-T2, GATE-T6: a connector that dies behind it is silent, too."""
    cut = cut_of(with_statement((BEGUN,)))
    assert (cut.frontier.bound <= place(12), code(cut)) == (True, HoldCode.TX_INCOMPLETE)
    cut = cut_of(with_statement((BEGUN, ENDED)))
    assert (cut.frontier.bound <= place(12), code(cut)) == (True, HoldCode.TX_INCOMPLETE)
    row = Share(A0, "571", "db.a", 1, False, place(14), place(14))
    cut = cut_of(with_statement((BEGUN, ENDED), row))
    assert (cut.frontier.bound, code(cut)) == (place(14) + "~", None)
    assert cut.frontier.offsets == {TX: 2}


def test_a_statement_settles_with_its_transaction() -> None:
    """GATE-T6: END counts it as a message, so nothing more has to come."""
    seen = replace(with_statement((BEGUN, replace(ENDED, counts={}))), is_quiet=False)
    assert place(12) < cut_of(seen).frontier.bound < place(13)
    row = Share(A0, "571", "db.a", 1, False, place(10), place(10))
    seen = replace(with_statement((BEGUN, ENDED), row), is_quiet=False)
    assert place(12) < cut_of(seen).frontier.bound < place(13)


def test_a_statement_whose_transaction_is_settled_holds_nothing() -> None:
    """GATE-T6: its partition lagged behind the END of its transaction, and of another one."""
    assert cut_of(with_statement(())).frontier.bound > place(12)
    other = (Boundary(TX, 2, "572:200"), Boundary(TX, 3, "572:200", {"db.a": 1}))
    row = Share(A0, "572", "db.a", 1, False, place(20), place(20))
    seen = replace(with_statement((BEGUN, *other), row), is_quiet=False)
    assert cut_of(seen).frontier.bound > place(20)


BLOCK = 1_000_000
"""Members of a group take numbers from blocks of their own."""


@pytest.mark.parametrize("number", [2, BLOCK + 1, BLOCK + 2])
def test_an_end_with_a_number_that_has_not_come_waits_for_its_rows(number: int) -> None:
    """GATE-T4, GATE-T9: GTIDs of a group of servers do not rise."""
    counts = {"db.a": 1}
    before = (begin(0, 1), end(1, 1, counts), begin(2, BLOCK + 3), end(3, BLOCK + 3, counts))
    shares = (share(A0, 1, 1, 10, 10), share(A0, BLOCK + 3, 1, 11, 11))
    settled = cut_of(statistics(before, shares)).frontier
    assert settled.offsets == {TX: 4}
    fresh = (begin(4, number), end(5, number, {"db.a": 1, "db.b": 1}))
    again = (begin(6, 1), end(7, 1, {"db.a": 1}), begin(8, number), end(9, number, {}))
    early = cut_of(replace(statistics(fresh, ()), is_quiet=True), settled)
    assert (early.frontier.offsets, code(early)) == ({TX: 4}, HoldCode.TX_INCOMPLETE)
    half = (share(A0, number, 1, 20, 20),)
    assert code(cut_of(statistics(fresh, half), settled)) is HoldCode.TX_INCOMPLETE
    whole = statistics((*fresh, *again), (*half, share(B0, number, 1, 21, 21)))
    after = cut_of(replace(whole, is_quiet=True), settled).frontier
    assert (after.bound > place(21), after.offsets) == (True, {TX: 10})
    repeated = (begin(10, number), end(11, number, {"db.a": 1, "db.b": 1}))
    assert cut_of(replace(statistics(repeated, ()), is_quiet=True), after).hold is None


def test_a_begin_with_a_number_that_has_not_come_is_not_passed_over() -> None:
    """GATE-T5: else a second one would look like the first."""
    settled = cut_of(statistics((end(0, 9, {}),), ())).frontier
    seen = replace(statistics((begin(1, 5),), ()), is_quiet=True)
    assert cut_of(seen, settled).frontier.offsets == {TX: 1}
