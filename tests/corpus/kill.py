"""Runs that are killed somewhere on their way."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from tests.support.killed import run_killed
from tidemark.model.names import AttemptId
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

MOST_LINES = 4
"""Fewer than a run logs, most of the time."""
MOST_SECONDS = 3.0
"""About what a run needs from one line to the next."""


def kill_somewhere(
    pipeline: PipelineSpec, world: World, attempt: AttemptId, rng: random.Random
) -> bool:
    """Kill the job of a cut at a random line of its log, or some seconds behind it.

    False when it had come to its end before.
    """
    left = rng.randrange(MOST_LINES)

    def is_last(_: str) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    with tempfile.TemporaryDirectory() as folder:
        seconds = rng.uniform(0, MOST_SECONDS)
        return run_killed(pipeline, world, Path(folder), attempt, is_last, seconds).was_killed
