"""Some of the searched histories once more, through one broker and one Spark session."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from embedded.broker import running_broker
from tests.simulate.check import BrokenInvariantError, run_history
from tests.simulate.engine import Engine
from tests.simulate.history import History
from tests.simulate.search import Counterexample
from tests.support.stack import open_stack

JARS = Path(__file__).parents[2] / ".state" / "jars"


def find_in_engine(chosen: Iterable[History]) -> Counterexample | None:
    """The first of ``chosen`` that breaks something, as it is: to shorten it would take hours."""
    with (
        tempfile.TemporaryDirectory(prefix="simulate-") as state,
        running_broker(Path(state) / "broker", JARS) as servers,
    ):
        world = open_stack(Path(state), JARS, servers)
        try:
            for number, history in enumerate(chosen):
                engine = partial(Engine, world=world, name=f"sim_{number}")
                try:
                    cuts = run_history(history, engine)
                except BrokenInvariantError as error:
                    return Counterexample(history, str(error))
                print(f"engine {number}: {history.flavour}, {cuts} cuts", flush=True)
        finally:
            world.spark.stop()
    return None
