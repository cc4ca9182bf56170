"""Real databases by real connectors: published tables are what the source selects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.corpus.cases import find_cases
from tests.corpus.run import Options, run_case
from tests.live.record import KINDS, record
from tests.live.worker import Worker
from tidemark.runs.world import World

STEPS = 30
WAYS = {
    "as_sent": Options(),
    "again": Options(more_cuts=8, redeliver=True, kills=2),
    "ungated": Options(more_cuts=8, redeliver=True, ungated=True, partitions=3, kills=1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_targets_are_what_the_source_selects(
    world: World, worker: Worker, tmp_path: Path, kind: str, seed: int
) -> None:
    """Of every table at every stage, however the cuts fall and whatever comes again."""
    record(kind, seed, STEPS, worker, tmp_path / kind)
    (case,) = find_cases([tmp_path])
    for way, options in WAYS.items():
        outcome = run_case(
            case, f"{kind}_{seed}_{way}".replace("-", "_"), world, replace(options, seed=seed)
        )
        assert outcome.faults == (), f"{way}: the recording is in {tmp_path / kind}"
