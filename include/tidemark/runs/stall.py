"""How long a cut has gone no further for one reason; age alarms, and never releases (GATE-7)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from tidemark.errors import GateStalledError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.history import History, read_history
from tidemark.log import get_logger
from tidemark.model.cut import HoldCode
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec, WhenStalled

log = get_logger()

WAITS_FOR_NOTHING = ("", HoldCode.IDLE, HoldCode.UNTIL)
MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Stall:
    """A hold that lasts: its sentence, and for how many milliseconds it has been the same."""

    hold: str
    age_ms: int


def stall_of(pipeline: PipelineSpec, history: History, now_ms: int) -> Stall | None:
    """The hold that keeps the newest cuts at one place for too long; None when none does."""
    newest = history.published
    if newest is None:
        return None
    if newest.result.hold_code in WAITS_FOR_NOTHING:
        return None
    age_ms = now_ms - history.held_since(newest)
    is_long = age_ms > pipeline.limits.stalled_after * MINUTE_MS
    return Stall(newest.result.hold, age_ms) if is_long else None


def tell_stall(pipeline: PipelineSpec, world: World) -> None:
    """Say that a hold lasts too long, or raise `GateStalledError` where the file wants that."""
    history = read_history(world.catalog, SystemTables.of(pipeline.name))
    stall = stall_of(pipeline, history, int(datetime.now(UTC).timestamp() * 1000))
    if stall is None:
        return
    minutes = stall.age_ms // MINUTE_MS
    log.warning("gate_stalled", pipeline=pipeline.name, minutes=minutes, hold=stall.hold)
    if pipeline.limits.when_stalled is WhenStalled.FAIL:
        raise GateStalledError(
            f"the cuts of pipeline {pipeline.name} have gone no further for {minutes} minutes: "
            f"{stall.hold}",
            state="what was complete is published; the rest waits, and nothing of it is lost",
            next_step=f"tidemark status {pipeline.name}",
        )
