"""What a measure says: a value with its unit, every sample behind it, and the target beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """The bound that a value must keep; one of the two is set."""

    at_least: float | None = None
    at_most: float | None = None

    def is_met(self, value: float) -> bool:
        """Whether ``value`` keeps it."""
        return (self.at_least is None or value >= self.at_least) and (
            self.at_most is None or value <= self.at_most
        )

    def __str__(self) -> str:
        return f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a benchmark; samples: what its value is the median of, round by round."""

    benchmark: str
    name: str
    unit: str
    samples: tuple[float, ...]
    target: Target | None = None

    @property
    def value(self) -> float:
        """The median of the samples."""
        return median(self.samples)

    def is_met(self, scale: float) -> bool | None:
        """Whether the target is kept; None without one, and at a scale that it is not meant for."""
        return self.target.is_met(self.value) if self.target and scale == 1 else None


def ratio(over: Sequence[float], under: Sequence[float]) -> tuple[float, ...]:
    """Round by round, so that what slows the machine down for a while slows both."""
    return tuple(a / b for a, b in zip(over, under, strict=True))
