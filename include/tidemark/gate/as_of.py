"""Whether a cut leaves every table as the source was at one moment, so that a tag may say so.

A tag is a promise to readers: all that the source committed before the moment, and nothing else.
Where that is not proven there is no tag (PUB-14).
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.gate.by_transaction import capped_place
from tidemark.gate.next_cut import Decision
from tidemark.gate.statistics import StreamStatistics
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import Cut, GateMode, Hold, HoldCode
from tidemark.model.names import few
from tidemark.model.progress import Progress
from tidemark.model.until import Until


def is_passed(mode: GateMode, progress: Progress, moment: Until) -> bool:
    """Whether the tables hold, or may hold, what the source committed at ``moment`` or later."""
    if mode is GateMode.WATERMARK:
        return progress.frontier.commit_ts > moment.commit_ts
    return max(progress.newest_ms, progress.read_ms) >= moment.number


def why_not_as_of(moment: Until, decision: Decision, after: Progress) -> str:
    """Why tables do not stand at ``moment`` once the cut is published; empty where all of them do.

    moment: a time, at which the run is capped. after: progress as the cut leaves it.
    """
    cut = decision.cut
    if is_passed(cut.mode, after, moment):
        return "what the source committed later is published already"
    if lower := sorted({*map(str, after.behind), *map(str, after.blocked)}):
        return f"{few(lower)}: stopped, refolded, or not among the tables of the run"
    if not _is_reached(moment, decision):
        hold = f": {cut.hold.sentence}" if cut.hold and cut.hold.code is not HoldCode.UNTIL else ""
        return f"nothing proves yet that all is there which the source committed before{hold}"
    return ""


def _is_reached(moment: Until, decision: Decision) -> bool:
    cut, statistics = decision.cut, decision.statistics
    is_capped = cut.hold == Hold(HoldCode.UNTIL, moment.sentence)
    match cut.mode:
        case GateMode.WATERMARK:
            return cut.frontier.commit_ts == moment.commit_ts
        case GateMode.TRANSACTION:
            return is_capped and not any(_waits_below_cap(decision))
        case GateMode.NONE:
            return is_capped and not statistics.unread and _is_whole(cut, statistics)


def _waits_below_cap(decision: Decision) -> Iterable[bool]:
    """Of each group of changes that wait, whether some stand below the first that has to."""
    cap = capped_place(decision.statistics)
    for entry in decision.profile.profile_entries:
        if entry.status is CheckpointStatus.HELD and entry.lowest_place is not None:
            yield cap is None or entry.lowest_place < cap


def _is_whole(cut: Cut, statistics: StreamStatistics) -> bool:
    """Whether the cut takes from each partition all that is landed below the cap (TOP-3)."""
    return all(
        cut.frontier.offsets.get(place, 0) >= min(end, statistics.first_capped.get(place, end))
        for place, end in statistics.landed.items()
    )
