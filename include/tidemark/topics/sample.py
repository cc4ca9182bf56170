"""Some records of topics: enough to know what is in them, however many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidemark.model.names import TopicName
from tidemark.model.offsets import OffsetRange, Ranges, TopicPartition
from tidemark.topics.client import Broker, TopicFacts

FEWEST = 100
"""Records of a partition that are looked at, however many partitions there are."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A record that was looked at; its headers are left out."""

    at: TopicPartition
    key: bytes | None
    value: bytes


@dataclass(frozen=True, slots=True)
class Samples:
    """Records of topics. offsets: how many each topic holds, an upper bound of its records.

    shortened: topics of which not all are among ``records``, which are read as they are asked for.
    """

    facts: tuple[TopicFacts, ...]
    offsets: Mapping[TopicName, int]
    records: Iterable[Sample]
    shortened: frozenset[TopicName] = frozenset()


def read_samples(broker: Broker, topics: Collection[TopicName], most: int) -> Samples:
    """The first and the last records of each partition of ``topics``, ``most`` of each topic.

    Of many partitions FEWEST each. Tombstones are left out.
    """
    facts = broker.describe(topics)
    reach = broker.reach([place for topic in facts for place in topic.places])
    offsets = {topic.name: sum(reach[place].count for place in topic.places) for topic in facts}
    ends = ends_of(reach, most)
    firsts, lasts = ends
    shortened = {at.topic for at in reach if firsts[at].end < lasts[at].start}
    return Samples(facts, offsets, _read(broker, ends), frozenset(shortened))


def ends_of(reach: Ranges, most: int) -> tuple[Ranges, Ranges]:
    """The first offsets of each partition, and the last: ``most`` of a topic, or FEWEST of each."""
    partitions = Counter(at.topic for at in reach)
    halves = {topic: max(most // count, FEWEST) // 2 for topic, count in partitions.items()}
    firsts = {
        at: OffsetRange(span.start, min(span.end, span.start + halves[at.topic]))
        for at, span in reach.items()
    }
    lasts = {
        at: OffsetRange(max(firsts[at].end, span.end - halves[at.topic]), span.end)
        for at, span in reach.items()
    }
    return firsts, lasts


def _read(broker: Broker, ends: Iterable[Ranges]) -> Iterator[Sample]:
    for ranges in ends:
        wanted = {place: span for place, span in ranges.items() if span.count}
        for message in broker.read(wanted) if wanted else ():
            key, value = message.key(), message.value()
            place = TopicPartition(TopicName(message.topic() or ""), message.partition() or 0)
            if isinstance(value, bytes):
                yield Sample(place, key if isinstance(key, bytes) else None, value)
