"""Filters of rows that leave out files, as pyiceberg plans a scan."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce

from pyiceberg.expressions import (
    AlwaysFalse,
    And,
    BooleanExpression,
    GreaterThanOrEqual,
    In,
    LessThanOrEqual,
    Or,
)

LITERALS = 200
"""With more of them in one predicate pyiceberg leaves out no file."""


def one_of(column: str, values: Collection[int]) -> BooleanExpression:
    """Whether ``column`` has one of ``values``, however many there are."""
    nothing: BooleanExpression = AlwaysFalse()
    in_order = sorted(values)
    parts = (in_order[at : at + LITERALS] for at in range(0, len(in_order), LITERALS))
    return reduce(Or, (In(term=column, literals=set(part)) for part in parts), nothing)


def within(column: str, spans: Collection[tuple[int, int]]) -> BooleanExpression:
    """Whether ``column`` is in one of ``spans``, both ends of each included.

    Of many, the gaps between them are taken along.
    """
    joined = joined_spans(spans)
    if len(joined) > LITERALS:
        joined = [(joined[0][0], joined[-1][1])]
    parts = [
        And(GreaterThanOrEqual(term=column, value=low), LessThanOrEqual(term=column, value=high))
        for low, high in joined
    ]
    return Or(
        AlwaysFalse(), AlwaysFalse(), *parts
    )  # A tree: `reduce` nests too deep for pyiceberg.


def joined_spans(spans: Collection[tuple[int, int]]) -> list[tuple[int, int]]:
    """``spans`` in order, as one where they touch; those that hold nothing are dropped.

    >>> joined_spans([(7, 8), (1, 3), (3, 4), (5, 5), (9, 8)])
    [(1, 5), (7, 8)]
    """
    joined: list[tuple[int, int]] = []
    for low, high in sorted(span for span in spans if span[0] <= span[1]):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], high)
        else:
            joined.append((low, high))
    return joined
