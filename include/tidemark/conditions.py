"""Many conditions as one, for as many columns, partitions or tables as there may be.

Spark walks through an expression by recursion: a chain of four hundred ``|`` overflows the stack of
its analyzer. Here the depth is the logarithm of the number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import and_, or_

from pyspark.sql import Column
from pyspark.sql import functions as F


def any_of(conditions: Iterable[Column]) -> Column:
    """Whether one of ``conditions`` holds, with nulls as ``OR`` has them; false where none is."""
    return _balanced(or_, [*conditions], F.lit(False))


def all_of(conditions: Iterable[Column]) -> Column:
    """Whether all ``conditions`` hold, with nulls as ``AND`` has them; true where none is."""
    return _balanced(and_, [*conditions], F.lit(True))


def _balanced(
    join: Callable[[Column, Column], Column], conditions: list[Column], nothing: Column
) -> Column:
    if not conditions:
        return nothing
    if len(conditions) == 1:
        return conditions[0]
    half = len(conditions) // 2
    return join(
        _balanced(join, conditions[:half], nothing), _balanced(join, conditions[half:], nothing)
    )
