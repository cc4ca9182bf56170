"""How the pending events of a table become one per key, as SQL that any engine reads alike."""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.model.checkpoint_status import INCREMENTAL_ROW
from tidemark.model.event import Op
from tidemark.model.position import (
    COMMIT_DIGITS,
    COMMIT_POSITION_DIGITS,
    EPOCH_DIGITS,
    LSN_RANK_AT,
    NUMBER_DIGITS,
    OFFSET_DIGITS,
    POSTGRES_DIGITS,
    RANK_DIGITS,
    CommitRank,
    Position,
)
from tidemark.model.summary import PLACE

_IN_COMMIT = (
    f"CASE WHEN length(position) = {COMMIT_POSITION_DIGITS} AND op = '{Op.DELETE}' "
    f"THEN substr(position, 1, {COMMIT_DIGITS - RANK_DIGITS}) || '{CommitRank.DELETE.value}' "
    f"|| substr(position, {COMMIT_DIGITS + 1}) ELSE position END"
)
"""A position; of TiCDC's the delete half of an update has the rank of a delete (POS-10, KEY-8)."""

NEWEST_FIRST = f"{_IN_COMMIT} DESC, part DESC, partition DESC"
"""The one order of a key's events (POS-13).

Total: the position ends in the offset, and the upsert half of one update comes after its delete
half (``part``), so arrival and redelivery cannot change a result.
"""


def newest_first(counts: str) -> str:
    """The order of a key's events, those that count before all others.

    counts: which do, as SQL that is never null. A row of an incremental snapshot that falls may be
    the newest of its key (SNAP-7); chosen first, it would take the streamed change below it along.
    """
    return f"({counts}) DESC, {NEWEST_FIRST}"


EVENT_ID = (
    f"CASE length(position) WHEN {EPOCH_DIGITS + OFFSET_DIGITS} THEN position "
    f"WHEN {POSTGRES_DIGITS} THEN substr(position, 1, {EPOCH_DIGITS}) "
    f"|| substr(position, {LSN_RANK_AT + RANK_DIGITS + 1}, {NUMBER_DIGITS}) "
    f"WHEN {COMMIT_POSITION_DIGITS} THEN substr(position, 1, {COMMIT_DIGITS}) ELSE {PLACE} END"
)
"""What the two halves of a key change share, and all copies of them (KEY-6, KEY-7).

Its place; in PostgreSQL its LSN alone, as copies may know another commit (POS-9); of TiCDC its
commitTs and rank, as copies may come by another partition (GATE-W8). Where the offset is all the
order there is, only the halves of one record share it.
"""


def above_truncate(truncated_at: Position | None, window_bound: Position | None = None) -> str:
    """Which events a truncate leaves: those above its position, whenever they came (TRUNC-2).

    window_bound: below it, rows of an incremental snapshot may have been read before the truncate
    (SNAP-7, `gate.window_bound`).
    """
    if truncated_at is None:
        return "TRUE"
    return f"position > '{truncated_at}' AND {was_read_behind(window_bound)}"


def was_read_behind(window_bound: Position | None) -> str:
    """Which events are no rows of an incremental snapshot that fall; null is none of them."""
    if window_bound is None:
        return "TRUE"
    return f"NOT coalesce({INCREMENTAL_ROW} AND position < '{window_bound}', FALSE)"


def not_ended_before(
    ended_before: Position | None, truncated_at: Position | None, window_bound: Position | None
) -> str:
    """Which events count where the target keeps what truncates of the cut ended (TRUNC-12).

    ended_before: the newest truncate of earlier cuts. What is read below it comes too late to be
    told from what it ended (TRUNC-3). truncated_at: the newest of all; guard: as above.
    """
    is_above = above_truncate(ended_before)
    if truncated_at is None or window_bound is None:
        return is_above
    above_newest = above_truncate(truncated_at, window_bound)
    return f"{is_above} AND (position <= '{truncated_at}' OR {above_newest})"


def new_truncate(truncates: Iterable[Position], before: Position | None) -> Position | None:
    """The newest of ``truncates``, those of a cut, if it is newer than ``before`` (TRUNC-3).

    One that is sent again stands at the same place with another offset, and is not newer. Where
    the offset is all the order there is, it is a new one, and so is what was behind it.
    """
    newest = max(truncates, default=None)
    if newest is None or (before is not None and _place(newest) <= _place(before)):
        return None
    return newest


def _place(position: Position) -> str:
    has_place = len(position) > EPOCH_DIGITS + OFFSET_DIGITS
    return position[:-OFFSET_DIGITS] if has_place else position
