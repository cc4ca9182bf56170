"""Whole histories, and faults that they must find; rules GATE, TRUNC, SNAP, DUP and ACC."""

from __future__ import annotations

import pytest

from tests.simulate.faults import FAULTS, Fault, planted
from tests.simulate.history import Flavour
from tests.simulate.search import find, first_broken
from tests.simulate.shapes import capped, ended, histories

HISTORIES = 2000
CAPPED = 500
ENDED = 300
SEEDS = range(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_history_breaks_an_invariant(seed: int) -> None:
    found = find(HISTORIES // len(SEEDS), seed)
    assert found is None, str(found)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    with planted(fault):
        drawn = histories(fault.flavours, fault.shape)
        shares = (first_broken(HISTORIES // len(SEEDS), seed, drawn) for seed in SEEDS)
        assert any(shares)


def test_no_capped_history_breaks_an_invariant() -> None:
    found = find(CAPPED, 0, histories([f for f in Flavour if f is not Flavour.BY_OFFSET], capped))
    assert found is None, str(found)


def test_no_history_with_statements_breaks_an_invariant() -> None:
    """SCHEMA-11, GATE-T2: a cut that ends inside of a transaction is gone on from."""
    gated = (Flavour.MYSQL, Flavour.MARIADB, Flavour.POSTGRES)
    found = find(ENDED, 0, histories(gated, ended))
    assert found is None, str(found)
