"""One history per source and gate, through the real broker, Spark and Iceberg."""

from __future__ import annotations

from functools import partial

import pytest

from tests.simulate.check import run_history
from tests.simulate.engine import Engine
from tests.simulate.history import (
    Chunk,
    Commit,
    Deliver,
    DeliverAll,
    Expire,
    Flavour,
    Grow,
    History,
    Lose,
    Repeat,
    Restart,
    Rotate,
    Run,
    Truncate,
    Watermark,
    Write,
)
from tidemark.runs.world import World

BEFORE = (Commit((Write(0, 1, 10), Write(1, 1, 11), Write(1, 2, 12))),)
STEPS = (
    Deliver(0, 1),
    Run(),
    DeliverAll(),
    Commit((Write(0, 1, 20), Write(0, 2, 21), Write(1, 2, None))),
    Deliver(1, 2),
    Restart(1),
    Watermark(),
    Run(),
    Commit((Write(0, 2, None), Write(1, 2, 22))),
    Lose(),
    Run(),
    Truncate(0, (Write(0, 3, 30), Write(1, 1, None, moved_to=3))),
    Rotate(far=True),
    Grow(),
    Commit((Write(0, 1, 40), Write(0, 3, None)), early=True),
    Watermark(),
    Deliver(0, 4),
    Run(dies=True),
    Expire(0, 0),
    DeliverAll(),
    Run(limit=2),
    Chunk(0),
    Repeat(0, 3, 4),
    Run(),
    Truncate(1),
    Watermark(),
)


@pytest.mark.parametrize(
    "flavour",
    [pytest.param(Flavour.MYSQL, marks=pytest.mark.smoke), *list(Flavour)[1:]],
    ids=[flavour.name.lower() for flavour in Flavour],
)
def test_every_published_state_is_the_sources(flavour: Flavour, world: World) -> None:
    """The checks of a history raise; here they look at what Spark wrote and pyiceberg reads."""
    engine = partial(Engine, world=world, name=f"sim_{flavour.name.lower()}")
    cuts = run_history(History(flavour, 3, BEFORE, STEPS), engine)
    assert cuts >= len([step for step in STEPS if isinstance(step, Run) and not step.dies])
