"""Whole histories, and faults that they must find; rules GATE, TRUNC, SNAP, DUP and ACC."""

from __future__ import annotations

import pytest

from tests.simulate.faults import FAULTS, Fault, planted
from tests.simulate.search import find, first_broken

HISTORIES = 2000
SEEDS = range(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_history_breaks_an_invariant(seed: int) -> None:
    found = find(HISTORIES // len(SEEDS), seed)
    assert found is None, str(found)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    with planted(fault):
        shares = (first_broken(HISTORIES // len(SEEDS), seed, fault.flavours) for seed in SEEDS)
        assert any(shares)
