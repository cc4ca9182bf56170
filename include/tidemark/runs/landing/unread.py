"""What a landing would take: which offsets are unread, and the records in them, decoded."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.formats.avro.wire_format import Schemas
from tidemark.formats.decoder import decoder_of
from tidemark.formats.topic_roles import TopicRoles
from tidemark.gate.expansion import seen_expansions
from tidemark.lake.landing import COLUMNS, refuse_lost
from tidemark.model.cut import GateMode
from tidemark.model.offsets import Ranges, TopicPartition, limit_ranges
from tidemark.model.position import Ordering
from tidemark.model.progress import LandingMark
from tidemark.runs.landing.ordering import (
    expected_ordering,
    refuse_unordered,
    refuse_unplaced,
)
from tidemark.runs.run import Run
from tidemark.topics.fingerprints import next_fingerprints
from tidemark.topics.preflight import TopicPlan, plan_topics
from tidemark.topics.read import read_records
from tidemark.topics.tombstones import refuse_lost_tombstones


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
    def count(self) -> int:
        """How many offsets there are; not each of them need have a record."""
        return sum(span.count for span in self.ranges.values())

    @property
    def is_empty(self) -> bool:
        """There is nothing to land."""
        return self.count == 0


def find_unread(run: Run) -> Unread:
    """What a landing would take now.

    Raises what `refuse_lost`, `refuse_unplaced`, `plan_topics`, `refuse_lost_tombstones` and
    `next_fingerprints` refuse.
    """
    now_ms = time.time_ns() // 1_000_000
    mark = run.heads.changelog.mark
    refuse_lost(run.system, mark, run.progress.landing)
    refuse_unplaced(run.pipeline, run.request.until, expected_ordering(run.pipeline, mark))
    plan = plan_topics(run.pipeline, run.world.broker, mark)
    limit = run.pipeline.limits.max_records
    unread = Unread(plan, shortened(plan, run.pipeline.source.gate, limit), mark)
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
        expansions=seen_expansions(mark.expansions, mark.offsets, ends, offsets) if ungated else {},
        fingerprints=next_fingerprints(
            run.world.broker, mark.fingerprints, unread.ranges, compacted
        ),
        caught_up=caught_up,
    )
    return replace(unread, after=after)


def shortened(plan: TopicPlan, gate: GateMode, max_records: int) -> Ranges:
    """What of ``plan`` one landing takes.

    With gate ``transaction`` statements come before the rows above them, so all are taken
    (GATE-T6).
    """
    whole = plan.schema_changes - plan.data if gate is GateMode.TRANSACTION else ()
    return limit_ranges(plan.ranges, max_records, whole)


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


def refuse_order(run: Run, unread: Unread, ordering: Ordering) -> None:
    """`PreflightError` when the offset has to order the records, and cannot.

    What `refuse_unplaced` refuses of the first ones.
    """
    refuse_unordered(run.pipeline, unread.plan, ordering)
    refuse_unplaced(run.pipeline, run.request.until, ordering)


def read_unread(run: Run, unread: Unread, reading: Reading) -> DataFrame:
    """The unread records, decoded. Out: COLUMNS of the changelog, a row per record."""
    records = read_records(run.world.spark, run.world.broker, unread.ranges)
    return decoded(run, unread, reading, records)


def decoded(run: Run, unread: Unread, reading: Reading, records: DataFrame) -> DataFrame:
    """Those of the unread ``records`` that are given. In: RECORD_COLUMNS. Out: COLUMNS."""
    decoder = decoder_of(run.pipeline.source, reading.schemas, ordering=reading.ordering)
    landing = F.lit(unread.after.number).cast("long").alias("landing")
    events = decoder.envelope(records, roles_of(unread))
    return events.withColumn("landing", landing).select(*COLUMNS)


def roles_of(unread: Unread) -> TopicRoles:
    """The roles that the topics play."""
    return TopicRoles(unread.plan.schema_changes, unread.plan.transactions)
