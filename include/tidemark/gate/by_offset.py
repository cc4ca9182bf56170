"""No gate: what is landed is complete, partition by partition (GATE-N1)."""

from __future__ import annotations

from tidemark.gate.expansion import held_back
from tidemark.gate.statistics import StreamStatistics
from tidemark.model.cut import Cut, Frontier, GateMode, Hold, HoldCode
from tidemark.model.names import few
from tidemark.model.progress import Progress
from tidemark.model.until import Cap


def offset_cut(progress: Progress, statistics: StreamStatistics, until: Cap | None) -> Cut:
    """The next cut of a source without a gate; its frontier never goes back.

    It takes whole what is landed, but for what waits by ``until``, and for changes of keys
    that moved to other partitions (TOP-3).
    """
    before = progress.frontier.offsets
    capped = statistics.first_capped
    reach = {
        place: min(end, capped.get(place, end)) for place, end in sorted(statistics.landed.items())
    }
    limits, waits = held_back(statistics.expansions, reach)
    offsets = {place: max(before.get(place, 0), end) for place, end in limits.items()}
    return Cut(
        progress.cut + 1,
        GateMode.NONE,
        Frontier(offsets=offsets),
        _hold(waits, until if capped else None),
    )


def _hold(waits: list[str], until: Cap | None) -> Hold | None:
    if until is not None:
        return Hold(HoldCode.UNTIL, until.sentence)
    return Hold(HoldCode.PARTITIONS_ADDED, few(waits, between="; ")) if waits else None
