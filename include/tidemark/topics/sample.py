"""Some records of topics: enough to know what is in them, however many there are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tidemark.model.names import TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.topics.client import Broker, TopicFacts


@dataclass(frozen=True, slots=True)
class Sample:
    """A record that was looked at; its headers are left out."""

    at: TopicPartition
    key: bytes | None
    value: bytes


@dataclass(frozen=True, slots=True)
class Samples:
    """Records of topics. offsets: how many each topic holds, an upper bound of its records."""

    facts: tuple[TopicFacts, ...]
    offsets: Mapping[TopicName, int]
    records: tuple[Sample, ...]


def read_samples(broker: Broker, topics: Collection[TopicName], most: int) -> Samples:
    """The first and the last records of each partition of ``topics``, ``most`` of them together.

    Tombstones are left out.
    """
    facts = broker.describe(topics)
    reach = broker.reach([place for topic in facts for place in topic.places])
    offsets = {topic.name: sum(reach[place].count for place in topic.places) for topic in facts}
    return Samples(facts, offsets, tuple(_read(broker, reach, most)))


def _read(
    broker: Broker, reach: Mapping[TopicPartition, OffsetRange], most: int
) -> Iterator[Sample]:
    half = most // 2
    firsts = {at: OffsetRange(s.start, min(s.end, s.start + half)) for at, s in reach.items()}
    lasts = {at: OffsetRange(max(firsts[at].end, s.end - half), s.end) for at, s in reach.items()}
    for ranges in (firsts, lasts):
        wanted = {place: span for place, span in ranges.items() if span.count}
        for message in broker.read(wanted) if wanted else ():
            key, value = message.key(), message.value()
            place = TopicPartition(TopicName(message.topic() or ""), message.partition() or 0)
            if isinstance(value, bytes):
                yield Sample(place, key if isinstance(key, bytes) else None, value)
