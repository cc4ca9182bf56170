"""The last record that was landed of a partition, to be known again at the next start (TOP-5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition


@dataclass(frozen=True, slots=True)
class Tail:
    """Where a record stands, its timestamp, and a digest of its key, value and headers."""

    offset: int
    time_ms: int
    digest: str


Tails = Mapping[TopicPartition, Tail]


def tails_to_json(tails: Tails) -> list[list[Any]]:
    """As kept in the summary of a changelog snapshot."""
    return [
        [place.topic, place.partition, tail.offset, tail.time_ms, tail.digest]
        for place, tail in sorted(tails.items(), key=lambda item: item[0])
    ]


def tails_from_json(kept: Sequence[Sequence[Any]]) -> dict[TopicPartition, Tail]:
    """The reverse of `tails_to_json`."""
    return {
        TopicPartition(TopicName(topic), partition): Tail(offset, time_ms, digest)
        for topic, partition, offset, time_ms, digest in kept
    }
