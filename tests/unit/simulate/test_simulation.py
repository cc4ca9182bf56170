"""Whole histories, and faults that they must find; rules GATE, TRUNC, SNAP, DUP and ACC."""

from __future__ import annotations

import pytest

from tests.simulate.check import run_history
from tests.simulate.faults import FAULTS, Fault, planted
from tests.simulate.history import (
    Chunk,
    Commit,
    DeliverAll,
    Flavour,
    Grow,
    History,
    Repeat,
    Run,
    Write,
)
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
        seeds = (fault.seed, *SEEDS)
        shares = (first_broken(HISTORIES // len(SEEDS), seed, drawn) for seed in seeds)
        assert any(shares)


@pytest.mark.parametrize("flavour", [Flavour.MYSQL_UNGATED, Flavour.POSTGRES_UNGATED])
@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("start", range(4))
def test_a_chunk_that_comes_again_brings_no_row_back(
    flavour: Flavour, beside: bool, start: int
) -> None:
    """POS-20, SNAP-9: its key moved to an added partition, and was deleted there.

    beside: the chunk stands beside a change of its partition, and not of another table's.
    """
    other = () if beside else (Commit((Write(1, 1, 3),)),)
    history = History(
        flavour,
        1,
        (),
        (
            *(Commit((Write(0, 1, 5),)), *other, Chunk(0), DeliverAll(), Run(), Grow()),
            *(Commit((Write(0, 1, None),)), DeliverAll(), Run(), Repeat(0, start, 2), Run()),
        ),
    )
    assert run_history(history)


def test_no_capped_history_breaks_an_invariant() -> None:
    found = find(CAPPED, 0, histories([f for f in Flavour if f is not Flavour.BY_OFFSET], capped))
    assert found is None, str(found)


def test_no_history_with_statements_breaks_an_invariant() -> None:
    """SCHEMA-11, GATE-T2: a cut that ends inside of a transaction is gone on from."""
    gated = (Flavour.MYSQL, Flavour.MARIADB, Flavour.POSTGRES)
    found = find(ENDED, 0, histories(gated, ended))
    assert found is None, str(found)
