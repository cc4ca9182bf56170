"""Stage by Python: the newest change of each key, read from the changelog's files and typed.

No payload enters the JVM, and none of a superseded change is decoded. A few rows are staged by the
driver itself, many by tasks. What the reader of rows (`formats.row_reader`) finds odd is staged by
the expressions, and so is a whole table where two tasks find changes of one key.
"""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile

from tidemark.formats.decoder import decoder_of
from tidemark.formats.row_reader import ODD, Key, Row, RowReader, can_read, row_fields
from tidemark.lake.catalog import catalog_errors
from tidemark.lake.data_files import Destination
from tidemark.lake.landed_files import LandedFile, files_since
from tidemark.lake.staged import StagedPlace, add_files, add_rows, drop_made, make_staged
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.columns import (
    COMMIT_TIME,
    POSITION,
    STAGED_KEY_HASH,
    STAGED_OP,
    UNAVAILABLE,
    TableSchema,
)
from tidemark.model.cut import GateMode
from tidemark.model.event import Kind, Op
from tidemark.model.names import TableName
from tidemark.model.position import LAST, Position
from tidemark.model.target_mode import TargetMode
from tidemark.runs.choose import Chosen
from tidemark.runs.jvm import is_local
from tidemark.runs.run import Run
from tidemark.runs.staging.row_changes import StagedChanges
from tidemark.runs.staging.typed_changes import ChangeCounts, refuse_unread, typed_changes
from tidemark.runs.tables.work import TableWork
from tidemark.spec import SourceFormat

FEW_RECORDS = 10_000
"""So many of a table are staged by the driver."""
LEAST_RECORDS, MOST_RECORDS = 50_000, 250_000
"""Of which a task keeps the newest in memory."""
ROWS_IN_GROUP, BYTES_IN_GROUP = 20_000, 16 * 1024 * 1024
ODD_ROWS, ODD_SHARE = 1_000, 0.01
_SELECTED = ("landing", "kind", "source_schema", "source_table")
_ORDERED = ("position", "partition", "op", "schema_id", "key")
_RECORD = ("topic", "partition", "offset", "op", "position", "commit_time", "value")
# Values of enumerations are looked up once, and not for each change.
_UPSERT, _DELETE = Op.UPSERT.value, Op.DELETE.value

Place = tuple[str, int, int]
"""Topic, partition and offset of a record."""
_Change = tuple[str, int, int, int, str]
"""Position, partition, the numbers of file and row, and op; the newest of a key is the greatest."""


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
        found = files_since(run.world.catalog, run.system, head, landing)
        return None if found is None else cls(*found, landing)


@dataclass(frozen=True, slots=True)
class _Job:
    """What the tasks of a table share. It goes to workers with the function, as it has secrets.

    lowest, bound: the positions from which and up to which records are of the cut; truncated_at:
    what stands at or below it has no effect. named_above: up to there records may name the table
    otherwise, or another one so. may_share_keys: two rows may have had one key in a
    transaction.
    """

    io: FileIO
    table: TableName
    schema: TableSchema
    landing: int
    lowest: str
    bound: str
    truncated_at: Position | None
    named_above: str
    may_share_keys: bool
    destination: Destination


@dataclass(frozen=True, slots=True)
class _Part:
    """What one task reads: of ``files`` the changes whose keys are in one of ``buckets``."""

    files: Sequence[LandedFile]
    bucket: int = 0
    buckets: int = 1

    def holds(self, key: bytes) -> bool:
        """Whether a key, as it is written, is of the part."""
        return self.buckets == 1 or crc32(key) % self.buckets == self.bucket


@dataclass(slots=True)
class TaskRows:
    """What was staged: files with typed rows, and what of the changes is not among them.

    records: that were read. kept: changes that are the newest of their keys. odd: records of those
    that could not be typed. contested: as `fold.contested.count_contested` has it.
    hashes: of the keys.
    """

    files: list[DataFile] = field(default_factory=list)
    records: int = 0
    kept: int = 0
    upserts: int = 0
    deletes: int = 0
    contested: int = 0
    odd: list[Place] = field(default_factory=list)
    hashes: pa.Array = field(default_factory=lambda: pa.array([], pa.int64()))
    is_too_odd: bool = False


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
        and not (work.key_from_images or work.replayed or work.copies.count or work.copies.below)
        and work.window_bound is None
        and chosen.replay is None
        and not (work.changes_key or run.progress.epochs or table in run.progress.behind)
        and _named_above(chosen, table) is not None
        and all(entry.status in separable for entry in entries)
        and can_read(work.schema)
    )


def _named_above(chosen: Chosen, table: TableName) -> str | None:
    """Above which position records name the table as it is named now; None if nothing tells."""
    positions = [one.position for one in chosen.renames if table in (one.old, one.new)]
    return None if None in positions else max(filter(None, positions), default="")


def staged_schema(schema: TableSchema) -> pa.Schema:
    """The columns of `lake.staged`."""
    system = [
        pa.field(STAGED_OP, pa.string()),
        pa.field(POSITION, pa.string()),
        pa.field(COMMIT_TIME, pa.timestamp("us", tz="UTC")),
        pa.field(UNAVAILABLE, pa.list_(pa.string())),
    ]
    if len(schema.key) > 1:
        system.append(pa.field(STAGED_KEY_HASH, pa.int64()))
    return pa.schema([*row_fields(schema), *system])


def stage_by_tasks(
    run: Run, chosen: Chosen, work: TableWork, found: ChangelogFiles, to: StagedPlace
) -> StagedChanges | None:
    """Write the changes of a table; None, and nothing is there, where the expressions have to."""
    catalog = run.world.catalog
    staged = make_staged(catalog, to, staged_schema(work.schema))
    whole = _whole(run, chosen, work, found, Destination.of(staged))
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
        rows, whole.records, superseded=whole.records - whole.kept, contested=whole.contested
    )


def _whole(
    run: Run, chosen: Chosen, work: TableWork, found: ChangelogFiles, destination: Destination
) -> TaskRows | None:
    """What all files hold; None, and no file of the tasks, where that is not what was counted."""
    mode = run.pipeline.source.gate
    is_bounded = mode is not GateMode.NONE
    job = _Job(
        found.io,
        work.spec.source,
        work.schema,
        found.landing,
        run.progress.frontier.bound_in(mode) if is_bounded else "",
        chosen.cut.frontier.bound_in(mode) if is_bounded else LAST,
        work.truncated_at,
        _named_above(chosen, work.spec.source) or "",
        run.pipeline.source.format is SourceFormat.DEBEZIUM_POSTGRES,
        destination,
    )
    spark = run.world.spark
    if work.rows <= FEW_RECORDS:
        with catalog_errors(f"the staging of {work.spec.source}"):
            outcomes = [_stage(job, _Part(found.files))]
    else:
        parts = list(_parts(found.files, spark.sparkContext.defaultParallelism))
        tasks = spark.sparkContext.parallelize(parts, len(parts))
        outcomes = tasks.map(partial(_stage, job)).collect()
    whole = _together(outcomes)
    if whole.is_too_odd or whole.records != work.rows:
        destination.discard(whole.files)
        return None
    return whole


def _parts(files: Sequence[LandedFile], cores: int) -> Iterator[_Part]:
    """What each task reads: files with records of one partition hold the same keys."""
    total = sum(file.records for file in files)
    size = max(LEAST_RECORDS, min(MOST_RECORDS, total // cores))
    group: list[LandedFile] = []
    for file in files:
        is_apart = bool(group) and max(one.last for one in group) < file.first
        if is_apart and sum(one.records for one in group) >= size:
            yield from _buckets(group, size)
            group = []
        group.append(file)
    yield from _buckets(group, size)


def _buckets(files: Sequence[LandedFile], size: int) -> Iterator[_Part]:
    number = max(1, round(sum(file.records for file in files) / size))
    return (_Part(tuple(files), bucket, number) for bucket in range(number))


def _together(outcomes: Sequence[TaskRows]) -> TaskRows:
    """What all tasks found; too odd where a key is in the files of two."""
    hashes = pa.concat_arrays([outcome.hashes for outcome in outcomes])
    whole = TaskRows(hashes=hashes)
    for one in outcomes:
        whole.files += one.files
        whole.odd += one.odd
        for name in ("records", "kept", "upserts", "deletes", "contested"):
            setattr(whole, name, getattr(whole, name) + getattr(one, name))
        whole.is_too_odd |= one.is_too_odd
    if len(outcomes) > 1:
        whole.is_too_odd |= pc.count_distinct(hashes).as_py() < len(hashes)
    return whole


def _stage(job: _Job, part: _Part) -> TaskRows:
    """One task; runs in a worker, or on the driver."""
    # Changes are many and hold no cycles: to seek some takes a third of the time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return _Task(job, part).stage()
    finally:
        if was_enabled:
            gc.enable()


class _Task:
    """The rows of some files: first what is newest, by light columns, then its payloads."""

    def __init__(self, job: _Job, part: _Part) -> None:
        self._job, self._part = job, part
        self._reader = RowReader(job.schema)
        self._schema = staged_schema(job.schema)
        self._outcome = TaskRows()
        self._upserted: set[bytes] = set()

    def stage(self) -> TaskRows:
        """Choose, then write; what no reading foresees is left to the expressions as well."""
        outcome, destination = self._outcome, self._job.destination
        try:
            file = destination.write(self._batches(self._choose()))
        except ODD:
            return TaskRows(is_too_odd=True)
        outcome.files = [file] if file is not None else []
        if outcome.is_too_odd:
            destination.discard(outcome.files)
            outcome.files = []
        return outcome

    def _choose(self) -> list[dict[int, Key]]:
        """The rows of each file with the newest change of a key, and that (POS-13)."""
        outcome, newest = self._outcome, dict[Key, _Change]()
        for text, change in self._newest_written().items():
            key = self._reader.key(text)
            seen = newest.get(key)
            newest[key] = change if seen is None else max(seen, change)
        outcome.kept = len(newest)
        outcome.hashes = pa.array(map(self._reader.hash, newest), pa.int64())
        chosen: list[dict[int, Key]] = [{} for _ in self._part.files]
        upserted = set(map(self._reader.key, self._upserted))
        for key, (*_, number, row, op) in newest.items():
            chosen[number][row] = key
            outcome.contested += op == _DELETE and key in upserted
        return chosen

    def _newest_written(self) -> dict[bytes, _Change]:
        """The newest change of each key as it is written, as one key may be in several ways."""
        newest: dict[bytes, _Change] = {}
        outcome, part, job = self._outcome, self._part, self._job
        truncated_at = job.truncated_at or ""
        above = max(self._reader.above, job.named_above)
        odd = self._reader.odd_schemas
        for number, file in enumerate(part.files):
            for first, batch in file.batches(job.io, (*_SELECTED, *_ORDERED)):
                places = pc.indices_nonzero(self._is_of_cut(batch))
                rows = batch.select(list(_ORDERED)).take(places)
                columns = (column.to_pylist() for column in (places, *rows.columns))
                for at, position, partition, op, schema_id, key in zip(*columns, strict=True):
                    if key is None or position <= above or schema_id in odd:
                        raise ValueError("a record is of another time")
                    if not part.holds(key):
                        continue
                    outcome.records += 1
                    if job.may_share_keys and op == _UPSERT:
                        self._upserted.add(key)
                    if position > truncated_at:
                        change = (position, partition, number, first + at, op)
                        seen = newest.get(key)
                        if seen is None or change > seen:
                            newest[key] = change
        return newest

    def _is_of_cut(self, batch: pa.RecordBatch) -> pa.Array:
        job = self._job
        column = batch.column
        is_own = pc.and_(
            pc.equal(column("source_schema"), job.table.schema),
            pc.equal(column("source_table"), job.table.table),
        )
        is_row = pc.and_(
            pc.equal(column("kind"), Kind.ROW.value),
            pc.greater_equal(column("landing"), job.landing),
        )
        is_within = pc.and_(
            pc.greater_equal(column("position"), job.lowest),
            pc.less(column("position"), job.bound),
        )
        return pc.and_(pc.and_(is_own, is_row), is_within)

    def _batches(self, chosen: Sequence[dict[int, Key]]) -> Iterator[pa.RecordBatch]:
        """Typed rows in pieces of bounded size; what is odd goes to the outcome."""
        outcome, rows, size = self._outcome, list[Row](), 0
        for file, wanted in zip(self._part.files, chosen, strict=True):
            for key, (topic, partition, offset, *change, value) in self._changes(file, wanted):
                try:
                    columns = self._columns(key, change[0], value)
                except ODD:
                    outcome.odd.append((topic, partition, offset))
                    most = max(ODD_ROWS, ODD_SHARE * outcome.kept)
                    outcome.is_too_odd = len(outcome.odd) > most
                    if outcome.is_too_odd:
                        return
                    continue
                hashed = [self._reader.hash(key)] if len(key) > 1 else []
                rows.append((*columns, *change, None, *hashed))
                outcome.upserts += change[0] == _UPSERT
                outcome.deletes += change[0] == _DELETE
                size += len(value or b"")
                if len(rows) == ROWS_IN_GROUP or size >= BYTES_IN_GROUP:
                    yield self._batch(rows)
                    rows, size = [], 0
        if rows:
            yield self._batch(rows)

    def _changes(self, file: LandedFile, wanted: dict[int, Key]) -> Iterator[tuple[Key, Row]]:
        """Keys of ``wanted``, and _RECORD of their rows."""
        places = sorted(wanted)
        for first, batch in file.batches(self._job.io, _RECORD, places):
            here = places[bisect_left(places, first) : bisect_left(places, first + batch.num_rows)]
            rows = batch.take(pa.array([place - first for place in here], pa.int64()))
            columns = [
                (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column)
                for column in (rows.column(name) for name in _RECORD)
            ]
            values = zip(*(column.to_pylist() for column in columns), strict=True)
            yield from zip(map(wanted.__getitem__, here), values, strict=True)

    def _columns(self, key: Key, op: str, value: bytes | None) -> Row:
        if value is None:
            raise ValueError("a change has no record")
        image = self._reader.image(value)
        if op == _DELETE:
            return self._reader.deleted(key)
        if image is None:
            raise ValueError("an upsert has no row")
        return self._reader.typed(key, image)

    def _batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        schema = self._schema
        columns, width = list(zip(*rows, strict=True)), self._reader.width
        system = zip(columns[width:], list(schema)[width:], strict=True)
        arrays = (pa.array(values, known.type) for values, known in system)
        return pa.record_batch([*self._reader.arrays(columns[:width]), *arrays], schema=schema)
