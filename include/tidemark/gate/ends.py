"""The ENDs of transactions, in their order: which are complete, and why the first other one is not.

An END counts the events of its transaction per table; a connector that restarts inside one counts
from 1 again. Source of the rules: GATE-T2 to GATE-T9 and GATE-T14 in docs/concepts.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tidemark.gate.statistics import StreamStatistics, highest_in
from tidemark.gate.whole_snapshot import snapshot_over
from tidemark.model.cut import Frontier, Hold, HoldCode
from tidemark.model.number_gaps import is_in
from tidemark.model.position import Place
from tidemark.model.progress import Progress
from tidemark.model.transaction import Boundary, Share, key_of, number_of, tables_of, top_of

NAMED = 3


@dataclass(frozen=True, slots=True)
class Settled:
    """A transaction that is complete: its END and the greatest place of its events, if any.

    skipped_tables: tables of one that is not, and that a person gave up. over: where the snapshot
    stands that has to be in the cut with it, as it holds what is lacking.
    """

    end: Boundary
    highest: Place
    skipped_tables: frozenset[str] | None = None
    over: Place = Place("")


@dataclass(slots=True)
class Walk:
    """What the walk over the transaction topic has found; hold: why it stopped, None at its end.

    repeats: ENDs that say nothing new.
    """

    settled: list[Settled] = field(default_factory=list)
    repeats: list[Boundary] = field(default_factory=list)
    hold: Hold | None = None


def walk_ends(
    progress: Progress, statistics: StreamStatistics, *, with_snapshots: bool = True
) -> Walk:
    """Go through the boundaries above the frontier, in their topic's order, as far as possible.

    with_snapshots: past transactions that a later snapshot stands for (GATE-T14). What such a
    snapshot has overtaken and that is published already, stands below the frontier as a whole: its
    events count there (SNAP-10).
    """
    frontier = progress.frontier
    by_key, overtaken = _by_key(statistics.shares), _by_key(statistics.overtaken)
    begun: Counter[str] = Counter()
    ended: dict[str, Mapping[str, int]] = {}
    walk = Walk()
    boundaries = in_order(frontier, statistics)
    last_end = {key_of(b.id): b for b in boundaries if b.counts and not b.is_empty}
    for boundary in boundaries:
        key = key_of(boundary.id)
        if boundary.counts is None:
            begun[key] += 1
            continue
        shares = by_key.get(key, [])
        if _says_nothing_new(boundary, ended, frontier, shares):
            walk.repeats.append(boundary)
            continue
        if key in progress.skipped or boundary.offset < frontier.split.get(key, 0):
            walk.settled.append(_settled_before(boundary, shares, progress))
            ended[key] = boundary.counts
            continue
        expected = _followed(boundary.counts, statistics.followed)
        seen = _seen(shares or overtaken.get(key, []), statistics.followed)
        warnings = _warnings(boundary, begun, ended, expected, seen)
        # Of a transaction that was complete, a part of what END counts is below the frontier.
        counted = {} if key in frontier.split else expected
        short = [table for table, events in counted.items() if seen.get(table, 0) < events]
        last = last_end.get(key, boundary)
        if short and boundary.offset < last.offset and boundary.counts != last.counts:
            # The connector died after this END, with events unsent, and numbers the rest anew.
            ended[key] = boundary.counts
            continue
        over = (
            snapshot_over(boundary, shares, short, statistics) if short and with_snapshots else None
        )
        if over is not None:
            walk.settled.append(Settled(boundary, top_of(shares), over=over))
            ended[key] = boundary.counts
            continue
        if short:
            walk.hold = Hold(HoldCode.TX_INCOMPLETE, _incomplete(boundary, expected, seen))
            return walk
        if warnings and not (statistics.is_quiet or _is_passed(shares, expected, statistics)):
            walk.hold = Hold(HoldCode.TX_UNPROVABLE, _unprovable(boundary, warnings))
            return walk
        walk.settled.append(Settled(boundary, top_of(shares)))
        ended[key] = boundary.counts
    return walk


def _by_key(shares: Collection[Share]) -> dict[str, list[Share]]:
    by_key: dict[str, list[Share]] = {}
    for share in shares:
        by_key.setdefault(share.transaction, []).append(share)
    return by_key


def in_order(frontier: Frontier, statistics: StreamStatistics) -> list[Boundary]:
    """The BEGINs and ENDs above the frontier, as they stand in their topic."""
    fresh = (b for b in statistics.boundaries if b.offset >= frontier.offsets.get(b.at, 0))
    return sorted(fresh, key=lambda b: (b.at, b.offset))


def _settled_before(end: Boundary, shares: Collection[Share], progress: Progress) -> Settled:
    """What a person gave up, or what was complete as a cut ended inside of it (SCHEMA-11)."""
    if key_of(end.id) not in progress.skipped:
        return Settled(end, top_of(shares))
    tables = tables_of(shares) | (end.counts or {}).keys()
    return Settled(end, top_of(shares), frozenset(tables))


def _says_nothing_new(
    end: Boundary,
    ended: Mapping[str, Mapping[str, int]],
    frontier: Frontier,
    shares: Collection[Share],
) -> bool:
    """A repeated END of a transaction that is settled, here or in an earlier cut (GATE-T9)."""
    key = key_of(end.id)
    if key in ended:
        return end.is_empty or ended[key] == end.counts
    return all(share.is_statement for share in shares) and is_settled(end.id, frontier)


def is_settled(transaction_id: str, frontier: Frontier) -> bool:
    """Whether its number has come; False where ids have no numbers."""
    domain, number = number_of(transaction_id) or ("", 0)
    has_come = not is_in(frontier.gaps.get(domain, ()), number)
    return has_come and is_overtaken(transaction_id, frontier)


def is_overtaken(transaction_id: str, frontier: Frontier) -> bool:
    """Whether the numbers of its domain have come past it; False where ids have no numbers."""
    number = number_of(transaction_id)
    return number is not None and number[1] <= frontier.numbers.get(number[0], -1)


def _followed(counts: Mapping[str, int], followed: frozenset[str] | None) -> dict[str, int]:
    return {t: n for t, n in counts.items() if n and (followed is None or t in followed)}


def _seen(shares: Collection[Share], followed: frozenset[str] | None) -> dict[str, int]:
    seen: Counter[str] = Counter()
    for share in shares:
        if not share.is_statement and (followed is None or share.table in followed):
            seen[share.table] += share.events
    return dict(seen)


def _warnings(
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


def _is_passed(
    shares: Collection[Share], expected: Mapping[str, int], statistics: StreamStatistics
) -> bool:
    """Every partition that can hold a part of the transaction holds a later change (GATE-T7)."""
    # Behind a statement nothing may come in its topic for long.
    shares = [share for share in shares if not share.is_statement]
    topics = {s.table: s.at.topic for s in statistics.shares if not s.is_statement}
    if not expected.keys() <= topics.keys():
        concerned = set(statistics.places)
    else:
        wanted = {topics[table] for table in expected} | {share.at.topic for share in shares}
        concerned = {place for place in statistics.places if place.topic in wanted}
    return all(highest_in(statistics, place) > top_of(shares) for place in concerned)


def _incomplete(end: Boundary, expected: Mapping[str, int], seen: Mapping[str, int]) -> str:
    short = [t for t in sorted(expected) if seen.get(t, 0) < expected[t]]
    named = "; ".join(f"{expected[t]} of {t}, {seen.get(t, 0)} came" for t in short[:NAMED])
    more = f" and {len(short) - NAMED} more tables" if len(short) > NAMED else ""
    return f"transaction {end.id} is not complete: its END counts {named}{more}"


def _unprovable(end: Boundary, warnings: str) -> str:
    return (
        f"transaction {end.id} cannot be proven complete: {warnings}, so its counts prove nothing; "
        "it waits for later changes in each of its partitions, or for a run that finds nothing new"
    )
