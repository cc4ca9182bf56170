"""History targets: what the changes of a cut make of the versions of their rows (KEY-11).

A version begins with an upsert and ends with the next change of its key, or with a truncate.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.fold.latest import IS_NEWEST, ROW_HASH, hashed
from tidemark.fold.settled import IN_CUT, OCCURRENCE, only_of_cut
from tidemark.model.columns import (
    CHANGE,
    COMMIT_TIME,
    CONVERSION_ERROR,
    END_POSITION,
    POSITION,
    STAGED_OP,
    UNAVAILABLE,
    VALID_FROM,
    VALID_TO,
    TableSchema,
)
from tidemark.model.ends import End, first_end
from tidemark.model.event import Op
from tidemark.model.names import SYSTEM_PREFIX, quote
from tidemark.model.position import LSN_RANK_AT, POSTGRES_DIGITS, RANK_DIGITS
from tidemark.model.reduction import EVENT_ID, newest_first

_COLUMN_NAMES = ("open_at", "newest", "newest_event_id", "here", "next", "nth", "done")
OPEN_AT, NEWEST, NEWEST_EVENT_ID, _HERE, _NEXT, _NTH, _DONE = (
    f"{SYSTEM_PREFIX}{n}" for n in _COLUMN_NAMES
)
STORED = (OPEN_AT, NEWEST, NEWEST_EVENT_ID)
_CHANGE_ID = (
    f"CASE WHEN length(position) = {POSTGRES_DIGITS} "
    f"THEN {EVENT_ID} || substr(position, {LSN_RANK_AT + 1}, {RANK_DIGITS}) ELSE {EVENT_ID} END"
)
"""What copies of a change share: what a snapshot of PostgreSQL read is no copy of what was streamed
at its LSN, which came behind it (POS-4).
"""


_OF_EVENT = f"PARTITION BY {ROW_HASH}, row_key, event_id"
_OF_CHANGE = f"{_OF_EVENT}, nth_and_op"


def mark_event_ids(changes: DataFrame, counts: str) -> DataFrame:
    """Mark each change of a ``row_key`` once, with CHANGE: where it stands.

    In: `fold.settled.beside_settled`; what is settled is never marked, nor are copies of it. Of the
    changes of a key at one place of the log the OCCURRENCE and the op tell which each is; where the
    source does not tell, they are one: the last of them. So is what a compressed log writes. Of
    copies the newest counts; but where a place has several changes the oldest, as one that came
    again would stand behind those that follow it. counts: which changes do, as SQL that is never
    null. CHANGE.follows: another change of the key at this place is settled.
    """
    placed = F.struct("position", "part", "partition", "event_id", "follows")
    nth_and_op = f"CASE WHEN at_event > 1 THEN {OCCURRENCE} || '.' || op END"
    order = f"{_OF_CHANGE} ORDER BY {newest_first(counts)}"
    is_chosen = "rank = CASE WHEN copies < at_event THEN copies ELSE 1 END"
    return (
        hashed(changes)
        .withColumn("event_id", F.expr(_CHANGE_ID))
        .withColumns(
            {
                "at_event": F.expr(f"count_if({counts}) OVER ({_OF_EVENT})"),
                "follows": F.expr(f"NOT min({IN_CUT}) OVER ({_OF_EVENT})"),
            }
        )
        .withColumn("nth_and_op", F.expr(nth_and_op))
        .withColumns(
            {
                "rank": F.expr(f"row_number() OVER ({order})"),
                "copies": F.expr(f"count_if({counts}) OVER ({_OF_CHANGE})"),
                "is_new": F.expr(f"min({IN_CUT}) OVER ({_OF_CHANGE})"),
            }
        )
        .withColumn(IS_NEWEST, F.expr(f"is_new AND ({counts}) AND {is_chosen}"))
        .withColumn(CHANGE, placed)
        .drop(ROW_HASH, "event_id", "at_event", "follows", "nth_and_op", "rank", "copies", "is_new")
        .transform(only_of_cut)
    )


def with_stored(staged: DataFrame, versions: DataFrame | None, schema: TableSchema) -> DataFrame:
    """Staged changes beside STORED: what the target knows of their rows, null where nothing.

    In: staged, a plain scan with a predicate, so that its runtime Bloom filter keeps all other rows
    out of the join (docs/adr/0002-one-guarded-merge.md); versions: `lake.stored.read_versions`.
    OPEN_AT: where the open version began; NEWEST: the newest position at which a version began or
    ended, NEWEST_EVENT_ID: its place.
    """
    if versions is None:
        return staged.withColumns({name: F.lit(None).cast("string") for name in STORED})
    names = [f"key_{number}" for number in range(len(schema.key))]
    key_columns = [F.col(quote(name)) for name in schema.key]

    def same(other: Sequence[str]) -> list[Column]:
        equal = [column == F.col(name) for column, name in zip(key_columns, other, strict=True)]
        if len(key_columns) > 1:  # one column alone filters nothing
            equal.append(F.xxhash64(*key_columns) == F.xxhash64(*other))
        return equal

    near = versions.join(staged.select(*key_columns), same(names), "left_semi")
    ends = F.greatest("began_at", F.coalesce("ended_at", F.lit("")))
    known = (
        near.groupBy(*(F.col(name).alias(f"{SYSTEM_PREFIX}{name}") for name in names))
        .agg(
            F.max(F.when(F.col("ended_at").isNull(), F.col("began_at"))).alias(OPEN_AT),
            F.max(ends).alias("position"),
        )
        .withColumn(NEWEST_EVENT_ID, F.expr(_CHANGE_ID))
        .withColumnRenamed("position", NEWEST)
    )
    of = [f"{SYSTEM_PREFIX}{name}" for name in names]
    return staged.join(known, same(of), "left").drop(*of)


def is_newer() -> Column:
    """Whether a change of `with_stored` is one that the target does not know (POS-13, POS-14)."""
    change = F.col(CHANGE)
    is_copy = (change["event_id"] == F.col(NEWEST_EVENT_ID)) & ~change["follows"]
    return ~F.coalesce((F.col(POSITION) <= F.col(NEWEST)) | is_copy, F.lit(False))


def versions_of(changes: DataFrame, schema: TableSchema, ends: Sequence[End]) -> DataFrame:
    """What to do to the target: a row for each version that begins, one for each that is to end.

    In: the changes of `with_stored` that are newer. Out: what `stage_rows` takes. ends: the
    truncates of the cut.
    """
    key = ", ".join(quote(name) for name in schema.key)
    window = f"PARTITION BY {key} ORDER BY {CHANGE}.position, {CHANGE}.part, {CHANGE}.partition"
    here = f"named_struct('position', {POSITION}, 'time', {COMMIT_TIME})"
    placed = changes.withColumns(
        {
            _HERE: F.expr(here),
            _NEXT: F.expr(f"lead({here}) OVER ({window})"),
            _NTH: F.expr(f"row_number() OVER ({window})"),
        }
    )
    is_upsert = F.col(STAGED_OP) == Op.UPSERT.value
    ends_another = (F.col(_NTH) == 1) & F.col(OPEN_AT).isNotNull()
    done = F.array_compact(
        F.array(
            F.when(ends_another, _done(Op.DELETE, _first(F.col(_HERE), OPEN_AT, ends))),
            F.when(is_upsert, _done(Op.UPSERT, _first(F.col(_NEXT), POSITION, ends))),
        )
    )
    is_end, end = F.col(f"{_DONE}.op") == Op.DELETE.value, F.col(f"{_DONE}.end")
    return placed.withColumn(_DONE, F.explode(done)).select(
        *(F.col(quote(name)) for name in schema.names),
        F.col(f"{_DONE}.op").alias(STAGED_OP),
        F.when(is_end, end["position"]).otherwise(F.col(POSITION)).alias(POSITION),
        F.col(COMMIT_TIME).alias(VALID_FROM),
        end["time"].alias(VALID_TO),
        end["position"].alias(END_POSITION),
        F.lit(None).cast("string").alias(CONVERSION_ERROR),
        F.lit(None).cast("array<string>").alias(UNAVAILABLE),
    )


def _done(op: Op, end: Column) -> Column:
    return F.struct(F.lit(op.value).alias("op"), end.alias("end"))


def _first(change: Column, began_at: str, ends: Sequence[End]) -> Column:
    """Where a version ends that began at ``began_at``: at ``change``, or at a truncate before."""
    if not ends:
        return change
    position = F.expr(first_end(began_at, ends, lambda end: end.place))
    time = F.expr(first_end(began_at, ends, lambda end: end.time))
    truncate = F.struct(position.alias("position"), time.alias("time"))
    is_before = position.isNotNull() & F.coalesce(position < change["position"], F.lit(True))
    return F.when(is_before, truncate).otherwise(change)
