"""Filters of rows that leave out files, as pyiceberg plans a scan."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce

from pyiceberg.expressions import AlwaysFalse, BooleanExpression, In, Or

LITERALS = 200
"""With more of them in one predicate pyiceberg leaves out no file."""


def one_of(column: str, values: Collection[int]) -> BooleanExpression:
    """Whether ``column`` has one of ``values``, however many there are."""
    nothing: BooleanExpression = AlwaysFalse()
    in_order = sorted(values)
    parts = (in_order[at : at + LITERALS] for at in range(0, len(in_order), LITERALS))
    return reduce(Or, (In(term=column, literals=set(part)) for part in parts), nothing)
