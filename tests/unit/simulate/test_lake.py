"""Interleavings of cuts with maintenance, and faults that they must find; PUB-8, PUB-11, PUB-12."""

from __future__ import annotations

import pytest

from tests.simulate.lake.faults import FAULTS, Fault, planted
from tests.simulate.lake.search import find

INTERLEAVINGS = 400
SEEDS = range(2)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_interleaving_breaks_a_promise(seed: int) -> None:
    broken = find(INTERLEAVINGS, 1 + seed * INTERLEAVINGS)
    assert broken is None, broken


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_seen(fault: Fault) -> None:
    with planted(fault):
        assert find(INTERLEAVINGS, fault.seed) is not None
