"""No gate: what is landed is complete, partition by partition (GATE-N1)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from tidemark.model.cut import Cut, Frontier, GateMode, Hold, HoldCode
from tidemark.model.offsets import Offsets, TopicPartition
from tidemark.model.progress import Progress


def offset_cut(
    progress: Progress,
    landed: Offsets,
    first_after_until: Mapping[TopicPartition, int],
    until: datetime | None,
) -> Cut:
    """The next cut of a source without a gate; its frontier never goes back.

    landed: next offset per partition. first_after_until: per partition the first landed offset
    whose commit time is not before ``until``; partitions without one are taken whole.
    """
    kept = progress.frontier.offsets
    offsets = {
        place: max(kept.get(place, 0), min(end, first_after_until.get(place, end)))
        for place, end in sorted(landed.items())
    }
    hold = None
    if until is not None and first_after_until:
        hold = Hold(HoldCode.UNTIL, f"the run is capped at {until.isoformat()}")
    return Cut(progress.cut + 1, GateMode.NONE, Frontier(offsets=offsets), hold)
