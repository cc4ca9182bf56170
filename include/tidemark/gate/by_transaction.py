"""Debezium's transactions: a cut holds the longest run of complete ones, in the source's order.

An END counts the events of its transaction per table. Where as many different ones are landed the
transaction is complete; where the counts cannot be trusted, later changes or silence must prove
it. Changes outside transactions settle between the transactions that do. Source of the rules:
GATE-T2 to GATE-T14 in docs/concepts.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from tidemark.gate.ends import Settled, Walk, in_order, is_overtaken, is_settled, walk_ends
from tidemark.gate.statistics import StreamStatistics, highest_in
from tidemark.gate.whole_snapshot import is_read
from tidemark.model.cut import Cut, Frontier, GateMode, Hold, HoldCode
from tidemark.model.number_gaps import gaps_after
from tidemark.model.position import Place
from tidemark.model.progress import Progress
from tidemark.model.transaction import (
    Boundary,
    Share,
    gtid_of,
    key_of,
    number_of,
    tables_of,
    top_of,
)
from tidemark.model.until import Barrier, Cap

ABOVE_ALL_OFFSETS = "~"
"""Sorts behind every hexadecimal digit: a place followed by it is above all that stand there."""

_WAITS_FOR_PROOF = Hold(
    HoldCode.GATE_STALLED,
    "changes outside transactions (rows of a snapshot, a TRUNCATE, schema changes) wait for a "
    "later transaction, or for a run that finds nothing new",
)


@dataclass(frozen=True, slots=True)
class _Ceiling:
    """A place that the cut must stay below, and why."""

    place: Place
    hold: Hold


def transaction_cut(progress: Progress, statistics: StreamStatistics, until: Cap | None) -> Cut:
    """The next cut of a source with transaction metadata; its frontier never goes back.

    A statement that caps it is in no transaction; those behind it prove it complete (GATE-T6).
    """
    walk = walk_ends(progress, statistics)
    cut = _cut_after(progress, statistics, until, walk)
    if all(done.over < cut.frontier.bound for done in walk.settled if done.over):
        return cut
    walk = walk_ends(progress, statistics, with_snapshots=False)
    return _cut_after(progress, statistics, until, walk)


def _cut_after(
    progress: Progress, statistics: StreamStatistics, until: Cap | None, walk: Walk
) -> Cut:
    """The cut that takes what ``walk`` has settled, below all ceilings."""
    frontier = progress.frontier
    opened = tuple(s.place for s in statistics.snapshots if not is_read(s, statistics))
    ceilings = tuple(_ceilings(statistics, opened, until))
    unfinished = _unfinished(progress, statistics, walk)
    if unfinished:
        first = min(unfinished, key=lambda share: share.lowest)
        ceilings += (_Ceiling(first.lowest, walk.hold or _no_end(first)),)
    ceiling = min(ceilings, key=lambda c: c.place, default=None)
    settled = walk.settled
    if ceiling is not None:
        settled = _below(settled, ceiling.place)
    hold = walk.hold if len(settled) == len(walk.settled) else ceiling.hold if ceiling else None
    after = _advanced(frontier, settled)
    if statistics.is_quiet and walk.hold is None and not unfinished:
        after = _with_everything(after, statistics, ceiling, walk.repeats)
        hold = hold or (ceiling.hold if ceiling else None)
    elif hold is None:
        hold = ceiling.hold if ceiling else _WAITS_FOR_PROOF
    if isinstance(until, Barrier) and ceiling is not None and until.bound <= ceiling.place:
        # By the same walk: a snapshot behind the statement stands for nothing in front of it.
        proved = _cut_after(progress, statistics, None, walk).frontier.bound
        after = replace(after, bound=max(after.bound, min(until.bound, proved)))
    after = replace(after, split=_split(statistics, walk, after))
    skipped = _skipped(progress, statistics, settled, after.bound)
    opened = tuple(place for place in opened if place < after.bound)
    void = _void(statistics, opened, after.bound)
    return Cut(progress.cut + 1, GateMode.TRANSACTION, after, hold, void, skipped, opened)


def _unfinished(progress: Progress, statistics: StreamStatistics, walk: Walk) -> list[Share]:
    """What is landed of transactions that are open: neither settled nor without any END to come.

    MariaDB begins a transaction for every DDL and TRUNCATE and ends none of them: what names one
    of these is outside transactions once another has ended, or all is quiet (GATE-T11). A connector
    that starts again with a snapshot never sends the END of what it had begun (TOP-7). A statement
    of PostgreSQL waits with the transaction in which it stands, silence or not.
    """
    frontier = progress.frontier
    restarted = max((s.place for s in statistics.snapshots if s.ended), default=Place(""))
    settled = {key_of(done.end.id) for done in walk.settled}
    boundaries = in_order(frontier, statistics)
    begun = {key_of(b.id): (b.at, b.offset) for b in boundaries if b.counts is None}
    ends = {key_of(b.id): (b.at, b.offset) for b in boundaries if b.counts is not None}
    last_end = max(ends.values(), default=None)

    def is_open(share: Share) -> bool:
        key = share.transaction
        is_followed = statistics.followed is None or share.table in statistics.followed
        if key in settled or key in progress.skipped or not (is_followed or share.is_statement):
            return False
        if key in ends:
            return True
        if statistics.is_quiet and share.highest < restarted:
            return False
        if key in begun:
            passed = last_end is not None and begun[key] < last_end
            return not (passed or (statistics.is_quiet and share.only_truncates))
        # What has no END may have a number that never comes: its BEGIN can be below the frontier.
        # So can that of a statement, which no count waits for.
        return not (share.is_statement or is_overtaken(key, frontier))

    return [share for share in statistics.shares if is_open(share)]


def _ceilings(
    statistics: StreamStatistics, opened: Collection[Place], until: Cap | None
) -> Iterator[_Ceiling]:
    """What the cut must stay below, whatever transactions say; opened: snapshots under way.

    One that is read amid the stream may stand below the frontier: then the cut goes no further.
    """
    if opened:
        yield _Ceiling(
            min(opened),
            Hold(
                HoldCode.SNAPSHOT_OPEN,
                "a snapshot of the source is under way: its last row, or the first change behind "
                "it, has not come from every partition yet",
            ),
        )
    for place in sorted(statistics.unread):
        if place in statistics.places:
            sentence = f"partition {place.partition} of topic {place.topic} is not read to its end"
            top = highest_in(statistics, place)
            at = Place(top + ABOVE_ALL_OFFSETS) if top else top
            yield _Ceiling(at, Hold(HoldCode.GATE_STALLED, sentence))
    if until is not None:
        # What stands behind a statement may be of the transaction in front of it (SCHEMA-11).
        splits = isinstance(until, Barrier)
        first = _first_capped(statistics) if splits else capped_place(statistics)
        if first is not None:
            yield _Ceiling(first, Hold(HoldCode.UNTIL, until.sentence))


def capped_place(statistics: StreamStatistics) -> Place | None:
    """Where the first change waits by the run's cap, with its transaction; None where none does."""
    first = _first_capped(statistics)
    return None if first is None else _before_whole(first, statistics)


def _first_capped(statistics: StreamStatistics) -> Place | None:
    capped = (partition.capped_from for partition in statistics.partitions.values())
    return min((place for place in capped if place is not None), default=None)


def _before_whole(place: Place, statistics: StreamStatistics) -> Place:
    """``place``, or where the first transaction begins that stands on both sides of it."""
    spans: dict[str, tuple[Place, Place]] = {}
    for share in statistics.shares:
        low, high = spans.get(share.transaction, (share.lowest, share.highest))
        spans[share.transaction] = min(low, share.lowest), max(high, share.highest)
    for low, high in sorted(spans.values(), reverse=True):
        if low < place <= high:
            place = low
    return place


def _split(statistics: StreamStatistics, walk: Walk, after: Frontier) -> dict[str, int]:
    """`Frontier.split` where it is ``after``: its counts say nothing of what is left of them."""
    begun = {s.transaction for s in statistics.shares if s.lowest < after.bound}
    split = dict(after.split)
    for done in walk.settled:
        key = key_of(done.end.id)
        if key in begun:
            split[key] = max(split.get(key, 0), done.end.offset + 1)
    settled = max(after.offsets.values(), default=0)
    return {key: offset for key, offset in split.items() if offset > settled}


def _skipped(
    progress: Progress, statistics: StreamStatistics, settled: Collection[Settled], bound: str
) -> dict[str, frozenset[str]]:
    """The transactions that a person gave up and that the cut leaves behind, with their tables."""
    skipped = {
        key_of(done.end.id): done.skipped_tables
        for done in settled
        if done.skipped_tables is not None
    }
    for key in progress.skipped - skipped.keys():
        shares = [share for share in statistics.shares if share.transaction == key]
        if shares and top_of(shares) < bound:
            skipped[key] = tables_of(shares)
    return skipped


def _void(statistics: StreamStatistics, opened: Collection[Place], bound: str) -> tuple[Place, ...]:
    """Snapshots in pieces that a whole one below ``bound`` has replaced: they broke off."""
    read = (s for s in statistics.snapshots if s.is_whole and s.place not in opened)
    newest = max((s.place for s in read if s.place < bound), default=Place(""))
    return tuple(s.place for s in statistics.snapshots if not s.is_whole and s.place < newest)


def _below(settled: list[Settled], ceiling: Place) -> list[Settled]:
    """The longest run of ``settled`` all of which stands below ``ceiling``."""
    for index, done in enumerate(settled):
        if done.highest >= ceiling:
            return settled[:index]
    return settled


def _advanced(frontier: Frontier, settled: Collection[Settled]) -> Frontier:
    bound, time_ms = frontier.bound, frontier.time_ms
    numbers, gaps = dict(frontier.numbers), dict(frontier.gaps)
    offsets = dict(frontier.offsets)
    for done in settled:
        if done.highest:
            bound = max(bound, done.highest + ABOVE_ALL_OFFSETS)
        time_ms = max(time_ms, done.end.time_ms)
        offsets[done.end.at] = done.end.offset + 1
        if gtid := gtid_of(done.end.id):
            domain, number = gtid
            gaps[domain] = gaps_after(gaps.get(domain, ()), numbers.get(domain, 0), number)
        if numbered := number_of(done.end.id):
            domain, number = numbered
            numbers[domain] = max(numbers.get(domain, -1), number)
    gaps = {domain: known for domain, known in gaps.items() if known}
    return replace(
        frontier, bound=bound, time_ms=time_ms, numbers=numbers, offsets=offsets, gaps=gaps
    )


def _with_everything(
    frontier: Frontier,
    statistics: StreamStatistics,
    ceiling: _Ceiling | None,
    repeats: Collection[Boundary],
) -> Frontier:
    """``frontier`` above all that is landed, or up to ``ceiling`` (GATE-T6)."""
    tops = [seen.highest for seen in statistics.partitions.values() if seen.highest is not None]
    tops += [share.highest for share in statistics.shares]
    bound = max(tops) + ABOVE_ALL_OFFSETS if tops else ""
    if ceiling is not None:
        return replace(frontier, bound=max(frontier.bound, min(bound, ceiling.place)))
    offsets = dict(frontier.offsets)
    known = {share.transaction for share in statistics.shares} | {key_of(end.id) for end in repeats}
    for boundary in in_order(frontier, statistics):
        if key_of(boundary.id) not in known and not is_settled(boundary.id, frontier):
            break  # A BEGIN whose events, if there are any, have not come.
        offsets[boundary.at] = boundary.offset + 1
    return replace(frontier, bound=max(frontier.bound, bound), offsets=offsets)


def _no_end(share: Share) -> Hold:
    return Hold(
        HoldCode.TX_INCOMPLETE,
        f"the END of transaction {share.transaction} has not come; {share.events} of its events "
        f"are in {share.at}",
    )
