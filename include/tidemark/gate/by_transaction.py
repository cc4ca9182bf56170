"""Debezium's transactions: a cut holds the longest run of complete ones, in the source's order.

An END counts the events of its transaction per table. Where as many different ones are landed the
transaction is complete; where the counts cannot be trusted, later changes or silence must prove
it. Changes outside transactions settle between the transactions that do. Source of the rules:
GATE-T2 to GATE-T13 in docs/concepts.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from tidemark.gate.sight import Sight, SnapshotSight
from tidemark.model.cut import Cut, Frontier, GateMode, Hold, HoldCode
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place
from tidemark.model.progress import Progress
from tidemark.model.transaction import Boundary, Share, key_of, number_of

ABOVE_ALL_OFFSETS = "~"
"""Sorts behind every hexadecimal digit: a place followed by it is above all that stand there."""

NAMED = 3

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


@dataclass(frozen=True, slots=True)
class _Settled:
    """A transaction that is complete: its END and the greatest place of its events, if any.

    given_up: tables of one that is not, and that a person gave up.
    """

    end: Boundary
    highest: Place
    given_up: frozenset[str] | None = None


@dataclass(slots=True)
class _Walk:
    """What the walk over the transaction topic has found; hold: why it stopped, None at its end.

    repeats: ENDs that say nothing new.
    """

    settled: list[_Settled] = field(default_factory=list)
    repeats: list[Boundary] = field(default_factory=list)
    hold: Hold | None = None


def transaction_cut(progress: Progress, sight: Sight, until: datetime | None) -> Cut:
    """The next cut of a source with transaction metadata; its frontier never goes back."""
    frontier = progress.frontier
    ceilings = tuple(_ceilings(sight, until))
    walk = _walk(progress, sight)
    unfinished = _unfinished(progress, sight, walk)
    if unfinished:
        first = min(unfinished, key=lambda share: share.lowest)
        ceilings += (_Ceiling(first.lowest, walk.hold or _no_end(first)),)
    ceiling = min(ceilings, key=lambda c: c.place, default=None)
    settled = walk.settled
    if ceiling is not None:
        settled = _below(settled, ceiling.place)
    hold = walk.hold if len(settled) == len(walk.settled) else ceiling.hold if ceiling else None
    after = _advanced(frontier, settled)
    if sight.is_quiet and walk.hold is None and not unfinished:
        after = _with_everything(after, sight, ceiling, walk.repeats)
        hold = hold or (ceiling.hold if ceiling else None)
    elif hold is None:
        hold = ceiling.hold if ceiling else _WAITS_FOR_PROOF
    skipped = _skipped(progress, sight, settled, after.bound)
    void = _void(sight, after.bound)
    return Cut(progress.cut + 1, GateMode.TRANSACTION, after, hold, void, skipped)


def _walk(progress: Progress, sight: Sight) -> _Walk:
    """Go through the boundaries above the frontier, in their topic's order, as far as possible."""
    frontier = progress.frontier
    shares: dict[str, list[Share]] = {}
    for share in sight.shares:
        shares.setdefault(share.transaction, []).append(share)
    begun: Counter[str] = Counter()
    ended: dict[str, Mapping[str, int]] = {}
    walk = _Walk()
    boundaries = _in_order(frontier, sight)
    last_end = {key_of(b.id): b for b in boundaries if b.counts and not b.is_empty}
    for boundary in boundaries:
        key = key_of(boundary.id)
        if boundary.counts is None:
            begun[key] += 1
            continue
        own = shares.get(key, [])
        if _says_nothing_new(boundary, ended, frontier, own):
            walk.repeats.append(boundary)
            continue
        if key in progress.skipped:
            walk.settled.append(_given_up(boundary, own))
            ended[key] = boundary.counts
            continue
        expected = _followed(boundary.counts, sight.followed)
        seen = _seen(own, sight.followed)
        doubts = _doubts(boundary, begun, ended, expected, seen)
        is_short = any(seen.get(table, 0) < events for table, events in expected.items())
        last = last_end.get(key, boundary)
        if is_short and boundary.offset < last.offset and boundary.counts != last.counts:
            # The connector died after this END, with events unsent, and numbers the rest anew.
            ended[key] = boundary.counts
            continue
        if is_short:
            walk.hold = Hold(HoldCode.TX_INCOMPLETE, _incomplete(boundary, expected, seen))
            return walk
        if doubts and not (sight.is_quiet or _is_passed(own, expected, sight)):
            walk.hold = Hold(HoldCode.TX_UNPROVABLE, _unprovable(boundary, doubts))
            return walk
        walk.settled.append(_Settled(boundary, _top(own)))
        ended[key] = boundary.counts
    return walk


def _given_up(end: Boundary, own: Collection[Share]) -> _Settled:
    tables = {share.table for share in own} | (end.counts or {}).keys()
    return _Settled(end, _top(own), frozenset(tables))


def _top(own: Collection[Share]) -> Place:
    return max((share.highest for share in own), default=Place(""))


def _in_order(frontier: Frontier, sight: Sight) -> list[Boundary]:
    fresh = (b for b in sight.boundaries if b.offset >= frontier.offsets.get(b.at, 0))
    return sorted(fresh, key=lambda b: (b.at, b.offset))


def _says_nothing_new(
    end: Boundary,
    ended: Mapping[str, Mapping[str, int]],
    frontier: Frontier,
    own: Collection[Share],
) -> bool:
    """A repeated END of a transaction that is settled, here or in an earlier cut (GATE-T9)."""
    key = key_of(end.id)
    if key in ended:
        return end.is_empty or ended[key] == end.counts
    return not own and _is_settled(end.id, frontier)


def _is_settled(transaction_id: str, frontier: Frontier) -> bool:
    """Whether the numbers of its domain have come past it; False where ids have no numbers."""
    number = number_of(transaction_id)
    return number is not None and number[1] <= frontier.numbers.get(number[0], -1)


def _followed(counts: Mapping[str, int], followed: frozenset[str] | None) -> dict[str, int]:
    return {t: n for t, n in counts.items() if n and (followed is None or t in followed)}


def _seen(own: Collection[Share], followed: frozenset[str] | None) -> dict[str, int]:
    seen: Counter[str] = Counter()
    for share in own:
        if followed is None or share.table in followed:
            seen[share.table] += share.events
    return dict(seen)


def _doubts(
    end: Boundary,
    begun: Mapping[str, int],
    ended: Mapping[str, Mapping[str, int]],
    expected: Mapping[str, int],
    seen: Mapping[str, int],
) -> str:
    """Why the counts of ``end`` prove nothing; empty when they do (GATE-T5, GATE-T13)."""
    key = key_of(end.id)
    if begun[key] > 1:
        return f"its BEGIN came {begun[key]} times"
    if key in ended:
        return "its END came before, with other counts"
    more = [table for table, events in sorted(seen.items()) if events > expected.get(table, 0)]
    if more:
        return (
            f"{seen[more[0]]} events of {more[0]} came, but END counts {expected.get(more[0], 0)}"
        )
    return ""


def _is_passed(own: Collection[Share], expected: Mapping[str, int], sight: Sight) -> bool:
    """Every partition that can hold a part of the transaction holds a later change (GATE-T7)."""
    topics = {share.table: share.at.topic for share in sight.shares}
    if not expected.keys() <= topics.keys():
        concerned = set(sight.places)
    else:
        wanted = {topics[table] for table in expected} | {share.at.topic for share in own}
        concerned = {place for place in sight.places if place.topic in wanted}
    return all(_highest(sight, place) > _top(own) for place in concerned)


def _highest(sight: Sight, place: TopicPartition) -> Place:
    found = sight.partitions.get(place)
    return (found.highest if found else None) or Place("")


def _unfinished(progress: Progress, sight: Sight, walk: _Walk) -> list[Share]:
    """What is landed of transactions that are open: neither settled nor without any END to come.

    MariaDB begins a transaction for every DDL and TRUNCATE and ends none of them: what names one
    of these is outside transactions once another has ended, or all is quiet (GATE-T11). A connector
    that starts again with a snapshot never sends the END of what it had begun (TOP-7).
    """
    frontier = progress.frontier
    restarted = max((s.place for s in sight.snapshots if s.ended), default=Place(""))
    settled = {key_of(done.end.id) for done in walk.settled}
    boundaries = _in_order(frontier, sight)
    begun = {key_of(b.id): (b.at, b.offset) for b in boundaries if b.counts is None}
    ends = {key_of(b.id): (b.at, b.offset) for b in boundaries if b.counts is not None}
    last_end = max(ends.values(), default=None)

    def is_open(share: Share) -> bool:
        key = share.transaction
        if (
            key in settled
            or key in progress.skipped
            or (sight.followed is not None and share.table not in sight.followed)
        ):
            return False
        if key in ends:
            return True
        if sight.is_quiet and share.highest < restarted:
            return False
        if key in begun:
            passed = last_end is not None and begun[key] < last_end
            return not (passed or (sight.is_quiet and share.only_truncates))
        return not _is_settled(key, frontier)

    return [share for share in sight.shares if is_open(share)]


def _ceilings(sight: Sight, until: datetime | None) -> Iterator[_Ceiling]:
    """What the cut must stay below, whatever transactions say."""
    opened = [s.place for s in sight.snapshots if not _is_read(s, sight)]
    if opened:
        yield _Ceiling(
            min(opened),
            Hold(
                HoldCode.SNAPSHOT_OPEN,
                "a snapshot of the source is under way: its last row, or the first change behind "
                "it, has not come from every partition yet",
            ),
        )
    for place in sorted(sight.unread):
        if place in sight.places:
            sentence = f"partition {place.partition} of topic {place.topic} is not read to its end"
            top = _highest(sight, place)
            at = Place(top + ABOVE_ALL_OFFSETS) if top else top
            yield _Ceiling(at, Hold(HoldCode.GATE_STALLED, sentence))
    if until is not None:
        capped = [p.capped_from for p in sight.partitions.values() if p.capped_from is not None]
        if capped:
            hold = Hold(HoldCode.UNTIL, f"the run is capped at {until.isoformat()}")
            yield _Ceiling(min(capped), hold)


def _is_read(snapshot: SnapshotSight, sight: Sight) -> bool:
    """An earlier run saw the snapshot's end, and no partition can hold more of it (SNAP-4, -5)."""
    start = snapshot.place
    ended = (
        snapshot.ended
        or any((seen.streamed_before or "") > start for seen in sight.partitions.values())
        or any(other.ended and other.place > start for other in sight.snapshots)
    )
    return ended and all(_has_no_more(sight, place, start) for place in sight.places)


def _has_no_more(sight: Sight, place: TopicPartition, start: Place) -> bool:
    seen = sight.partitions.get(place)
    is_silent = place not in sight.unread and (seen is None or seen.records == 0)
    return is_silent or _highest(sight, place) > start


def _skipped(
    progress: Progress, sight: Sight, settled: Collection[_Settled], bound: str
) -> dict[str, frozenset[str]]:
    """The transactions that a person gave up and that the cut leaves behind, with their tables."""
    skipped = {key_of(done.end.id): done.given_up for done in settled if done.given_up is not None}
    for key in progress.skipped - skipped.keys():
        own = [share for share in sight.shares if share.transaction == key]
        if own and _top(own) < bound:
            skipped[key] = frozenset(share.table for share in own)
    return skipped


def _void(sight: Sight, bound: str) -> tuple[Place, ...]:
    """Snapshots in pieces that a whole one below ``bound`` has replaced: they broke off."""
    whole = (s.place for s in sight.snapshots if s.is_whole and s.place < bound)
    newest = max(whole, default=Place(""))
    return tuple(s.place for s in sight.snapshots if not s.is_whole and s.place < newest)


def _below(settled: list[_Settled], ceiling: Place) -> list[_Settled]:
    """The longest run of ``settled`` all of which stands below ``ceiling``."""
    for index, done in enumerate(settled):
        if done.highest >= ceiling:
            return settled[:index]
    return settled


def _advanced(frontier: Frontier, settled: Collection[_Settled]) -> Frontier:
    bound, time_ms = frontier.bound, frontier.time_ms
    numbers, offsets = dict(frontier.numbers), dict(frontier.offsets)
    for done in settled:
        if done.highest:
            bound = max(bound, done.highest + ABOVE_ALL_OFFSETS)
        time_ms = max(time_ms, done.end.time_ms)
        offsets[done.end.at] = done.end.offset + 1
        number = number_of(done.end.id)
        if number is not None:
            numbers[number[0]] = max(numbers.get(number[0], -1), number[1])
    return replace(frontier, bound=bound, time_ms=time_ms, numbers=numbers, offsets=offsets)


def _with_everything(
    frontier: Frontier, sight: Sight, ceiling: _Ceiling | None, repeats: Collection[Boundary]
) -> Frontier:
    """``frontier`` above all that is landed, or up to ``ceiling`` (GATE-T6)."""
    tops = [seen.highest for seen in sight.partitions.values() if seen.highest is not None]
    bound = max(tops) + ABOVE_ALL_OFFSETS if tops else ""
    if ceiling is not None:
        return replace(frontier, bound=max(frontier.bound, min(bound, ceiling.place)))
    offsets = dict(frontier.offsets)
    known = {share.transaction for share in sight.shares} | {key_of(end.id) for end in repeats}
    for boundary in _in_order(frontier, sight):
        if key_of(boundary.id) not in known and not _is_settled(boundary.id, frontier):
            break  # A BEGIN whose events, if there are any, have not come.
        offsets[boundary.at] = boundary.offset + 1
    return replace(frontier, bound=max(frontier.bound, bound), offsets=offsets)


def _no_end(share: Share) -> Hold:
    return Hold(
        HoldCode.TX_INCOMPLETE,
        f"the END of transaction {share.transaction} has not come; {share.events} of its events "
        f"are in {share.at}",
    )


def _incomplete(end: Boundary, expected: Mapping[str, int], seen: Mapping[str, int]) -> str:
    short = [t for t in sorted(expected) if seen.get(t, 0) < expected[t]]
    named = "; ".join(f"{expected[t]} of {t}, {seen.get(t, 0)} came" for t in short[:NAMED])
    more = f" and {len(short) - NAMED} more tables" if len(short) > NAMED else ""
    return f"transaction {end.id} is not complete: its END counts {named}{more}"


def _unprovable(end: Boundary, doubts: str) -> str:
    return (
        f"transaction {end.id} cannot be proven complete: {doubts}, so its counts prove nothing; "
        "it waits for later changes in each of its partitions, or for a run that finds nothing new"
    )
