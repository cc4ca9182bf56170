"""Frontier, cut and hold: how far a pipeline is published, may go next, and why not further."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tidemark.model.number_gaps import Gaps
from tidemark.model.offsets import TopicPartition, offsets_from_json, offsets_to_json
from tidemark.model.position import Place, commit_bound, millis_of


class GateMode(StrEnum):
    """The rule that says how far a stream is complete (GATE-1)."""

    WATERMARK = "watermark"
    TRANSACTION = "transaction"
    NONE = "none"


class HoldCode(StrEnum):
    """Why a cut goes no further (GATE-O3)."""

    IDLE = "IDLE"
    GATE_NO_WATERMARK = "GATE_NO_WATERMARK"
    GATE_STALLED = "GATE_STALLED"
    TX_INCOMPLETE = "TX_INCOMPLETE"
    TX_UNPROVABLE = "TX_UNPROVABLE"
    SNAPSHOT_OPEN = "SNAPSHOT_OPEN"
    PARTITIONS_ADDED = "PARTITIONS_ADDED"
    UNTIL = "UNTIL"


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a cut goes no further: a code for machines, a sentence for the person on call."""

    code: HoldCode
    sentence: str


@dataclass(frozen=True, slots=True)
class Frontier:
    """Everything below it is published.

    commit_ts: with gate ``watermark``, strictly below which commits are published.
    bound: with gate ``transaction``, below which positions are.
    time_ms: with gate ``transaction``, source time of the newest transaction below it.
    numbers: with gate ``transaction``, per domain of transaction ids the greatest below it.
    gaps: with gate ``transaction``, per domain of GTIDs the smaller ones that are not below it.
    offsets: with gate ``none``, per partition the next offset that is not published; with gate
    ``transaction``, of the transaction topic alone.
    split: with gate ``transaction``, per transaction that is complete and of which a part is below
    ``bound``, the offset behind its END.
    reached: per partition the greatest place that is published; streamed: likewise, of what was
    streamed, which a snapshot of the source may be ahead of. What comes below it in its own
    partition was sent again (POS-20). read_at: where the newest such snapshot stands that is
    published. Not with gate ``watermark``.
    """

    commit_ts: int = 0
    bound: str = ""
    time_ms: int = 0
    numbers: Mapping[str, int] = field(default_factory=dict)
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    reached: Mapping[TopicPartition, Place] = field(default_factory=dict)
    split: Mapping[str, int] = field(default_factory=dict)
    gaps: Mapping[str, Gaps] = field(default_factory=dict)
    streamed: Mapping[TopicPartition, Place] = field(default_factory=dict)
    read_at: Place = Place("")

    def bound_in(self, mode: GateMode) -> str:
        """The text that the positions below it are smaller than; empty when nothing is."""
        return commit_bound(self.commit_ts) if mode is GateMode.WATERMARK else self.bound

    @property
    def trails_snapshot(self) -> bool:
        """A snapshot amid the stream is published that the stream has not come up to (SNAP-10)."""
        return max(self.streamed.values(), default="") < self.read_at

    @property
    def complete_until_ms(self) -> int:
        """Source time up to which the tables are complete; 0 when the gate tells none."""
        return millis_of(self.commit_ts) or self.time_ms


def frontier_to_json(frontier: Frontier) -> dict[str, Any]:
    """As kept in the ledger."""
    return {
        "commit_ts": frontier.commit_ts,
        "bound": frontier.bound,
        "time_ms": frontier.time_ms,
        "numbers": dict(sorted(frontier.numbers.items())),
        "offsets": offsets_to_json(frontier.offsets),
        "reached": _places_to_json(frontier.reached),
        "streamed": _places_to_json(frontier.streamed),
        "read_at": frontier.read_at,
        "split": dict(sorted(frontier.split.items())),
        "gaps": {domain: list(map(list, gaps)) for domain, gaps in sorted(frontier.gaps.items())},
    }


def frontier_from_json(stored: Mapping[str, Any]) -> Frontier:
    """The reverse of `frontier_to_json`."""
    return Frontier(
        commit_ts=stored["commit_ts"],
        bound=stored["bound"],
        time_ms=stored["time_ms"],
        numbers=stored["numbers"],
        offsets=offsets_from_json(stored["offsets"]),
        reached=_places_from_json(stored["reached"]),
        streamed=_places_from_json(stored["streamed"]),
        read_at=stored["read_at"],
        split=stored["split"],
        gaps={
            domain: tuple((first, last) for first, last in gaps)
            for domain, gaps in stored["gaps"].items()
        },
    )


def _places_to_json(places: Mapping[TopicPartition, Place]) -> list[list[Any]]:
    return [[at.topic, at.partition, place] for at, place in sorted(places.items())]


def _places_from_json(stored: Sequence[Sequence[Any]]) -> dict[TopicPartition, Place]:
    return {TopicPartition(topic, number): place for topic, number, place in stored}


@dataclass(frozen=True, slots=True)
class Cut:
    """What one run publishes: everything from the old frontier up to ``frontier``.

    hold: why it ends there when records above it are waiting; None when nothing waits. opened:
    places of snapshots that are below it and under way. void: of those that were broken off, and
    which a later one has replaced (TOP-7). skipped: keys of transactions that a person gave up ->
    tables that they changed (GATE-T8).
    """

    number: int
    mode: GateMode
    frontier: Frontier
    hold: Hold | None = None
    void: tuple[Place, ...] = ()
    skipped: Mapping[str, frozenset[str]] = field(default_factory=dict)
    opened: tuple[Place, ...] = ()
