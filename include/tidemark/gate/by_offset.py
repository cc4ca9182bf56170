"""No gate: what is landed is complete, partition by partition (GATE-N1)."""

from __future__ import annotations

from tidemark.gate.expansion import held_back
from tidemark.gate.statistics import StreamStatistics
from tidemark.model.cut import Cut, Frontier, GateMode, Hold, HoldCode
from tidemark.model.names import few
from tidemark.model.offsets import TopicPartition
from tidemark.model.progress import Progress
from tidemark.model.until import Barrier, Cap


def offset_cut(progress: Progress, statistics: StreamStatistics, until: Cap | None) -> Cut:
    """The next cut of a source without a gate; its frontier never goes back.

    It takes whole what is landed, but for what waits by ``until``, and for changes of keys
    that moved to other partitions (TOP-3). A statement caps all partitions at one place of the log,
    as some caps of a person do: no change that a partition has above it stands below one in another
    partition.
    """
    reach = _reach(statistics)
    in_log_order = isinstance(until, Barrier) or statistics.in_log_order
    read = statistics.landed if in_log_order else reach
    limits, waits = held_back(statistics.expansions, reach, read)
    before = progress.frontier.offsets
    offsets = {place: max(before.get(place, 0), end) for place, end in limits.items()}
    return Cut(
        progress.cut + 1,
        GateMode.NONE,
        Frontier(offsets=offsets),
        _hold(waits, until if statistics.first_capped else None),
    )


def holds_rows_below(progress: Progress, statistics: StreamStatistics) -> bool:
    """Whether rows wait by TOP-3 that stand below the statement at which the cut ends."""
    reach, before = _reach(statistics), progress.frontier.offsets
    limits, _ = held_back(statistics.expansions, reach, statistics.landed)
    return any(max(before.get(place, 0), limits[place]) < end for place, end in reach.items())


def _reach(statistics: StreamStatistics) -> dict[TopicPartition, int]:
    """How far the partitions are landed, below the cap."""
    capped, landed = statistics.first_capped, statistics.landed
    return {place: min(end, capped.get(place, end)) for place, end in sorted(landed.items())}


def _hold(waits: list[str], until: Cap | None) -> Hold | None:
    if until is not None:
        return Hold(HoldCode.UNTIL, until.sentence)
    return Hold(HoldCode.PARTITIONS_ADDED, few(waits, between="; ")) if waits else None
