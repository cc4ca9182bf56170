"""Land: append the unread records of a pipeline's topics to its changelog."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from tidemark.errors import NOT_LANDED, PreflightError, TidemarkError, UnreadableRecordsError
from tidemark.formats.avro.wire import Schemas
from tidemark.formats.decoder import decoder_of
from tidemark.formats.topic_roles import TopicRoles
from tidemark.gate.growth import seen_growths
from tidemark.lake.landing import (
    COLUMNS,
    drop_landing,
    publish_landing,
    read_mark,
    stage_landing,
    staged_records,
)
from tidemark.lake.refs import Move
from tidemark.lake.spark_errors import spark_errors
from tidemark.lake.writer_schemas import keep_schemas
from tidemark.log import get_logger
from tidemark.model.cut import GateMode
from tidemark.model.event import Kind, Reason
from tidemark.model.offsets import Ranges, TopicPartition, limit_ranges
from tidemark.model.position import Ordering
from tidemark.model.progress import LandingMark
from tidemark.runs.landing.compacted import compaction_counts, misnamed_topic
from tidemark.runs.landing.ordering import (
    expected_ordering,
    marked,
    ordering_counts,
    refuse_unordered,
    refuse_unplaced,
    true_ordering,
)
from tidemark.runs.landing.writer_schemas import (
    UNKNOWN,
    kept_schemas,
    missing_schemas,
    schema_counts,
)
from tidemark.runs.run import Run
from tidemark.spec import PipelineSpec
from tidemark.topics.preflight import TopicPlan, plan_topics
from tidemark.topics.read import read_records
from tidemark.topics.tails import next_tails
from tidemark.topics.tombstones import refuse_lost_tombstones

log = get_logger()


@dataclass(frozen=True, slots=True)
class Landed:
    """The topics as they were planned, how far they are landed now, and what came in by this.

    schemas: of everything that is landed, if it is Avro.
    """

    plan: TopicPlan
    mark: LandingMark
    records: int
    schemas: Schemas


@dataclass(frozen=True, slots=True)
class Reading:
    """How unread records are decoded: what orders them, and which Avro schemas are known."""

    ordering: Ordering
    schemas: Schemas


@dataclass(frozen=True, slots=True)
class Unread:
    """What a landing takes; after: how far the topics are landed once it is done."""

    plan: TopicPlan
    ranges: Ranges
    after: LandingMark

    @property
    def is_empty(self) -> bool:
        """There is nothing to land."""
        return not any(span.count for span in self.ranges.values())


@dataclass(frozen=True, slots=True)
class _Staged:
    """A landing on its branch, how it was decoded, and what it counts."""

    move: Move
    reading: Reading
    found: Mapping[str, Any]


def land_records(run: Run) -> Landed:
    """Append everything unread, up to ``limits.max-records``; nothing when nothing is unread.

    Raises what `find_unread`, `read_unread` and `landing_refusal` refuse, `SupersededError` when
    another run landed first, and what `missing_schemas` raises. In each case what is landed stays
    as it was.
    """
    unread, schemas = find_unread(run), kept_schemas(run)
    if unread.is_empty:
        return Landed(unread.plan, unread.after, 0, schemas)
    catalog = run.world.catalog
    staged = _stage_known(
        run, unread, Reading(expected_ordering(run.pipeline, unread.after), schemas)
    )
    reading = staged.reading
    needed = true_ordering(run.pipeline, unread.after, reading.ordering, staged.found)
    if needed != reading.ordering:
        drop_landing(catalog, staged.move)
        staged = _stage(run, unread, replace(reading, ordering=needed))
    refusal = landing_refusal(run.pipeline, staged.found)
    if refusal is not None:
        drop_landing(catalog, staged.move)
        raise refusal
    mark = marked(run.pipeline, unread.after, staged.reading.ordering, staged.found)
    publish_landing(catalog, staged.move, staged.found["records"], mark)
    log.info("landed", landing=mark.number, **staged.found)
    return Landed(unread.plan, mark, staged.found["records"], reading.schemas)


def _stage_known(run: Run, unread: Unread, reading: Reading) -> _Staged:
    """A staged landing, made once more with the schemas that it lacks and the registry has."""
    staged = _stage(run, unread, reading)
    learned = _learned(run, unread, staged)
    if not learned:
        return staged
    drop_landing(run.world.catalog, staged.move)
    keep_schemas(run.world.catalog, run.system, learned)
    return _stage(run, unread, replace(reading, schemas={**reading.schemas, **learned}))


def _stage(run: Run, unread: Unread, reading: Reading) -> _Staged:
    counted = Observation()
    events = read_unread(run, unread, reading).observe(
        counted, *landing_counts(run.pipeline, reading)
    )
    with spark_errors("the landing"):
        move = stage_landing(
            run.world.catalog, run.system, run.request.attempt, events, unread.after
        )
    return _Staged(move, reading, counted.get)


def _learned(run: Run, unread: Unread, staged: _Staged) -> Schemas:
    """The Avro schemas that would make more of the staged records readable."""
    if not staged.found.get(UNKNOWN):
        return {}
    world, number = run.world, unread.after.number
    records = staged_records(world.spark, world.catalog, staged.move, number)
    try:
        with spark_errors("the landing"):
            return missing_schemas(run, records, staged.reading.schemas)
    except TidemarkError:
        drop_landing(world.catalog, staged.move)
        raise


def find_unread(run: Run) -> Unread:
    """What a landing would take now.

    Raises what `refuse_unplaced`, `plan_topics`, `refuse_lost_tombstones` and `next_tails` refuse.
    """
    now_ms = time.time_ns() // 1_000_000
    mark = read_mark(run.world.catalog, run.system)
    refuse_unplaced(run.pipeline, run.request.until, expected_ordering(run.pipeline, mark))
    plan = plan_topics(run.pipeline, run.world.broker, mark)
    unread = Unread(plan, limit_ranges(plan.ranges, run.pipeline.limits.max_records), mark)
    if unread.is_empty:
        return unread
    caught_up = _caught_up(run, unread, now_ms)
    offsets = {place: span.end for place, span in unread.ranges.items()}
    ends = {place: span.end for place, span in plan.ranges.items()}
    ungated = run.pipeline.source.gate is GateMode.NONE
    compacted = {topic.name for topic in plan.facts if topic.compacted}
    after = replace(
        mark,
        number=mark.number + 1,
        offsets={**mark.offsets, **offsets},
        topic_ids={**mark.topic_ids, **plan.topic_ids},
        growths=seen_growths(mark.growths, mark.offsets, ends, offsets) if ungated else {},
        tails=next_tails(run.world.broker, mark.tails, unread.ranges, compacted),
        caught_up=caught_up,
    )
    return replace(unread, after=after)


def _caught_up(run: Run, unread: Unread, now_ms: int) -> Mapping[TopicPartition, int]:
    """When each partition was last read to its end once ``unread`` is landed (KEY-12).

    Nothing where topics may not be compacted. Raises what `refuse_lost_tombstones` refuses.
    """
    if not run.pipeline.source.is_compacted:
        return {}
    plan, before = unread.plan, unread.after.caught_up
    refuse_lost_tombstones(run.world.broker, plan.facts, before, unread.ranges, now_ms)
    return {
        place: now_ms if span.end == plan.ranges[place].end else before.get(place, now_ms)
        for place, span in unread.ranges.items()
    }


def read_unread(run: Run, unread: Unread, reading: Reading) -> DataFrame:
    """The unread records, decoded. Out: COLUMNS of the changelog, a row per record.

    `PreflightError` when the offset has to order the records, and cannot; what `refuse_unplaced`
    refuses of the first ones.
    """
    refuse_unordered(run.pipeline, unread.plan, reading.ordering)
    refuse_unplaced(run.pipeline, run.request.until, reading.ordering)
    records = read_records(run.world.spark, run.world.broker, unread.ranges)
    roles = TopicRoles(unread.plan.schema_changes, unread.plan.transactions)
    decoder = decoder_of(run.pipeline.source, reading.schemas, ordering=reading.ordering)
    landing = F.lit(unread.after.number).cast("long").alias("landing")
    return decoder.envelope(records, roles).withColumn("landing", landing).select(*COLUMNS)


def landing_counts(pipeline: PipelineSpec, reading: Reading) -> tuple[Column, ...]:
    """Aggregates over the records of a landing, by which it is refused or decoded once more."""
    unreadable = F.col("kind") == Kind.UNREADABLE.value
    unplaced = F.col("reason") == Reason.POSITION_MISSING.value
    return (
        F.count(F.lit(1)).alias("records"),
        F.count_if(unreadable).alias("unreadable"),
        F.count_if(unplaced).alias("unplaced"),
        F.count_if(F.col("reason") == Reason.FORMAT_MISMATCH.value).alias("mismatched"),
        F.count_if(F.col("kind").isin(*_own_kinds(pipeline))).alias("understood"),
        F.max("reason").alias("reason"),
        *ordering_counts(pipeline, reading.ordering, reading.schemas),
        *schema_counts(pipeline),
        *compaction_counts(pipeline),
    )


def landing_refusal(
    pipeline: PipelineSpec, found: Mapping[str, Any]
) -> PreflightError | UnreadableRecordsError | None:
    """Why records that count as ``found`` must not be landed; None when they may."""
    if pipeline.source.gate is GateMode.WATERMARK and found["unplaced"]:
        return PreflightError(
            f"{found['unplaced']} of {found['records']} records of pipeline {pipeline.name} have "
            "no _tidb.commitTs, so no watermark can gate them (MSG-50)",
            state=NOT_LANDED,
            next_step="set enable-tidb-extension=true on the changefeed and start it again, or "
            "set gate: none for a topic with one partition",
        )
    is_meant = "max_unreadable" in pipeline.limits.model_fields_set
    # One alone has strayed into the topic.
    if found["mismatched"] > 1 and not found["understood"] and not is_meant:
        return _other_form(pipeline, found)
    if found["unreadable"] > pipeline.limits.max_unreadable:
        return UnreadableRecordsError(
            f"{found['unreadable']} of {found['records']} records of pipeline {pipeline.name} "
            f"cannot be read ({found['reason']}); the limit is {pipeline.limits.max_unreadable}",
            state=NOT_LANDED,
            next_step="look whether source.format fits the topics; to set the records aside, "
            "raise limits.max-unreadable in the pipeline file",
        )
    return misnamed_topic(found)


def _own_kinds(pipeline: PipelineSpec) -> tuple[str, ...]:
    """What shows that a topic of rows is of the format of its source."""
    kinds = (Kind.ROW, Kind.TRUNCATE)
    beside_rows = (Kind.DDL, Kind.WATERMARK) if pipeline.source.format.is_canal else ()
    return tuple(kind.value for kind in (*kinds, *beside_rows))


def _other_form(pipeline: PipelineSpec, found: Mapping[str, Any]) -> PreflightError:
    """Why nothing of the topics can be followed, where no record is what it is declared to be."""
    source = pipeline.source
    next_step = (
        "set source.format to what writes the topics, or leave them out of source.topics; to set "
        "the records aside, say in limits.max-unreadable how many may be"
    )
    if not source.format.is_canal:
        next_step = (
            "do they hold the columns of rows alone? Then take the transform that flattens them, "
            "ExtractNewRecordState, off the connector: it throws away what a change does and where "
            f"it stands. Else {next_step}"
        )
    return PreflightError(
        f"none of {found['records']} records of pipeline {pipeline.name} is a change as "
        f"{source.format} writes it, and {found['mismatched']} of them are of another format "
        "(FORMAT_MISMATCH)",
        state=NOT_LANDED,
        next_step=next_step,
    )
