"""Tombstones of compacted topics that may be gone before they were landed (KEY-12).

A broker removes a tombstone `delete.retention.ms` after it first cleaned it, and with it the last
trace of a delete: what was landed of its key before would stay for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from tidemark.errors import UNCHANGED, DataLossError
from tidemark.model.offsets import OffsetRange, Ranges, TopicPartition
from tidemark.topics.client import Broker, TopicFacts
from tidemark.topics.fingerprints import read_fingerprints

Moments = Mapping[TopicPartition, int]


def refuse_lost_tombstones(
    broker: Broker, topics: Collection[TopicFacts], caught_up: Moments, unread: Ranges, now_ms: int
) -> None:
    """Raise `DataLossError` where a tombstone of ``unread`` may have come and gone.

    caught_up: per partition when it was last read to its end, or begun, in ms since 1970; nothing
    was landed of others. What is unread came later, and not before the first unread record, if
    that is still there.
    """
    retention_ms = {
        place: topic.tombstones_ms
        for topic in topics
        if topic.compacted and topic.tombstones_ms is not None
        for place in topic.places
    }
    late = {
        place: OffsetRange(span.start, span.start + 1)
        for place, span in unread.items()
        if span.count and now_ms - caught_up.get(place, now_ms) > retention_ms.get(place, now_ms)
    }
    if not late:
        return
    with broker.reading() as consumer:
        first = read_fingerprints(consumer, late)
    for place, span in sorted(late.items(), key=lambda item: item[0]):
        there = first.get(place)
        if there and now_ms - there[0].time_ms <= retention_ms[place]:
            continue
        since = datetime.fromtimestamp(caught_up[place] / 1000, UTC).isoformat(timespec="seconds")
        raise DataLossError(
            f"{place} was last read to its end at {since}, and its broker keeps tombstones for "
            f"{retention_ms[place] / 1000:g} s: deletes from offset {span.start} on may be gone "
            "without a trace (KEY-12)",
            state=UNCHANGED,
            next_step="fold the topic by a new pipeline; if you know that it had nothing new until "
            "lately, raise delete.retention.ms of the topic above that time and run again",
        )
