"""TiCDC: a cut ends strictly below the smallest of the newest watermarks of all partitions.

Source of the rules: GATE-W1 to GATE-W3, GATE-W7 in docs/concepts.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from tidemark.model.cut import Cut, Frontier, GateMode, Hold, HoldCode
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import millis_of
from tidemark.model.progress import Progress
from tidemark.model.until import Cap


def newest_watermarks(
    known: Mapping[TopicPartition, int], seen: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """The greatest watermark of each partition; a smaller one after a restart changes nothing."""
    places = known.keys() | seen.keys()
    return {place: max(known.get(place, 0), seen.get(place, 0)) for place in sorted(places)}


def watermark_gate(
    newest: Mapping[TopicPartition, int], partitions: Collection[TopicPartition]
) -> int | None:
    """The commitTs strictly below which the stream is complete; None when nothing proves it.

    Strictly: a commit equal to a watermark may still be on its way (GATE-W1). A partition that
    has sent no watermark holds everything (GATE-W2).

    >>> from tidemark.model.names import TopicName
    >>> p0, p1 = (TopicPartition(TopicName("shop"), number) for number in (0, 1))
    >>> watermark_gate({p0: 450, p1: 430}, [p0, p1])
    430
    >>> watermark_gate({p0: 450}, [p0, p1]) is None
    True
    """
    if not partitions or any(place not in newest for place in partitions):
        return None
    return min(newest[place] for place in partitions)


def watermark_cut(
    progress: Progress,
    newest: Mapping[TopicPartition, int],
    partitions: Collection[TopicPartition],
    until: Cap | None,
    *,
    notes: Mapping[TopicName, str] = MappingProxyType({}),
) -> Cut:
    """The next cut of a source with watermarks; its frontier never goes back.

    newest: greatest watermark per partition, the ones of `progress` included. partitions: every
    partition of every topic of the changefeed. until: where the run is capped, if it is. notes:
    what else is known of topics that hold the cut.
    """
    gate = watermark_gate(newest, partitions)
    if gate is None:
        silent = [place for place in sorted(partitions) if place not in newest]
        return _cut(progress, progress.frontier.commit_ts, _no_watermark(silent))
    slowest = min(partitions, key=lambda place: (newest[place], place))
    hold = Hold(
        HoldCode.GATE_STALLED,
        f"partition {slowest.partition} of topic {slowest.topic} has sent no watermark above "
        f"{newest[slowest]} ({source_time(newest[slowest])}){notes.get(slowest.topic, '')}",
    )
    if until is not None and until.commit_ts < gate:
        gate = until.commit_ts
        hold = Hold(HoldCode.UNTIL, until.sentence)
    return _cut(progress, max(gate, progress.frontier.commit_ts), hold)


def _no_watermark(silent: list[TopicPartition]) -> Hold:
    if not silent:
        return Hold(HoldCode.GATE_NO_WATERMARK, "no partition of the topics is known yet")
    named = "; ".join(f"partition {place.partition} of topic {place.topic}" for place in silent[:5])
    more = f" and {len(silent) - 5} more" if len(silent) > 5 else ""
    return Hold(HoldCode.GATE_NO_WATERMARK, f"no watermark has come yet from {named}{more}")


def _cut(progress: Progress, commit_ts: int, hold: Hold) -> Cut:
    return Cut(progress.cut + 1, GateMode.WATERMARK, Frontier(commit_ts=commit_ts), hold)


def source_time(commit_ts: int) -> str:
    """The source's clock at ``commit_ts``, in words for a person."""
    return datetime.fromtimestamp(millis_of(commit_ts) / 1000, UTC).isoformat(
        sep=" ", timespec="milliseconds"
    )
