"""The last record that was landed of a partition, to be known again at the next start (TOP-5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Where a record stands, its timestamp, and a digest of its key, value and headers."""

    offset: int
    time_ms: int
    digest: str


Fingerprints = Mapping[TopicPartition, Fingerprint]


def fingerprints_to_json(fingerprints: Fingerprints) -> list[list[Any]]:
    """As kept in the summary of a changelog snapshot."""
    return [
        [place.topic, place.partition, fingerprint.offset, fingerprint.time_ms, fingerprint.digest]
        for place, fingerprint in sorted(fingerprints.items(), key=lambda item: item[0])
    ]


def fingerprints_from_json(stored: Sequence[Sequence[Any]]) -> dict[TopicPartition, Fingerprint]:
    """The reverse of `fingerprints_to_json`."""
    return {
        TopicPartition(TopicName(topic), partition): Fingerprint(offset, time_ms, digest)
        for topic, partition, offset, time_ms, digest in stored
    }
