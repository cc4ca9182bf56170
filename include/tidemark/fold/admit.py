"""Changelog records beside their checkpoint status, and the answers to what a cut asks."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.conditions import any_of
from tidemark.model.checkpoint_status import (
    NEW_BOUND,
    NEW_NEXT,
    OLD_BOUND,
    OLD_NEXT,
    REACHED,
    READ_AT,
    STREAMED,
    status,
)
from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.offsets import Offsets
from tidemark.model.position import EPOCH, EPOCH_DIGITS
from tidemark.model.summary import Summary


def answer(events: DataFrame, question: Summary) -> DataFrame:
    """The rows that answer ``question`` over changelog rows: its keys and its figures."""
    return (
        events.where(question.where)
        .groupBy(*(F.expr(text).alias(name) for name, text in question.keys.items()))
        .agg(*(F.expr(text).alias(name) for name, text in question.figures.items()))
    )


def in_epochs(events: DataFrame, epochs: Sequence[Offsets]) -> DataFrame:
    """Changelog rows with the epochs that were stated since they were landed (POS-15, POS-17).

    epochs: per hand-over the offsets at which the next epoch begins; a partition that one does not
    name begins it at its first record. Rows are landed in the first epoch.
    """
    if not epochs:
        return events
    places = sorted({place for starts in epochs for place in starts})
    rows = [
        {
            "topic": place.topic,
            "partition": place.partition,
            "_starts": [starts.get(place, 0) for starts in epochs],
        }
        for place in places
    ]
    fields = "topic STRING, partition INT, _starts ARRAY<LONG>"
    listed = F.inline(F.from_json(F.lit(json.dumps(rows)), f"ARRAY<STRUCT<{fields}>>"))
    begun = f"coalesce(size(filter(_starts, s -> s <= offset)), {len(epochs)})"
    epoch = f"lpad(hex({EPOCH} + {begun}), {EPOCH_DIGITS}, '0')"
    placed = F.expr(f"{epoch} || substr(position, {EPOCH_DIGITS + 1})")
    return (
        events.join(
            F.broadcast(events.sparkSession.range(1).select(listed)),
            on=["topic", "partition"],
            how="left",
        )
        .withColumn("position", placed)
        .select(*events.columns)
    )


def only_at(events: DataFrame, places: Iterable[tuple[str, int, int]]) -> DataFrame:
    """The rows of the records at ``places``: topic, partition and offset of each.

    Files without an offset between the least and the greatest of a topic are not read: a join
    alone would leave out none.
    """
    places = set(places)
    return _by_place(events.where(_about(places)), places, "left_semi")


def except_at(events: DataFrame, places: Iterable[tuple[str, int, int]]) -> DataFrame:
    """The rows of all other records than those at ``places``."""
    return _by_place(events, places, "left_anti")


def _about(places: Collection[tuple[str, int, int]]) -> Column:
    """Whether a record has a topic of ``places``, and an offset between those of that."""
    offsets: dict[str, list[int]] = defaultdict(list)
    for topic, _, offset in places:
        offsets[topic].append(offset)
    ranges = (
        (F.col("topic") == topic) & F.col("offset").between(min(its), max(its))
        for topic, its in sorted(offsets.items())
    )
    return any_of(ranges)


def _by_place(events: DataFrame, places: Iterable[tuple[str, int, int]], join: str) -> DataFrame:
    place_columns = ["topic", "partition", "offset"]
    rows = [dict(zip(place_columns, place, strict=True)) for place in sorted(set(places))]
    fields = "topic STRING, partition INT, offset LONG"
    listed = F.inline(F.from_json(F.lit(json.dumps(rows)), f"ARRAY<STRUCT<{fields}>>"))
    wanted = events.sparkSession.range(1).select(listed)
    return events.join(F.broadcast(wanted), place_columns, join).select(*events.columns)


def with_status(
    events: DataFrame,
    cut: Cut,
    old: Frontier,
    *,
    gated_landing: int,
    published_landing: int | None = None,
) -> DataFrame:
    """Say of every event where it stands when the frontier moves from ``old`` to that of ``cut``.

    In: changelog rows. Out: the same and ``status``. gated_landing: the newest landing that an
    earlier cut has gated. published_landing: as `status` has it.
    """
    mode, new = cut.mode, cut.frontier
    bounded = events.withColumns(
        {OLD_BOUND: F.lit(old.bound_in(mode)), NEW_BOUND: F.lit(new.bound_in(mode))}
    )
    if mode is not GateMode.WATERMARK:
        bounded = _with_offsets(bounded, old, new)
    expression = status(cut, gated_landing, published_landing)
    return bounded.withColumn("status", F.expr(expression)).select(*events.columns, "status")


def _with_offsets(events: DataFrame, old: Frontier, new: Frontier) -> DataFrame:
    """Each event beside the bounds of its partition; a partition without one holds everything."""
    # By a join, though it is a job of its own: bounds that an expression looks up are put into the
    # plan wherever one is read, and the plans of replays then outgrow a heap of 1 GB.
    rows = [
        {
            "topic": place.topic,
            "partition": place.partition,
            OLD_NEXT: old.offsets.get(place, 0),
            NEW_NEXT: new.offsets.get(place, 0),
            REACHED: old.reached.get(place, ""),
            STREAMED: old.streamed.get(place, ""),
        }
        for place in sorted({*old.offsets, *new.offsets, *old.reached})
    ]
    numbers, places = (OLD_NEXT, NEW_NEXT), (REACHED, STREAMED)
    fields = ", ".join(
        ("topic STRING", "partition INT", *(f"{name} LONG" for name in numbers))
        + tuple(f"{name} STRING" for name in places)
    )
    listed = F.inline(F.from_json(F.lit(json.dumps(rows)), f"ARRAY<STRUCT<{fields}>>"))
    bounds = events.sparkSession.range(1).select(listed)
    return (
        events.join(F.broadcast(bounds), on=["topic", "partition"], how="left")
        .fillna({**dict.fromkeys(numbers, 0), **dict.fromkeys(places, "")})
        .withColumn(READ_AT, F.lit(old.read_at))
        .select(*events.columns, *numbers, *places, READ_AT)
    )
