"""How changes of a table without a key find their rows, as SQL that any engine reads alike.

Rows that are equal in all columns cannot be told apart, so what counts is how many of them there
are, and at which positions they stand. The rows of one such *group* are a stack in the source's
order: an insert puts one on top, and a delete takes away the topmost, which is the newest row
below it (KEY-15). So a delete is never paid with a row that a truncate or a new snapshot ends, as
long as there is one above (TRUNC-2, SNAP-6), also when that truncate is read later.

A snapshot says of a row only that it is there. So what it reads takes over a row that was there
before its *scan*, which then stands at the scan's place, and is a new row where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from tidemark.model.event import Op
from tidemark.model.position import (
    BINLOG_DIGITS,
    BINLOG_RANK_AT,
    LSN_RANK_AT,
    POSTGRES_DIGITS,
    SnapshotRank,
)
from tidemark.model.summary import PLACE


class Step(StrEnum):
    """What happens to a group: a row of the target stands, one is inserted, read, or deleted."""

    STORED = "stored"
    INSERT = "insert"
    READ = "read"
    DELETE = "delete"


_IS_SCANNED = (
    f"CASE length(position) WHEN {BINLOG_DIGITS} THEN substr(position, {BINLOG_RANK_AT + 1}, 1) "
    f"WHEN {POSTGRES_DIGITS} THEN substr(position, {LSN_RANK_AT + 1}, 1) END "
    f"= '{SnapshotRank.SNAPSHOT.value}'"
)
SNAPSHOT_PASS = f"CASE WHEN {_IS_SCANNED} THEN {PLACE} || '/' || scans END"
"""The scan that read a row; null of a row that was streamed, or that has nothing but its offset.

snapshot_passes: how many scans had begun or ended below its position.
"""

STEP = (
    f"CASE WHEN op = '{Op.DELETE}' THEN '{Step.DELETE}' "
    f"WHEN scan IS NOT NULL THEN '{Step.READ}' ELSE '{Step.INSERT}' END"
)
"""The step of a change."""

_GROUP = "PARTITION BY equal_hash, equal"
_ORDER = "ORDER BY position, part, row_id"
_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_BEFORE = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
_AFTER = "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING"
_IS_READ = f"step = '{Step.READ}'"
_LIFE = "PARTITION BY equal_hash, equal, level, life"
_LATEST = "ORDER BY position DESC, part DESC, row_id DESC"

MATCHING: tuple[Mapping[str, str], ...] = (
    # What all steps but reads add up to; of the rows of one scan those that stood already, and all.
    {
        "net": f"sum(CASE step WHEN '{Step.DELETE}' THEN -1 WHEN '{Step.READ}' THEN 0 ELSE 1 END) "
        f"OVER ({_GROUP} {_ORDER} {_SO_FAR})",
        "scanned": f"count(*) OVER ({_GROUP}, scan)",
        "stood": f"sum(CASE WHEN {_IS_READ} THEN 0 ELSE 1 END) OVER ({_GROUP}, scan)",
        "nth": f"sum(CASE WHEN {_IS_READ} THEN 1 ELSE 0 END) "
        f"OVER ({_GROUP}, scan {_ORDER} {_SO_FAR})",
    },
    # After a scan there are at least as many rows as it has read.
    {
        "raised": f"max(CASE WHEN {_IS_READ} THEN scanned - net ELSE 0 END) "
        f"OVER ({_GROUP} {_ORDER} {_SO_FAR})",
        "raised_before": f"coalesce(max(CASE WHEN {_IS_READ} THEN scanned - net ELSE 0 END) "
        f"OVER ({_GROUP} {_ORDER} {_BEFORE}), 0)",
    },
    {
        "height": "net + CASE WHEN raised > 0 THEN raised ELSE 0 END",
        "height_before": "net + min(CASE WHEN raised_before > 0 THEN raised_before ELSE 0 END) "
        f"OVER ({_GROUP}, scan)",
    },
    {"takes_over": f"{_IS_READ} AND nth <= height_before - stood"},
    {
        "level": f"CASE WHEN step = '{Step.DELETE}' THEN NULL "
        "WHEN takes_over THEN height_before - stood - nth + 1 "
        f"WHEN {_IS_READ} THEN stood + nth ELSE height END",
    },
    {
        "lowest_after": f"min(CASE WHEN step = '{Step.DELETE}' THEN height END) "
        f"OVER ({_GROUP} {_ORDER} {_AFTER})",
        "life": "sum(CASE WHEN takes_over THEN 0 ELSE 1 END) "
        f"OVER ({_GROUP}, level {_ORDER} {_SO_FAR})",
    },
    {
        "is_last": f"row_number() OVER ({_LIFE} {_LATEST}) = 1",
        "born_as": f"first_value(row_id) OVER ({_LIFE} {_ORDER})",
        "born_by": f"first_value(step) OVER ({_LIFE} {_ORDER})",
        "newest_delete": f"max(CASE WHEN step = '{Step.DELETE}' THEN position END) OVER ({_GROUP})",
        "stays": "lowest_after IS NULL OR lowest_after >= level",
    },
    {
        "outcome": "CASE WHEN level IS NULL OR NOT is_last THEN NULL "
        f"WHEN stays AND step <> '{Step.STORED}' THEN '{Op.UPSERT}' "
        f"WHEN NOT stays AND born_by = '{Step.STORED}' THEN '{Op.DELETE}' END",
        "is_unmatched": f"step = '{Step.DELETE}' AND height < 0",
    },
)
"""Columns to add one after the other to the steps of all groups that changes touch.

In: ``equal``, what a group has in common, and ``equal_hash``; ``step``; ``position``, ``part`` and
``row_id`` of the change or of the row; ``snapshot_pass``. Out: also ``outcome``, the op that is to
be merged under the identity ``born_as``, null where there is none; ``newest_delete``, a position
at which a row that is deleted is no more; ``is_unmatched``, a delete that finds no row (NO_MATCH).
"""

OVERTAKEN = (
    f"step IN ('{Step.INSERT}', '{Step.READ}') AND level IS NOT NULL AND NOT (is_last AND stays)"
)
"""An insert or read that leaves nothing: its row was read again later in the cut, or deleted."""

CAME_AND_WENT = f"level IS NOT NULL AND is_last AND NOT stays AND born_by <> '{Step.STORED}'"
"""A row that the cut made and took away: the delete that did so has no row of the target to end."""
