"""Land by tasks in Python: each reads a range of offsets and writes it to a file of the changelog.

A record is parsed once, by a reader of its format (`formats.record_reader`), and never enters the
JVM. What is odd to that comes back to the driver and is read by the expressions of the format, as
everything is where tasks cannot land: Avro, compacted topics, and on a cluster, whose workers need
no Python.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import pyarrow as pa
from confluent_kafka import Message
from pyiceberg.manifest import DataFile
from pyspark.sql import Observation, SparkSession

from tidemark.formats.canal_json.record import CanalReaders
from tidemark.formats.debezium.record import BinlogReaders, PostgresReaders
from tidemark.formats.record_reader import RecordReader, RecordReaders
from tidemark.gate.epoch import Ascent, rises
from tidemark.lake.data_files import Destination
from tidemark.lake.landing import COLUMNS, SCHEMA
from tidemark.model.cut import GateMode
from tidemark.model.event import RECORD_COLUMNS, Kind
from tidemark.model.names import TopicName
from tidemark.model.offsets import Ranges, TopicPartition, split_ranges
from tidemark.model.position import NUMBER_DIGITS
from tidemark.runs.jvm import is_local
from tidemark.runs.landing.judge import landing_counts, merged_counts, understood_kinds
from tidemark.runs.landing.masks import Findings, LandingMasks
from tidemark.runs.landing.unread import Reading, Unread, decoded, roles_of
from tidemark.runs.run import Run
from tidemark.spec import PipelineSpec, SourceFormat
from tidemark.topics.consume import consume

FEW_RECORDS = 10_000
"""So many are landed by the driver."""
LEAST_RECORDS, MOST_RECORDS = 25_000, 100_000
"""What a task reads: fewer are not worth another one, and more are not lost if it fails."""
ROWS_IN_GROUP, BYTES_IN_GROUP = 50_000, 32 * 1024 * 1024
ODD_RECORDS, ODD_SHARE, ODD_BYTES = 2_000, 0.01, 16 * 1024 * 1024
"""How much of what a task reads may be odd; beyond, all of the landing is read by expressions."""
MILLIS = pa.timestamp("ms", tz="UTC")

STREAMED = frozenset({Kind.ROW.value, Kind.TRUNCATE.value})

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class LandingFiles:
    """Files with all records of a landing, and what these count, as `landing_counts` has it.

    rises: as `gate.epoch.rises` has it of its changes; false where nobody looked at all of them.
    """

    files: Sequence[DataFile]
    counts: Mapping[str, Any]
    rises: bool


@dataclass(frozen=True, slots=True)
class _Job:
    """What the tasks of a landing share.

    It goes to workers with the function and not with the data of the job, which PySpark leaves in a
    file on its way: broker and warehouse have secrets.
    """

    servers: str
    properties: Mapping[str, str]
    readers: RecordReaders
    landing: int
    destination: Destination
    masks: LandingMasks | None


@dataclass(slots=True)
class _Outcome:
    """What a task hands back; odd: RECORD_COLUMNS. is_too_odd: it gave up. findings: of masks."""

    file: DataFile | None = None
    odd: list[Row] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    ascents: dict[TopicPartition, Ascent] = field(default_factory=dict)
    snapshot_lsn: int | None = None
    lowest_uncommitted: int | None = None
    is_too_odd: bool = False
    findings: Findings | None = None


def can_land_by_tasks(run: Run, reading: Reading) -> bool:
    """Whether the workers have our Python, and a reader knows what the records are.

    No reader compares where records stand with where snapshots do.
    """
    source = run.pipeline.source
    is_known = source.avro is None and not source.is_compacted and not reading.ordering.reads
    return is_known and is_local(run.world.spark)


def land_by_tasks(
    run: Run,
    unread: Unread,
    reading: Reading,
    destination: Destination,
    masks: LandingMasks | None,
) -> LandingFiles | None:
    """Write the unread records; None, and no file, where too much of them is odd."""
    spark, broker = run.world.spark, run.world.broker
    readers, number = _readers(run, unread, reading), unread.after.number
    job = _Job(broker.servers, broker.properties, readers, number, destination, masks)
    parts = list(split_ranges(unread.ranges, _size(spark, unread.ranges)))
    if unread.count <= FEW_RECORDS:
        # A worker in Python takes longer to start than they take to read.
        outcomes = [_land(job, ranges) for ranges in parts]
    else:
        tasks = spark.sparkContext.parallelize(parts, len(parts))
        outcomes = tasks.map(partial(_land, job)).collect()
    files = [outcome.file for outcome in outcomes if outcome.file is not None]
    if any(outcome.is_too_odd for outcome in outcomes):
        destination.discard(files)
        return None
    counts: list[Mapping[str, Any]] = [_counts(run.pipeline, outcome) for outcome in outcomes]
    odd = [row for outcome in outcomes for row in outcome.odd]
    if odd:
        rows, odd_counts = _read_odd(run, unread, reading, odd)
        batches = rows.to_batches()
        file = destination.write(map(masks.masked_batch, batches) if masks else batches)
        files += [file] if file is not None else []
        counts.append(odd_counts)
    if masks is not None:
        for outcome in outcomes:
            masks.findings.add(outcome.findings or Findings())
        if refusal := masks.refusal():
            destination.discard(files)
            raise refusal
    ascents = [ascent for outcome in outcomes for ascent in outcome.ascents.items()]
    rise = not odd and rises(ascents, run.progress.log_end)
    return LandingFiles(files, merged_counts(counts), rise)


def _readers(run: Run, unread: Unread, reading: Reading) -> RecordReaders:
    source, ordering = run.pipeline.source, reading.ordering
    if source.format.is_canal:
        return CanalReaders(by_commit=source.gate is GateMode.WATERMARK)
    is_postgres = source.format is SourceFormat.DEBEZIUM_POSTGRES
    kind = PostgresReaders if is_postgres else BinlogReaders
    return kind(roles_of(unread), ordering, source.signal_table)


def _size(spark: SparkSession, ranges: Ranges) -> int:
    """How many offsets a task reads."""
    cores = spark.sparkContext.defaultParallelism
    share = -(-sum(span.count for span in ranges.values()) // cores)
    return max(LEAST_RECORDS, min(MOST_RECORDS, share))


def _land(job: _Job, ranges: Ranges) -> _Outcome:
    """One task; runs in a worker, or on the driver."""
    outcome = _Outcome()
    # Records are many and hold no cycles: to seek some takes a third of the time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        outcome.file = job.destination.write(_batches(job, ranges, outcome))
    finally:
        if was_enabled:
            gc.enable()
    if outcome.is_too_odd:
        if outcome.file is not None:
            job.destination.discard([outcome.file])
        return _Outcome(is_too_odd=True)
    outcome.snapshot_lsn = job.readers.snapshot_lsn
    outcome.lowest_uncommitted = job.readers.lowest_uncommitted
    outcome.findings = None if job.masks is None else job.masks.findings
    return outcome


def _batches(job: _Job, ranges: Ranges, outcome: _Outcome) -> Iterator[pa.RecordBatch]:
    """What is regular of a task's records, in pieces of bounded size; ``outcome`` gets the rest."""
    readers: dict[tuple[str | None, int | None], RecordReader] = {}
    ascents: dict[tuple[str | None, int | None], Ascent] = {}
    rows: list[Row] = []
    size = odd_size = 0
    kinds = outcome.kinds
    for message in consume(job.servers, job.properties, ranges):
        at, key, value = (message.topic(), message.partition()), message.key(), message.value()
        read = readers.get(at)
        if read is None:
            topic, partition = TopicName(message.topic() or ""), message.partition() or 0
            read = readers[at] = job.readers.reader(topic, partition)
            ascents[at] = outcome.ascents[TopicPartition(topic, partition)] = Ascent()
        length = len(key or b"") + len(value or b"")
        envelope = read(key, value)
        if envelope is None:
            outcome.odd.append(_record(message, key, value))
            odd_size += length
            most = max(ODD_RECORDS, ODD_SHARE * kinds.total())
            outcome.is_too_odd = len(outcome.odd) > most or odd_size > ODD_BYTES
            if outcome.is_too_odd:
                return
            continue
        kinds[envelope[0]] += 1
        kind, schema, table, op, place, *rest = envelope
        time_ms, snapshot = envelope[5], envelope[8]
        if kind in STREAMED and snapshot is None and place is not None and time_ms is not None:
            ascents[at].add(place, time_ms)
        position = None if place is None else f"{place}{message.offset():016X}"
        if job.masks is not None:
            key, value = job.masks.masked(kind, (schema, table), key, value)
        rows.append((*_record(message, key, value), kind, schema, table, op, position, *rest))
        size += length
        if len(rows) == ROWS_IN_GROUP or size >= BYTES_IN_GROUP:
            yield _batch(rows, job.landing)
            rows, size = [], 0
    if rows:
        yield _batch(rows, job.landing)


def _record(message: Message, key: bytes | None, value: bytes | None) -> Row:
    """RECORD_COLUMNS."""
    headers = cast("Sequence[tuple[str, bytes | None]]", message.headers() or ())
    return (
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        [{"key": name, "value": content} for name, content in headers] or None,
        key,
        value,
    )


def _batch(rows: Sequence[Row], landing: int) -> pa.RecordBatch:
    number = pa.repeat(pa.scalar(landing, pa.int64()), len(rows))
    return pa.record_batch([number, *_arrays(rows, COLUMNS[1:])], names=COLUMNS)


def _arrays(rows: Sequence[Row], names: Sequence[str]) -> list[pa.Array]:
    """The columns of ``rows``, which are called ``names``."""
    columns = zip(names, zip(*rows, strict=True), strict=True)
    return [_array(values, SCHEMA.field(name).type) for name, values in columns]


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Times are in milliseconds."""
    is_time = pa.types.is_timestamp(kind)
    return pa.array(values, MILLIS).cast(kind) if is_time else pa.array(values, kind)


def _counts(pipeline: PipelineSpec, outcome: _Outcome) -> dict[str, Any]:
    """As `landing_counts` of records of which none is unreadable."""
    changes = outcome.kinds[Kind.ROW] + outcome.kinds[Kind.TRUNCATE]
    counts: dict[str, Any] = {
        "records": outcome.kinds.total(),
        "understood": sum(outcome.kinds[kind] for kind in understood_kinds(pipeline)),
        "changes": changes,
    }
    for name in ("snapshot_lsn", "lowest_uncommitted"):
        number = getattr(outcome, name)
        if number is not None:
            counts[name] = f"{number:0{NUMBER_DIGITS}X}"
    return counts


def _read_odd(
    run: Run, unread: Unread, reading: Reading, odd: Sequence[Row]
) -> tuple[pa.Table, Mapping[str, Any]]:
    """Records that are odd, decoded; and what they count. Out: COLUMNS."""
    table = pa.table(_arrays(odd, RECORD_COLUMNS), names=RECORD_COLUMNS)
    records = run.world.spark.createDataFrame(table)
    counted = Observation()
    events = decoded(run, unread, reading, records)
    rows = events.observe(counted, *landing_counts(run.pipeline, reading)).toArrow()
    return rows, counted.get
