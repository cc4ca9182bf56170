"""A refold: a table is folded again from the changelog, beside the target that it has (REFOLD-1).

The new target takes every record of the table that was landed, up to where the old one stood as the
refold was ordered, so that the two can be compared. Then it takes the name of the old one, or stays
beside it, and the table goes on from there like one that stands lower than its pipeline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidemark.model.cut import Frontier, frontier_from_json, frontier_to_json
from tidemark.model.position import Position


@dataclass(frozen=True, slots=True)
class TableState:
    """What progress knows of one table.

    truncated, window_bound: as `Progress.truncated` and `Progress.window_bounds` have them; None
    where they have nothing. blocked: why it stays stopped, empty where it does not. landing: the
    newest that was gated as the table came to its frontier (GATE-3).
    """

    frontier: Frontier
    truncated: Position | None = None
    window_bound: Position | None = None
    blocked: str = ""
    landing: int = 0

    def to_json(self) -> dict[str, Any]:
        """As kept in the ledger."""
        return {
            "frontier": frontier_to_json(self.frontier),
            "truncated": self.truncated,
            "window_bound": self.window_bound,
            "blocked": self.blocked,
            "landing": self.landing,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> TableState:
        """The reverse of `to_json`."""
        return cls(**{**stored, "frontier": frontier_from_json(stored["frontier"])})


@dataclass(frozen=True, slots=True)
class Refold:
    """One table that is folded again.

    target: the name of the table that is made. until: how far it goes. replaces: then it takes the
    name of the table's own target. paused: the table as it goes on afterwards, or when the refold
    is cancelled. base: the cut whose state of the target it begins with; None where it begins with
    nothing (KEEP-1).
    """

    target: str
    until: Frontier
    replaces: bool
    paused: TableState
    base: int | None = None

    def to_json(self) -> dict[str, Any]:
        """As kept in the ledger."""
        return {
            "target": self.target,
            "until": frontier_to_json(self.until),
            "replaces": self.replaces,
            "paused": self.paused.to_json(),
            "base": self.base,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Refold:
        """The reverse of `to_json`."""
        return cls(
            stored["target"],
            frontier_from_json(stored["until"]),
            stored["replaces"],
            TableState.from_json(stored["paused"]),
            stored["base"],
        )
