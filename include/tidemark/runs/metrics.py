"""Metrics of a pipeline, out of its status and the sizes of its targets; reads only, no JVM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tidemark.errors import TidemarkError
from tidemark.lake.catalog import TableId
from tidemark.lake.table_sizes import TableSize, read_sizes
from tidemark.model import metrics
from tidemark.model.bucket import Bucket
from tidemark.model.cut import HoldCode
from tidemark.model.metrics import Metric, Sample
from tidemark.model.result import CutStatus
from tidemark.model.shown import now_ms
from tidemark.runs.freshness import age_ms, complete_ms
from tidemark.runs.status import (
    NOT_ASKED,
    PipelineStatus,
    TableStatus,
    pipeline_status,
    unreadable_status,
)
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec


def read_samples(pipeline: PipelineSpec, world: World) -> list[Sample]:
    """Every metric of ``pipeline``; of one that cannot be read, only that it cannot."""
    try:
        status = pipeline_status(pipeline, world)
        sizes = read_sizes(world.catalog, [_target(table) for table in status.tables])
    except TidemarkError as error:
        status, sizes = unreadable_status(pipeline, error), {}
    return list(samples_of(status, sizes, now_ms()))


def samples_of(
    status: PipelineStatus, sizes: Mapping[TableId, TableSize], at_ms: int
) -> Iterator[Sample]:
    """The metrics of ``status`` as of ``at_ms``, milliseconds since 1970."""
    up = status.is_readable and status.trouble is None
    yield _sample(metrics.PIPELINE_UP, up, status.pipeline)
    if not status.is_readable:
        return
    yield from _of_pipeline(status)
    yield from _of_newest_cut(status)
    ages = [age_ms(status, table, at_ms) for table in status.tables]
    known = [age for age in ages if age is not None]
    if known:
        yield _sample(metrics.PIPELINE_FRESHNESS, max(known) / 1000, status.pipeline)
    for table, age in zip(status.tables, ages, strict=True):
        yield from _of_table(status, table, age)
        if (size := sizes.get(_target(table))) is not None:
            yield from _of_size(size, (status.pipeline, str(table.table)))


def _of_pipeline(status: PipelineStatus) -> Iterator[Sample]:
    name, lag, attempt = status.pipeline, status.lag, status.attempt
    if lag is not None:
        for stage, records in (("unread", lag.unread), ("landed", lag.landed), ("held", lag.held)):
            yield _sample(metrics.RECORDS_WAITING, records, name, stage)
    is_blocked = attempt is not None and attempt.result.status is CutStatus.BLOCKED
    yield _sample(metrics.AUDIT_BLOCKED, is_blocked, name)
    yield _sample(metrics.FAILED_ATTEMPTS, len(status.failed), name)
    yield _sample(metrics.STALLED, status.stalled_ms / 1000, name)
    yield _sample(metrics.QUARANTINED, status.quarantined, name)
    by_code: Counter[tuple[str, str]] = Counter()
    for kind in status.quarantine:  # It has a row for each column, too.
        by_code[kind.table, kind.code.value] += kind.changes
    for (table, code), changes in sorted(by_code.items()):
        yield _sample(metrics.QUARANTINED_BY_CODE, changes, name, table, code)


def _of_newest_cut(status: PipelineStatus) -> Iterator[Sample]:
    name, newest = status.pipeline, status.published
    yield _sample(metrics.CUTS, newest.result.cut if newest else 0, name)
    if newest is None:
        return
    yield _sample(metrics.CUT_PUBLISHED, newest.at_ms / 1000, name)
    staged = (entry.at_ms for entry in status.history if entry.result.cut == newest.result.cut)
    if (staged_ms := next(staged, None)) is not None:
        delay = max(0, newest.at_ms - staged_ms) / 1000
        yield _sample(metrics.CUT_PUBLISH_DELAY, delay, name)
    for bucket in Bucket:
        changes = newest.result.buckets.get(bucket, 0)
        yield _sample(metrics.CUT_CHANGES, changes, name, bucket.value)
    for code in HoldCode:
        yield _sample(metrics.HOLD, newest.result.hold_code == code, name, code.value)


def _of_table(status: PipelineStatus, table: TableStatus, age: int | None) -> Iterator[Sample]:
    labels = (status.pipeline, str(table.table))
    if age is not None:
        yield _sample(metrics.TABLE_FRESHNESS, age / 1000, *labels)
        if complete := complete_ms(status, table):
            yield _sample(metrics.TABLE_COMPLETE, complete / 1000, *labels)
    if status.freshness_ms:
        yield _sample(metrics.TABLE_FRESHNESS_LIMIT, status.freshness_ms / 1000, *labels)
    yield _sample(metrics.TABLE_BLOCKED, table.why not in ("", NOT_ASKED), *labels)
    if table.verdict is not None:
        yield _sample(metrics.TABLE_FAILED_CHECKS, len(table.verdict.failures), *labels)


def _of_size(size: TableSize, labels: tuple[str, str]) -> Iterator[Sample]:
    yield _sample(metrics.TABLE_ROWS, size.rows, *labels)
    yield _sample(metrics.TABLE_DATA_FILES, size.data_files, *labels)
    yield _sample(metrics.TABLE_DELETE_FILES, size.delete_files, *labels)
    yield _sample(metrics.TABLE_BYTES, size.bytes, *labels)


def _sample(metric: Metric, value: float, *labels: str) -> Sample:
    return Sample(metric, labels, float(value))


def _target(table: TableStatus) -> TableId:
    namespace, _, name = table.target.rpartition(".")
    return TableId(namespace, name)
