"""Soft-delete targets: per key its newest values, and whether and when the row ended (KEY-11).

A row that came and went in one cut stands in the target as if a cut had been made between, so what
ends a row goes beside the newest image that the cut has of it (DUP-2).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.fold.latest import IS_NEWEST, OF_KEY, ROW_HASH, hashed
from tidemark.model.columns import CHANGE, COMMIT_TIME, DELETED, DELETED_AT, POSITION
from tidemark.model.ends import End, first_end
from tidemark.model.event import Op
from tidemark.model.reduction import NEWEST_FIRST

_WINDOW = f"{OF_KEY} ORDER BY is_fresh DESC, {NEWEST_FIRST}"
_UPSERT = f"is_fresh AND op = '{Op.UPSERT}'"
_ALL = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_NEWER = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
_STEPS = {
    "newest": "first_value(named_struct('op', op, 'position', position, 'commit_time', "
    f"commit_time)) OVER ({_WINDOW} {_ALL})",
    "rank": f"row_number() OVER ({_WINDOW})",
    "upserts": f"count_if({_UPSERT}) OVER ({_WINDOW} {_ALL})",
    "newer_upserts": f"count_if({_UPSERT}) OVER ({_WINDOW} {_NEWER})",
}
_IS_NEWEST = (
    f"is_fresh AND CASE WHEN op = '{Op.UPSERT}' THEN newer_upserts = 0 "
    "ELSE rank = 1 AND upserts = 0 END"
)


def mark_images(changes: DataFrame, counts: str) -> DataFrame:
    """Mark the newest upsert of each ``row_key``, or its newest delete where it has no upsert.

    In: one row per change; counts: which of them do, as SQL that is never null. Out: same,
    IS_NEWEST and CHANGE: where it stands in the order of changes, and ``newest``, the newest change
    of the key.
    """
    placed = F.struct("position", "part", "partition", "newest")
    return (
        hashed(changes)
        .withColumn("is_fresh", F.expr(counts))
        .withColumns({name: F.expr(text) for name, text in _STEPS.items()})
        .withColumn(IS_NEWEST, F.expr(_IS_NEWEST))
        .withColumn(CHANGE, placed)
        .drop(ROW_HASH, "is_fresh", *_STEPS)
    )


def with_flags(typed: DataFrame, ends: Sequence[End]) -> DataFrame:
    """Typed rows of `mark_images` as they are staged: flagged where they ended.

    ends: the truncates of the cut. A delete counts by itself; an upsert is ended by the first
    truncate above it.
    """
    is_delete = F.col(f"{CHANGE}.newest.op") == Op.DELETE.value
    is_ended, ended_at = F.lit(False), F.lit(None).cast("timestamp")
    if ends:
        is_ended = F.expr(first_end(POSITION, ends, lambda _: "TRUE")).isNotNull()
        ended_at = F.expr(first_end(POSITION, ends, lambda end: end.time))
    newest = F.col(f"{CHANGE}.newest")
    return typed.withColumns(
        {
            DELETED: is_delete | is_ended,
            DELETED_AT: F.when(is_delete, newest["commit_time"]).otherwise(ended_at),
            POSITION: newest["position"],
            COMMIT_TIME: newest["commit_time"],
        }
    )
