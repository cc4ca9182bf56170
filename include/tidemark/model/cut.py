"""Frontier, cut and hold: how far a pipeline is published, may go next, and why not further."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place


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
    offsets: with gate ``none``, per partition the next offset that is not.
    reached: with gate ``none``, per partition the greatest place that is published; what comes
    below it in its own partition was sent again (POS-20).
    """

    commit_ts: int = 0
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    reached: Mapping[TopicPartition, Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cut:
    """What one run publishes: everything from the old frontier up to ``frontier``.

    hold: why it ends there when records above it are waiting; None when nothing waits.
    """

    number: int
    mode: GateMode
    frontier: Frontier
    hold: Hold | None = None
