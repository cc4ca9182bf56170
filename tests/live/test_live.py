"""Real databases by real connectors: published tables are what the source selects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.cases import find_cases
from tests.corpus.run import Options, run_case
from tests.live.record import KINDS, record
from tests.live.worker import Worker
from tidemark.runs.world import World

STEPS = 30


@pytest.mark.parametrize("kind", KINDS)
def test_targets_are_what_the_source_selects(
    world: World, worker: Worker, tmp_path: Path, kind: str, seed: int
) -> None:
    """Of every table at every stage, however the cuts fall and whatever comes again."""
    record(kind, seed, STEPS, worker, tmp_path / kind)
    (case,) = find_cases([tmp_path])
    for more_cuts in (0, 8):
        options = Options(more_cuts=more_cuts, redeliver=more_cuts > 0, seed=seed)
        outcome = run_case(case, f"{kind}-{seed}-{more_cuts}".replace("-", "_"), world, options)
        assert outcome.faults == (), f"the recording is in {tmp_path / kind}"
