"""Where each record of the changelog stands towards a cut: settled, late, in the cut, or held."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.model.cut import Frontier, GateMode
from tidemark.model.event import Kind
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import OFFSET_DIGITS, commit_bound


class Zone(StrEnum):
    """Settled in an earlier cut; late, as it was sent again; to be published now; or held.

    What is held is above the cut and stays in the changelog for a later one.
    """

    SETTLED = "settled"
    LATE = "late"
    CUT = "cut"
    HELD = "held"


CHANGES = (Kind.ROW.value, Kind.TRUNCATE.value, Kind.DDL.value)


def place() -> Column:
    """A position without its offset: what two copies of one event share (POS-13)."""
    return F.expr(f"left(position, length(position) - {OFFSET_DIGITS})")


def with_zone(
    events: DataFrame, mode: GateMode, old: Frontier, new: Frontier, *, gated_landing: int
) -> DataFrame:
    """Say of every event where it stands when the frontier moves from ``old`` to ``new``.

    In: changelog rows. Out: the same and ``zone``. gated_landing: the newest landing that an
    earlier cut has gated; what came later and lies below the frontier was sent again.
    Records that change nothing settle with the first cut that sees them.
    """
    below_old, below_new, bounded = _bounds(events, mode, old, new)
    was_gated = F.col("landing") <= gated_landing
    zone = (
        F.when(
            ~F.col("kind").isin(*CHANGES),
            F.when(was_gated, Zone.SETTLED.value).otherwise(Zone.CUT.value),
        )
        .when(below_old & was_gated, Zone.SETTLED.value)
        .when(below_old | F.col("_repeated"), Zone.LATE.value)
        .when(below_new, Zone.CUT.value)
        .otherwise(Zone.HELD.value)
    )
    return bounded.withColumn("zone", zone).select(*events.columns, "zone")


def _bounds(
    events: DataFrame, mode: GateMode, old: Frontier, new: Frontier
) -> tuple[Column, Column, DataFrame]:
    if mode is GateMode.WATERMARK:
        below = [F.col("position") < commit_bound(f.commit_ts) for f in (old, new)]
        return below[0], below[1], events.withColumn("_repeated", F.lit(False))
    joined = _with_offsets(events, old, new)
    return (
        F.col("offset") < F.col("_old_next"),
        F.col("offset") < F.col("_new_next"),
        joined.withColumn("_repeated", place() < F.col("_reached")),
    )


def _with_offsets(events: DataFrame, old: Frontier, new: Frontier) -> DataFrame:
    """Each event beside the bounds of its partition; a partition without one holds everything."""
    rows = [
        {
            "topic": place.topic,
            "partition": place.partition,
            "_old_next": old.offsets.get(place, 0),
            "_new_next": new.offsets.get(place, 0),
            "_reached": old.reached.get(place, ""),
        }
        for place in sorted(_places(old.offsets) | _places(new.offsets))
    ]
    fields = "topic STRING, partition INT, _old_next LONG, _new_next LONG, _reached STRING"
    listed = F.inline(F.from_json(F.lit(json.dumps(rows)), f"ARRAY<STRUCT<{fields}>>"))
    bounds = events.sparkSession.range(1).select(listed)
    return (
        events.join(F.broadcast(bounds), on=["topic", "partition"], how="left")
        .fillna({"_old_next": 0, "_new_next": 0, "_reached": ""})
        .select(*events.columns, "_old_next", "_new_next", "_reached")
    )


def _places(offsets: Mapping[TopicPartition, int]) -> set[TopicPartition]:
    return set(offsets)
