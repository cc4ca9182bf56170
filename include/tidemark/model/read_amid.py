"""What snapshots amid the stream of PostgreSQL may hold of what comes behind them (SNAP-10).

Their rows know the commit up to which the connector had streamed, and stand there. What was
committed between it and the reading of the table is in them, and is streamed once more, above them.
A row with a key ends as its newest change has it; one without is there twice. The LSN of the rows
is the end of the log as the table was read: what was written from there on they do not hold, nor
what stands behind a commit from there on.

A connector that created its slot writes that slot's LSN instead, which is below the commit: then
nothing shows where the table was read. Rows of a new connector stand at their LSN, and what it
streams comes behind them, so that they overtake nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.model.position import (
    EPOCH_DIGITS,
    LSN_RANK_AT,
    NUMBER_DIGITS,
    OFFSET_DIGITS,
    POSTGRES_DIGITS,
    RANK_DIGITS,
    Place,
)
from tidemark.model.summary import PLACE

_LSN_AT = LSN_RANK_AT + RANK_DIGITS
_COMMIT = f"substr(position, {EPOCH_DIGITS + 1}, {NUMBER_DIGITS})"
_LSN = f"substr(position, {_LSN_AT + 1}, {NUMBER_DIGITS})"
_IS_POSTGRES = f"length(position) = {POSTGRES_DIGITS}"

STANDS_BELOW_ITS_LSN = f"{_IS_POSTGRES} AND {_COMMIT} <> {_LSN}"
"""Of a row that a snapshot has read: it was read amid the stream, and overtook some of that."""


def is_unplaced(read: Place) -> bool:
    """Whether nothing shows where in the log the rows at ``read`` were read."""
    return _lsn(read) < _commit(read)


def may_hold(read: Place, lowest: Place) -> bool:
    """Whether snapshots up to ``read`` may hold what was streamed at ``lowest`` or above."""
    if len(read) + OFFSET_DIGITS != POSTGRES_DIGITS:
        return False
    return is_unplaced(read) or _commit(lowest) < _lsn(read)


def may_be_held(reads: Iterable[Place]) -> str:
    """Whether snapshots at ``reads`` may hold a change, as SQL over ``position`` and ``snapshot``.

    They do hold what stands below them.
    """
    held = " OR ".join(
        f"(substr(position, 1, {EPOCH_DIGITS}) = '{read[:EPOCH_DIGITS]}' AND {PLACE} > '{read}' "
        f"AND {_COMMIT} < '{_lsn(read)}' AND {_LSN} < '{_lsn(read)}')"
        for read in reads
    )
    return f"({_IS_POSTGRES} AND snapshot IS NULL AND ({held or 'FALSE'}))"


def _commit(place: Place) -> str:
    return place[EPOCH_DIGITS:LSN_RANK_AT]


def _lsn(place: Place) -> str:
    return place[_LSN_AT:]
