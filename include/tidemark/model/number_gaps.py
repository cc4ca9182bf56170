"""Numbers of transactions that have not come, though greater ones of their domain have.

GTIDs rise by one within a server, yet not in its binlog: members of a group take them from blocks
of their own, replicas apply some side by side, and a schema change has one of which nothing is
sent. Source of the rule: GATE-T9 in docs/concepts.md.
"""

from __future__ import annotations

Gaps = tuple[tuple[int, int], ...]
"""First and last number of each gap, in their order."""

MOST_GAPS = 100
"""Of more the narrowest are forgotten: most are schema changes, of which nothing will come."""


def is_in(gaps: Gaps, number: int) -> bool:
    """Whether ``number`` has not come."""
    return any(first <= number <= last for first, last in gaps)


def gaps_after(gaps: Gaps, highest: int, number: int) -> Gaps:
    """``gaps`` once ``number`` has come; highest: the greatest that came before, 0 when none did.

    >>> gaps_after((), 3, 6), gaps_after(((4, 5),), 6, 4)
    (((4, 5),), ((5, 5),))
    """
    if number > highest:
        left = [*gaps, (highest + 1, number - 1)]
    else:
        left = []
        for first, last in gaps:
            left += [(first, min(last, number - 1)), (max(first, number + 1), last)]
    left = [(first, last) for first, last in left if first <= last]
    while len(left) > MOST_GAPS:
        left.remove(min(left, key=lambda gap: (gap[1] - gap[0], gap[0])))
    return tuple(left)
