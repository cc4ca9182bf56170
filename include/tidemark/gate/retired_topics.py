"""TiCDC: topics whose last table was dropped or renamed get no watermarks any more (GATE-W7).

The changefeed sends each watermark to every topic that has a table, once everything below it was
acknowledged, in whichever topic. So a topic that was read to an end which was fetched after a
watermark of another one had been read is complete below that, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.progress import Progress

RETIRED = "; its tables are gone, so it counts as the other topics did a run before"
IF_RETIRED = "; if its tables are gone, leave it out of source.topics"


class Departure(NamedTuple):
    """A statement after which a table is not in its topic any more.

    topic: of the table; None where a whole database goes, whose tables may be in any topic.
    """

    topic: TopicName | None
    commit_ts: int


def lagging_topics(
    progress: Progress,
    newest: Mapping[TopicPartition, int],
    partitions: Collection[TopicPartition],
    unread: Collection[TopicPartition],
) -> frozenset[TopicName]:
    """Topics that have sent no watermark since the other ones sent theirs of earlier cuts.

    newest, partitions: as of `watermark_cut`. unread: partitions that were not read to the end that
    they had when the run was planned; no topic that has such a one lags.
    """
    by_topic: dict[TopicName, list[TopicPartition]] = {}
    for place in partitions:
        by_topic.setdefault(place.topic, []).append(place)
    known = {
        topic: max(newest[place] for place in places)
        for topic, places in by_topic.items()
        if all(place in newest and place not in unread for place in places)
    }
    slowest_first = sorted(known, key=lambda topic: (known[topic], topic))
    for number in range(len(slowest_first), 0, -1):
        lagging = frozenset(slowest_first[:number])
        others = _complete_until(progress, partitions, lagging)
        if known[slowest_first[number - 1]] < others:
            return lagging
    return frozenset()


def with_retired(
    progress: Progress,
    newest: Mapping[TopicPartition, int],
    partitions: Collection[TopicPartition],
    lagging: Collection[TopicName],
    departures: Iterable[Departure],
) -> dict[TopicPartition, int]:
    """``newest``, where partitions of retired topics have the watermark of the other ones.

    Retired are those of ``lagging`` that a table left since their watermarks, and those that the
    frontier went past before. departures: that wait.
    """
    left = tuple(departures)
    last = {
        topic: max(newest[place] for place in partitions if place.topic == topic)
        for topic in lagging
    }
    retired = {
        topic
        for topic, watermark in last.items()
        if watermark < progress.frontier.commit_ts
        or any(d.topic in (None, topic) and d.commit_ts >= watermark for d in left)
    }
    others = _complete_until(progress, partitions, retired)
    if any(d.topic in retired and d.commit_ts >= others for d in left):
        return dict(newest)
    return {
        place: max(watermark, others) if place.topic in retired else watermark
        for place, watermark in newest.items()
    }


def _complete_until(
    progress: Progress, partitions: Collection[TopicPartition], without: Collection[TopicName]
) -> int:
    """The least watermark of earlier cuts of all partitions but those of the topics ``without``."""
    others = [place for place in partitions if place.topic not in without]
    return min((progress.watermarks.get(place, 0) for place in others), default=0)
