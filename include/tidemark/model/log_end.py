"""Where the published log ends: what stands below came again, or shows another log (POS-16)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place

SECOND_MS = 1_000


@dataclass(frozen=True, slots=True)
class LogEnd:
    """How far a log is published.

    reached, streamed: as a frontier has them. newest_ms: source time of all that was streamed.
    read_ms: when the newest row of a snapshot of the source was read. What such a snapshot is ahead
    of comes behind its rows, and is no newer than these; connectors tell their time in seconds.
    """

    reached: Mapping[TopicPartition, Place]
    streamed: Mapping[TopicPartition, Place]
    newest_ms: int
    read_ms: int = 0

    def top_of(self, at: TopicPartition) -> Place:
        """Below it, what is newer than all that was streamed shows another log."""
        return self.streamed.get(at, Place(""))

    def read_of(self, at: TopicPartition) -> Place:
        """Below it, what is newer than `read_until_ms`, too, shows another log."""
        return self.reached.get(at, Place(""))

    @property
    def read_until_ms(self) -> int:
        """The end of the second in which the newest row of a snapshot was read."""
        return (self.read_ms // SECOND_MS + 1) * SECOND_MS - 1
