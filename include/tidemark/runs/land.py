"""Land: append the unread records of a pipeline's topics to its changelog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Observation
from pyspark.sql import functions as F

from tidemark.errors import PreflightError, UnreadableRecordsError
from tidemark.formats.decoder import decoder_of
from tidemark.formats.topic_roles import TopicRoles
from tidemark.lake.landing import drop_landing, publish_landing, read_mark, stage_landing
from tidemark.lake.spark_errors import spark_errors
from tidemark.log import get_logger
from tidemark.model.cut import GateMode
from tidemark.model.event import Kind, Reason
from tidemark.model.offsets import limit_ranges
from tidemark.model.progress import LandingMark
from tidemark.runs.run import Run
from tidemark.spec import PipelineSpec
from tidemark.topics.preflight import TopicPlan, plan_topics
from tidemark.topics.read import read_records

log = get_logger()


@dataclass(frozen=True, slots=True)
class Landed:
    """The topics as they were planned, how far they are landed now, and what came in by this."""

    plan: TopicPlan
    mark: LandingMark
    records: int


def land_records(run: Run) -> Landed:
    """Append everything unread, up to ``limits.max-records``; nothing when nothing is unread.

    Raises what `topics.preflight.plan_topics` refuses, `PreflightError` when a gated source has
    no positions, `UnreadableRecordsError` above the limit, `SupersededError` when another run
    landed first. In each case what is landed stays as it was.
    """
    pipeline, world = run.pipeline, run.world
    mark = read_mark(world.catalog, run.system)
    plan = plan_topics(pipeline, world.broker, mark)
    ranges = limit_ranges(plan.ranges, pipeline.limits.max_records)
    if not any(span.count for span in ranges.values()):
        return Landed(plan, mark, 0)
    after = LandingMark(
        mark.number + 1,
        {**mark.offsets, **{place: span.end for place, span in ranges.items()}},
        {**mark.topic_ids, **plan.topic_ids},
    )
    counted = Observation()
    records = read_records(world.spark, world.broker, ranges)
    roles = TopicRoles(plan.schema_changes, plan.transactions)
    events = decoder_of(pipeline.source).envelope(records, roles).observe(counted, *_counts())
    with spark_errors("the landing"):
        move = stage_landing(world.catalog, run.system, run.request.attempt, events, after)
    found = counted.get
    refusal = _refusal(pipeline, found)
    if refusal is not None:
        drop_landing(world.catalog, move)
        raise refusal
    publish_landing(world.catalog, move, found["records"])
    log.info("landed", landing=after.number, **found)
    return Landed(plan, after, found["records"])


def _counts() -> tuple[Any, ...]:
    unreadable = F.col("kind") == Kind.UNREADABLE.value
    unplaced = F.col("reason") == Reason.POSITION_MISSING.value
    return (
        F.count(F.lit(1)).alias("records"),
        F.count_if(unreadable).alias("unreadable"),
        F.count_if(unplaced).alias("unplaced"),
        F.max("reason").alias("reason"),
    )


def _refusal(
    pipeline: PipelineSpec, found: Mapping[str, Any]
) -> PreflightError | UnreadableRecordsError | None:
    if pipeline.source.gate is GateMode.WATERMARK and found["unplaced"]:
        return PreflightError(
            f"{found['unplaced']} of {found['records']} records of pipeline {pipeline.name} have "
            "no _tidb.commitTs, so no watermark can gate them (MSG-50)",
            state="nothing of this run is landed; every table is as it was",
            next_step="set enable-tidb-extension=true on the changefeed and start it again, or "
            "set gate: none for a topic with one partition",
        )
    if found["unreadable"] > pipeline.limits.max_unreadable:
        return UnreadableRecordsError(
            f"{found['unreadable']} of {found['records']} records of pipeline {pipeline.name} "
            f"cannot be read ({found['reason']}); the limit is {pipeline.limits.max_unreadable}",
            state="nothing of this run is landed; every table is as it was",
            next_step="look whether source.format fits the topics; to set the records aside, "
            "raise limits.max-unreadable in the pipeline file",
        )
    return None
