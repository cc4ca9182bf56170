"""Land: append the unread records of a pipeline's topics to its changelog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Observation

from tidemark.errors import TidemarkError
from tidemark.formats.avro.wire_format import Schemas
from tidemark.formats.debezium.position import snapshot_place, snapshots_read
from tidemark.formats.decoder import encoding_of
from tidemark.lake.catalog import catalog_errors
from tidemark.lake.data_files import Destination
from tidemark.lake.landing import (
    ChangelogHead,
    branch_landing,
    commit_landing,
    discard_landing,
    drop_landing,
    publish_landing,
    staged_and_landed,
    staged_records,
    write_landing,
)
from tidemark.lake.refs import RefUpdate
from tidemark.lake.spark_errors import spark_errors
from tidemark.lake.writer_schemas import keep_schemas
from tidemark.log import get_logger
from tidemark.model.position import Ordering
from tidemark.model.progress import LandingMark
from tidemark.runs.landing.judge import landing_counts, landing_refusal
from tidemark.runs.landing.masks import LandingMasks
from tidemark.runs.landing.ordering import (
    expected_ordering,
    is_below_snapshot,
    marked,
    ordered_by_reads,
    true_ordering,
)
from tidemark.runs.landing.tasks import can_land_by_tasks, land_by_tasks
from tidemark.runs.landing.unread import (
    Reading,
    Unread,
    find_unread,
    read_unread,
    refuse_order,
)
from tidemark.runs.landing.writer_schemas import (
    UNKNOWN,
    missing_schemas,
    stored_schemas,
)
from tidemark.runs.run import Run
from tidemark.runs.session import size_for
from tidemark.topics.consume import READ_ERRORS
from tidemark.topics.preflight import TopicPlan

log = get_logger()


@dataclass(frozen=True, slots=True)
class Landed:
    """The topics as they were planned, how far they are landed now, and what came in by this.

    head: the changelog behind it. schemas: of everything that is landed, if it is Avro. rises: as
    `LandingFiles` has it of what came in.
    """

    plan: TopicPlan
    head: ChangelogHead
    records: int
    schemas: Schemas
    rises: bool = False

    @property
    def mark(self) -> LandingMark:
        """How far the topics are landed."""
        return self.head.mark


@dataclass(frozen=True, slots=True)
class _Staged:
    """A landing on its branch, how it was decoded, and what it counts."""

    ref_update: RefUpdate
    reading: Reading
    counts: Mapping[str, Any]
    rises: bool = False


def land_records(run: Run) -> Landed:
    """Append everything unread, up to ``limits.max-records``; nothing when nothing is unread.

    Raises what `find_unread`, `read_unread` and `landing_refusal` refuse, `SupersededError` when
    another run landed first, and what `missing_schemas` raises. In each case what is landed stays
    as it was.
    """
    unread, schemas = find_unread(run), stored_schemas(run)
    if unread.is_empty:
        return Landed(unread.plan, run.heads.changelog, 0, schemas)
    catalog = run.world.catalog
    size_for(run.world.spark, unread.count)
    staged = _stage_known(
        run, unread, Reading(expected_ordering(run.pipeline, unread.after), schemas)
    )
    reading = staged.reading
    needed = true_ordering(run.pipeline, unread.after, reading.ordering, staged.counts)
    if is_below_snapshot(unread.after, staged.counts):
        needed = _by_reads(run, unread, staged)
    if needed != reading.ordering:
        drop_landing(catalog, staged.ref_update)
        staged = _stage(run, unread, replace(reading, ordering=needed))
    refusal = landing_refusal(run.pipeline, staged.counts)
    if refusal is not None:
        drop_landing(catalog, staged.ref_update)
        raise refusal
    mark = marked(run.pipeline, unread.after, staged.reading.ordering, staged.counts)
    head = publish_landing(catalog, staged.ref_update, staged.counts["records"], mark)
    left = unread.plan.unread - unread.count
    log.info("landed", landing=mark.number, **staged.counts, left_on_topics=left)
    return Landed(unread.plan, head, staged.counts["records"], reading.schemas, staged.rises)


def _stage_known(run: Run, unread: Unread, reading: Reading) -> _Staged:
    """A staged landing, made once more with the schemas that it lacks and the registry has."""
    staged = _stage(run, unread, reading)
    learned = _learned(run, unread, staged)
    if not learned:
        return staged
    drop_landing(run.world.catalog, staged.ref_update)
    keep_schemas(run.world.catalog, run.system, learned)
    return _stage(run, unread, replace(reading, schemas={**reading.schemas, **learned}))


def _stage(run: Run, unread: Unread, reading: Reading) -> _Staged:
    refuse_order(run, unread, reading.ordering)
    catalog, head = run.world.catalog, run.heads.changelog
    masks = LandingMasks.of(run)
    with spark_errors("the landing", *READ_ERRORS), catalog_errors("the landing"):
        hidden = None if masks is None else masks.hidden
        branch = branch_landing(catalog, run.system, head, run.request.attempt, hidden=hidden)
        if can_land_by_tasks(run, reading):
            changelog = catalog.load_table(run.system.changelog.parts)
            landed = land_by_tasks(run, unread, reading, Destination.of(changelog), masks)
            if landed is not None:
                ref_update = commit_landing(catalog, branch, landed.files, unread.after)
                return _Staged(ref_update, reading, landed.counts, landed.rises)
        counted = Observation()
        events = read_unread(run, unread, reading).observe(
            counted, *landing_counts(run.pipeline, reading)
        )
        written = masks.masked_rows(events) if masks is not None else events
        ref_update = write_landing(catalog, branch, written, unread.after)
    refusal = masks.refusal() if masks is not None else None
    if refusal is not None:
        discard_landing(catalog, ref_update)
        raise refusal
    return _Staged(ref_update, reading, counted.get)


def _by_reads(run: Run, unread: Unread, staged: _Staged) -> Ordering:
    """The ordering of the staged records by the snapshots that changes stand above or below."""
    world, mark = run.world, unread.after
    place = snapshot_place(mark.snapshot_lsn)
    records = staged_and_landed(world.spark, world.catalog, staged.ref_update, mark.number, place)
    encoding = encoding_of(run.pipeline.source, staged.reading.schemas)
    with spark_errors("the landing"):
        rows = snapshots_read(records, encoding=encoding).toArrow().to_pylist()
    return ordered_by_reads(staged.reading.ordering, mark, rows)


def _learned(run: Run, unread: Unread, staged: _Staged) -> Schemas:
    """The Avro schemas that would make more of the staged records readable."""
    if not staged.counts.get(UNKNOWN):
        return {}
    world, number = run.world, unread.after.number
    records = staged_records(world.spark, world.catalog, staged.ref_update, number)
    try:
        with spark_errors("the landing"):
            return missing_schemas(run, records, staged.reading.schemas)
    except TidemarkError:
        drop_landing(world.catalog, staged.ref_update)
        raise
