"""Stage by Python: which tables, by how many tasks, and what is left to the expressions.

No payload enters the JVM, and none of a superseded change is decoded. The driver itself stages a
few rows, tasks of Spark stage many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO

from tidemark.formats.decoder import decoder_of
from tidemark.formats.row_reader import can_read
from tidemark.lake.catalog import catalog_errors
from tidemark.lake.data_files import Destination
from tidemark.lake.landed_files import LandedFile, files_since
from tidemark.lake.staged import StagedPlace, add_files, add_rows, drop_made, make_staged
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import GateMode
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.position import LAST
from tidemark.model.target_mode import TargetMode
from tidemark.runs.choose import Chosen
from tidemark.runs.jvm import is_local
from tidemark.runs.run import Run
from tidemark.runs.staging.newest_rows import (
    Part,
    PartRows,
    StagingJob,
    stage_part,
    staged_schema,
)
from tidemark.runs.staging.row_changes import StagedChanges
from tidemark.runs.staging.typed_changes import ChangeCounts, refuse_unread, typed_changes
from tidemark.runs.tables.work import TableWork
from tidemark.spec import SourceFormat

FEW_RECORDS = 10_000
"""So many of a table are staged by the driver."""
LEAST_RECORDS, MOST_RECORDS = 50_000, 250_000
"""Of which a task keeps the newest in memory."""


@dataclass(frozen=True, slots=True)
class ChangelogFiles:
    """The files in which the records of a cut stand, and the oldest landing that counts."""

    io: FileIO
    files: tuple[LandedFile, ...]
    landing: int

    @classmethod
    def of(cls, run: Run) -> ChangelogFiles | None:
        """Those of the changelog as ``run`` reads it; None where tasks cannot read them."""
        source, head = run.pipeline.source, run.heads.changelog.snapshot
        is_readable = source.avro is None and not source.is_compacted and not source.format.is_canal
        if head is None or not is_readable or not is_local(run.world.spark):
            return None
        landing = run.progress.oldest_held
        landed = files_since(run.world.catalog, run.system, head, landing)
        return None if landed is None else cls(*landed, landing)


def can_stage_by_tasks(run: Run, chosen: Chosen, work: TableWork) -> bool:
    """Whether the rows of the table are ones that tasks find and type as the expressions do.

    They know neither epochs, earlier names and keys, nor what is tried again.
    """
    table, mode = work.spec.source, run.pipeline.source.gate
    entries = [
        entry
        for entry in chosen.profile.profile_entries
        if entry.kind is Kind.ROW and entry.table == (table.schema, table.table)
    ]
    by_position = {CheckpointStatus.PENDING, CheckpointStatus.HELD, CheckpointStatus.COMMITTED}
    separable = {CheckpointStatus.PENDING} if mode is GateMode.NONE else by_position
    return (
        work.spec.mode is TargetMode.MIRROR
        and not (work.key_from_images or work.replayed or work.copies.count or work.hidden)
        and work.window_bound is None
        and chosen.replay is None
        and not (work.changes_key or run.progress.epochs or table in run.progress.behind)
        and _renamed_at(chosen, table) is not None
        and all(entry.status in separable for entry in entries)
        and can_read(work.schema)
    )


def _renamed_at(chosen: Chosen, table: TableName) -> str | None:
    """The position of the newest RENAME TABLE that concerns ``table``; None before it was read."""
    positions = [rename.position for rename in chosen.renames if table in (rename.old, rename.new)]
    return None if None in positions else max(filter(None, positions), default="")


def stage_by_tasks(
    run: Run, chosen: Chosen, work: TableWork, files: ChangelogFiles, to: StagedPlace
) -> StagedChanges | None:
    """Write the changes of a table; None, and nothing is there, where the expressions have to."""
    catalog = run.world.catalog
    staged = make_staged(catalog, to, staged_schema(work.schema))
    whole = _whole(run, chosen, work, files, Destination.of(staged))
    if whole is None:
        drop_made(catalog, to)
        return None
    rows = add_files(staged, to, whole.files, upserts=whole.upserts, deletes=whole.deletes)
    if whole.odd:
        events = chosen.changelog.among(chosen.row_events(work.spec.source), whole.odd)
        decoder = decoder_of(run.pipeline.source, chosen.schemas_of(work.spec.source))
        counts = ChangeCounts()
        rows = add_rows(rows, typed_changes(chosen, decoder, work, (), events, counts), work.schema)
        refuse_unread(work, counts.read.get["records"], len(whole.odd))
    return StagedChanges(
        rows,
        whole.records,
        superseded=whole.superseded,
        is_contested=whole.contested is not None,
        contested=whole.contested,
    )


def _whole(
    run: Run, chosen: Chosen, work: TableWork, files: ChangelogFiles, destination: Destination
) -> PartRows | None:
    """What all files hold; None, and no file of the tasks, where that is not what was counted."""
    mode = run.pipeline.source.gate
    is_bounded = mode is not GateMode.NONE
    job = StagingJob(
        files.io,
        work.spec.source,
        work.schema,
        files.landing,
        run.progress.frontier.bound_in(mode) if is_bounded else "",
        chosen.cut.frontier.bound_in(mode) if is_bounded else LAST,
        work.truncated_at,
        _renamed_at(chosen, work.spec.source) or "",
        run.pipeline.source.format is SourceFormat.DEBEZIUM_POSTGRES,
        destination,
    )
    spark = run.world.spark
    if work.rows <= FEW_RECORDS:
        with catalog_errors(f"the staging of {work.spec.source}"):
            outcomes = [stage_part(job, Part(files.files))]
    else:
        parts = list(_parts(files.files, spark.sparkContext.defaultParallelism))
        tasks = spark.sparkContext.parallelize(parts, len(parts))
        outcomes = tasks.map(partial(stage_part, job)).collect()
    whole = _together(outcomes)
    if whole.is_left or whole.records != work.rows:
        destination.discard(whole.files)
        return None
    return whole


def _parts(files: Sequence[LandedFile], cores: int) -> Iterator[Part]:
    """What each task reads: files with records of one partition hold the same keys."""
    total = sum(file.records for file in files)
    size = max(LEAST_RECORDS, min(MOST_RECORDS, total // cores))
    group: list[LandedFile] = []
    for file in files:
        is_apart = bool(group) and max(grouped.last for grouped in group) < file.first
        if is_apart and sum(grouped.records for grouped in group) >= size:
            yield from _buckets(group, size)
            group = []
        group.append(file)
    yield from _buckets(group, size)


def _buckets(files: Sequence[LandedFile], size: int) -> Iterator[Part]:
    number = max(1, round(sum(file.records for file in files) / size))
    return (Part(tuple(files), bucket, number) for bucket in range(number))


def _together(outcomes: Sequence[PartRows]) -> PartRows:
    """What all tasks staged; left to the expressions where two of them found one key."""
    hashes = pa.concat_arrays([outcome.hashes for outcome in outcomes])
    contested = [outcome.contested for outcome in outcomes if outcome.contested is not None]
    is_shared = len(outcomes) > 1 and pc.count_distinct(hashes).as_py() < len(hashes)
    return PartRows(
        files=[file for outcome in outcomes for file in outcome.files],
        records=sum(outcome.records for outcome in outcomes),
        superseded=sum(outcome.superseded for outcome in outcomes),
        upserts=sum(outcome.upserts for outcome in outcomes),
        deletes=sum(outcome.deletes for outcome in outcomes),
        contested=pa.concat_tables(contested) if contested else None,
        odd=[place for outcome in outcomes for place in outcome.odd],
        is_left=is_shared or any(outcome.is_left for outcome in outcomes),
    )
