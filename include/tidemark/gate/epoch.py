"""Whether a source's log has started over, and from which records on (POS-16, POS-17).

After a fail-over, or a restore from a backup, positions may fall. What comes then looks like a
repeat of what came before, and would be dropped as one, or put in its midst. But a connector sends
into one partition in the order of its log, so a repeat is never newer than all that came before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby

from tidemark.model.log_end import LogEnd
from tidemark.model.offsets import Offsets, TopicPartition
from tidemark.model.position import Place
from tidemark.model.transaction import gtid_of


@dataclass(frozen=True, order=True, slots=True)
class LandedChange:
    """What was landed, by its record.

    place: in the log, empty where the record tells none or was read by a snapshot. time_ms: in the
    source. is_gated: an earlier cut has seen it.
    """

    at: TopicPartition
    offset: int
    place: Place
    time_ms: int
    is_gated: bool = False


@dataclass(frozen=True, slots=True)
class NewLog:
    """Where another log begins.

    starts: per partition of which records are known the first offset; a partition without such
    records is not in it. fell_at: the first record by which it shows. is_behind: every change of it
    is newer than all of the old one, by the source's clock.
    """

    starts: Offsets
    fell_at: LandedChange
    is_behind: bool


@dataclass(slots=True)
class Ascent:
    """How the streamed changes of one range of offsets follow each other.

    lowest, highest: of their places; None and empty before the first. newest_ms: source time.
    falls: one is newer than all before it in the range, and stands lower.
    """

    lowest: str | None = None
    highest: str = ""
    newest_ms: int = 0
    falls: bool = False

    def add(self, place: str, time_ms: int) -> None:
        """Take the next change."""
        if self.lowest is None or place < self.lowest:
            self.lowest = place
        if place >= self.highest:
            self.highest = place
        elif time_ms > self.newest_ms:
            self.falls = True
        self.newest_ms = max(self.newest_ms, time_ms)


def rises(ascents: Iterable[tuple[TopicPartition, Ascent]], end: LogEnd) -> bool:
    """Whether no change shows another log: `new_log` would find none.

    ascents: of all that no cut has seen, in the order of offsets. What repeats may look like a
    fall here; it costs a closer look.
    """
    before: dict[TopicPartition, tuple[str, int]] = {}
    for at, ascent in ascents:
        top, top_ms = before.get(at, (end.top_of(at), end.newest_ms))
        if ascent.lowest is None:
            continue
        is_below_read = ascent.lowest < end.read_of(at) and ascent.newest_ms > end.read_until_ms
        is_below = ascent.lowest < top or is_below_read
        if ascent.falls or (is_below and ascent.newest_ms > top_ms):
            return False
        before[at] = max(top, ascent.highest), max(top_ms, ascent.newest_ms)
    return True


def new_log(changes: Iterable[LandedChange], end: LogEnd) -> NewLog | None:
    """The log that begins in ``changes``; None where their places show none.

    end: of the log that is published. Where places fall, the new log begins behind the greatest
    one, but for repeats. Into other partitions it was sent from then on.
    """
    by_partition = {
        at: list(in_partition)
        for at, in_partition in groupby(sorted(changes, key=_by_offset), lambda change: change.at)
    }
    seen = {
        _copy_of(c) for in_partition in by_partition.values() for c in in_partition if c.is_gated
    }
    falls: dict[TopicPartition, tuple[LandedChange, LandedChange]] = {}
    old_to = end.newest_ms
    for at, in_partition in by_partition.items():
        top, top_ms = end.top_of(at), end.newest_ms
        first: LandedChange | None = None
        for change in in_partition:
            if not change.place:
                continue
            is_below_read = change.place < end.read_of(at) and change.time_ms > end.read_until_ms
            is_below = change.place < top or is_below_read
            if is_below and change.time_ms > top_ms and not change.is_gated:
                falls[at] = (first or change, change)
                break
            if change.place >= top:
                top, first = change.place, None
            elif _copy_of(change) not in seen and not change.is_gated:
                first = first or change
            seen.add(_copy_of(change))
            top_ms = max(top_ms, change.time_ms)
        old_to = max(old_to, top_ms) if at in falls else old_to
    if not falls:
        return None
    new_from = min(newer.time_ms for _, newer in falls.values())
    starts = {at: first.offset for at, (first, _) in falls.items()}
    for at in by_partition.keys() - falls.keys():
        later = [c.offset for c in by_partition[at] if not c.is_gated and c.time_ms >= new_from]
        starts |= {at: later[0]} if later else {}
    return NewLog(starts, min(newer for _, newer in falls.values()), new_from > old_to)


def _by_offset(change: LandedChange) -> tuple[TopicPartition, int]:
    return change.at, change.offset


def _copy_of(change: LandedChange) -> tuple[str, Place, int]:
    return change.at.topic, change.place, change.time_ms


def missing_between(old: Collection[str | None], new: Collection[str | None]) -> str:
    """Why a new log may not hold all that comes behind an old one; empty where GTIDs show it.

    old, new: ids of transactions of either log; of one None where a change has no id. Numbers grow
    by one within a server or a domain, so one that neither log sent may be of a lost change. The
    transaction in which the old log broke off may be in both. Of a server that the old log does not
    know nothing can be missed: a connector goes on from the set of GTIDs that it has sent.
    """
    numbers: list[dict[str, list[int]]] = [{}, {}]
    for known, ids in zip(numbers, (old, new), strict=True):
        for transaction in ids:
            gtid = gtid_of(transaction) if transaction else None
            if gtid is None:
                return f"a change has no GTID (its transaction is {transaction})"
            known.setdefault(gtid[0], []).append(gtid[1])
    before, behind = numbers
    for domain in sorted(before.keys() & behind.keys()):
        last, first = max(before[domain]), min(behind[domain])
        if first < last:
            return f"both logs have GTID {first} of {domain}, and the old one goes up to {last}"
        if first > last + 1:
            return f"GTIDs {last + 1} to {first - 1} of {domain} came by neither log"
    return ""
