"""Topic partitions and half-open ranges of offsets; ``end`` is always the next offset."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tidemark.model.names import TopicName


@dataclass(frozen=True, order=True, slots=True)
class TopicPartition:
    """One partition of one topic."""

    topic: TopicName
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets from ``start`` up to, not including, ``end``."""

    start: int
    end: int

    @property
    def count(self) -> int:
        """How many offsets; an upper bound of the records, as offsets may have gaps (TOP-6)."""
        return self.end - self.start


Offsets = Mapping[TopicPartition, int]
Ranges = Mapping[TopicPartition, OffsetRange]


def offsets_to_json(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """``{topic: {partition: number}}``, sorted, as Kafka's own tools write it."""
    nested: dict[str, dict[str, int]] = {}
    for place in sorted(offsets):
        nested.setdefault(place.topic, {})[str(place.partition)] = offsets[place]
    return nested


def offsets_from_json(nested: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """The reverse of `offsets_to_json`."""
    return {
        TopicPartition(TopicName(topic), int(partition)): number
        for topic, partitions in nested.items()
        for partition, number in partitions.items()
    }


def limit_ranges(
    ranges: Ranges, max_records: int, whole: Collection[TopicName] = ()
) -> dict[TopicPartition, OffsetRange]:
    """Shorten ``ranges`` to at most ``max_records`` offsets, each in proportion to its length.

    Every partition that has records keeps at least one, so none starves. whole: topics that are not
    shortened; the others share what is left.
    """
    total = sum(span.count for span in ranges.values())
    if total <= max_records:
        return dict(ranges)
    rest = sum(span.count for place, span in ranges.items() if place.topic not in whole)
    left = max(0, max_records - (total - rest))
    return {
        place: span
        if place.topic in whole
        else OffsetRange(
            span.start, span.start + min(span.count, max(1, span.count * left // max(1, rest)))
        )
        for place, span in ranges.items()
    }


def split_ranges(ranges: Ranges, size: int) -> Iterator[dict[TopicPartition, OffsetRange]]:
    """``ranges`` in parts of about ``size`` offsets, half as many more at most.

    Partitions stay whole where they can: records of one row stand in one of them. What is empty is
    in no part.

    >>> place = TopicPartition(TopicName("t"), 0)
    >>> [part[place] for part in split_ranges({place: OffsetRange(0, 5)}, 3)]
    [OffsetRange(start=0, end=2), OffsetRange(start=2, end=5)]
    >>> [part[place] for part in split_ranges({place: OffsetRange(0, 5)}, 4)]
    [OffsetRange(start=0, end=5)]
    """
    part: dict[TopicPartition, OffsetRange] = {}
    for place, span in sorted(ranges.items()):
        there = sum(other.count for other in part.values())
        if part and there + span.count > size:
            yield part
            part = {}
        pieces = max(1, round(span.count / size))
        bounds = [span.start + span.count * number // pieces for number in range(pieces + 1)]
        *whole, last = itertools.starmap(OffsetRange, itertools.pairwise(bounds))
        yield from ({place: piece} for piece in whole)
        if last.count:
            part[place] = last
    if part:
        yield part
