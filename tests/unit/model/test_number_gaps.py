"""Numbers of transactions that have not come (GATE-T9)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.model.number_gaps import MOST_GAPS, Gaps, gaps_after, is_in


def gaps_of(numbers: Sequence[int]) -> Gaps:
    gaps, highest = Gaps(), 0
    for number in numbers:
        gaps, highest = gaps_after(gaps, highest, number), max(highest, number)
    return gaps


@given(st.lists(st.integers(1, 30), min_size=1))
def test_gaps_hold_all_that_has_not_come(numbers: Sequence[int]) -> None:
    gaps = gaps_of(numbers)
    missing = set(range(1, max(numbers))) - set(numbers)
    assert {number for number in range(40) if is_in(gaps, number)} == missing
    assert list(gaps) == sorted(gaps)


@pytest.mark.parametrize("gap", [2, 1_000_000])
def test_of_too_many_gaps_the_narrowest_are_forgotten(gap: int) -> None:
    """A block that another server takes its numbers from stays open."""
    first = gap + 1
    gaps = gaps_of([first, *(first + 2 * number for number in range(1, MOST_GAPS + 9))])
    assert len(gaps) == MOST_GAPS
    assert gaps[0] == (1, gap)
