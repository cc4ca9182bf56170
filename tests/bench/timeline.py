"""When the product logged what: the stages of a run, without a timer in the product."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog
from structlog.typing import EventDict, WrappedLogger


@dataclass(frozen=True, slots=True)
class Timeline:
    """A processor of structlog that keeps the times of events; only warnings go on to stderr."""

    events: list[tuple[str, float]] = field(default_factory=list)

    def __call__(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        """Note the event."""
        self.events.append((event["event"], time.perf_counter()))
        if method == "info":
            raise structlog.DropEvent
        return event

    def laps(self, began: float) -> Mapping[str, float]:
        """Seconds that led to each event since ``began``, by the event that ended them."""
        laps: dict[str, float] = {}
        for event, at in self.events:
            if at >= began:
                laps[event] = laps.get(event, 0.0) + at - began
                began = at
        return laps


def keep_timeline() -> Timeline:
    """Have everything that is logged from now on noted."""
    timeline = Timeline()
    structlog.configure(processors=[timeline, *structlog.get_config()["processors"]])
    return timeline
