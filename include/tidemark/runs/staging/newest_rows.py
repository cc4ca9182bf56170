"""What one task stages: the newest change of each key in some files of the changelog, typed.

First it finds the newest changes by light columns, then it reads the payloads of those alone.
"""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import itemgetter
from typing import TypeVar
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile

from tidemark.formats.row_reader import ODD, Key, Row, RowReader, row_fields
from tidemark.lake.data_files import Destination
from tidemark.lake.landed_files import LandedFile
from tidemark.model.columns import (
    COMMIT_TIME,
    POSITION,
    STAGED_KEY_HASH,
    STAGED_OP,
    UNAVAILABLE,
    TableSchema,
)
from tidemark.model.event import Kind, Op
from tidemark.model.names import TableName
from tidemark.model.position import Position

ROWS_IN_GROUP, BYTES_IN_GROUP = 20_000, 16 * 1024 * 1024
ODD_ROWS, ODD_SHARE = 1_000, 0.01
"""How many rows of a part may be odd; beyond, the table is left to the expressions."""
_SELECTED = ("landing", "kind", "source_schema", "source_table")
_ORDERED = ("position", "partition", "op", "schema_id", "key")
_RECORD = ("topic", "partition", "offset", "op", "position", "commit_time", "snapshot", "value")
CONTESTED = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("op", pa.string()),
        pa.field("position", pa.string()),
        pa.field("part", pa.int32()),
        pa.field("begins", pa.bool_()),
        pa.field("transaction", pa.string()),
    ]
)
"""What is known of a change of a contested key, beside its ``row_key``."""
# Values of enumerations are looked up once, and not for each change.
_UPSERT, _DELETE = Op.UPSERT.value, Op.DELETE.value

RecordPlace = tuple[str, int, int]
"""Topic, partition and offset of a record."""
_Change = tuple[str, int, int, int, str]
"""Position, partition, the numbers of file and row, and op; the newest of a key is the greatest."""
K = TypeVar("K", bytes, Key)


@dataclass(frozen=True, slots=True)
class StagingJob:
    """What the tasks of a table share. It goes to workers with the function, as it has secrets.

    landing: the oldest that counts. lowest, bound: the records of the cut stand at or above the
    one position and below the other. truncated_at: what stands at or below it has no effect.
    renamed_at: at or below it, records may name the table otherwise. may_share_keys: two rows may
    have had one key in a transaction.
    """

    io: FileIO
    table: TableName
    schema: TableSchema
    landing: int
    lowest: str
    bound: str
    truncated_at: Position | None
    renamed_at: str
    may_share_keys: bool
    destination: Destination


@dataclass(frozen=True, slots=True)
class Part:
    """What one task reads: of ``files`` the changes whose keys are in one of ``buckets``."""

    files: Sequence[LandedFile]
    bucket: int = 0
    buckets: int = 1

    def holds(self, key: bytes) -> bool:
        """Whether a key, as it is written, is of the part."""
        return self.buckets == 1 or crc32(key) % self.buckets == self.bucket


@dataclass(slots=True)
class PartRows:
    """What a task staged, or several.

    files: with typed rows. records: that were read. superseded: changes that lost to a newer one of
    their key, or to a truncate. odd: records of those that could not be typed. contested: changes
    of the keys that `fold.contested.contested_keys` has to look at, None where there are none.
    hashes: of the keys. is_left: nothing is staged, the expressions have to.
    """

    files: list[DataFile] = field(default_factory=list)
    records: int = 0
    superseded: int = 0
    upserts: int = 0
    deletes: int = 0
    contested: pa.Table | None = None
    odd: list[RecordPlace] = field(default_factory=list)
    hashes: pa.Array = field(default_factory=lambda: pa.array([], pa.int64()))
    is_left: bool = False


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


def stage_part(job: StagingJob, part: Part) -> PartRows:
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
    def __init__(self, job: StagingJob, part: Part) -> None:
        self._job, self._part = job, part
        self._reader = RowReader(job.schema)
        self._schema = staged_schema(job.schema)
        self._rows = PartRows()
        self._places: dict[bytes, list[tuple[int, int]]] = {}

    def stage(self) -> PartRows:
        """Choose, then write; what no reading foresees is left to the expressions as well."""
        rows, destination = self._rows, self._job.destination
        try:
            file = destination.write(self._batches(self._choose()))
        except ODD:
            return PartRows(is_left=True)
        rows.files = [file] if file is not None else []
        if rows.is_left:
            destination.discard(rows.files)
            rows.files = []
        return rows

    def _choose(self) -> Sequence[Mapping[int, Key]]:
        """The row numbers of each file with the newest change of a key, and that (POS-13)."""
        newest: dict[Key, _Change] = {}
        written = self._newest_written()
        keys = {text: self._reader.key(text) for text in written}
        for text, change in written.items():
            self._enter(newest, keys[text], change)
        self._rows.hashes = pa.array(map(self._reader.hash, newest), pa.int64())
        chosen = self._nowhere()
        for key, (*_, number, row, _) in newest.items():
            chosen[number][row] = key
        if self._job.may_share_keys:
            self._rows.contested = self._changes_of_contested(newest, keys)
        return chosen

    def _nowhere(self) -> list[dict[int, Key]]:
        return [{} for _ in self._part.files]

    def _changes_of_contested(
        self, newest: Mapping[Key, _Change], keys: Mapping[bytes, Key]
    ) -> pa.Table | None:
        """All changes of the keys that a transaction gave a row and deleted last (KEY-9)."""
        deleted: dict[Key, list[tuple[int, int]]] = {}
        for text, places in self._places.items():
            key = keys[text]
            *_, op = newest[key]
            if op == _DELETE:
                deleted.setdefault(key, []).extend(places)
        wanted = self._nowhere()
        for key, places in deleted.items():
            for number, row in places if len(places) > 1 else ():
                wanted[number][row] = key
        by_key: dict[Key, list[Row]] = {}
        for file, rows in zip(self._part.files, wanted, strict=True):
            for key, (*place, op, position, _, snapshot, value) in self._changes(file, rows):
                begins, transaction = self._reader.origin(_present(value))
                transaction = None if snapshot is not None else transaction
                by_key.setdefault(key, []).append((*place, op, position, 0, begins, transaction))
        changes = [
            (self._reader.deleted(key), *change)
            for key, of_key in by_key.items()
            if _is_contested(of_key)
            for change in of_key
        ]
        return self._contested(changes) if changes else None

    def _contested(self, changes: Sequence[Row]) -> pa.Table:
        """The changes as `fold.contested.contested_keys` takes them."""
        rows, *columns = zip(*changes, strict=True)
        typed = self._reader.arrays(list(zip(*rows, strict=True)))
        names = self._job.schema.names
        key = [(name, typed[names.index(name)]) for name in self._job.schema.key]
        key_type = pa.struct([pa.field(name, values.type) for name, values in key])
        row_key = pa.StructArray.from_arrays([values for _, values in key], fields=list(key_type))
        arrays = map(pa.array, columns, CONTESTED.types)
        return pa.table([row_key, *arrays], names=["row_key", *CONTESTED.names])

    def _newest_written(self) -> dict[bytes, _Change]:
        """The newest change of each key as it is written, as one key may be in several ways."""
        newest: dict[bytes, _Change] = {}
        rows, part, job = self._rows, self._part, self._job
        truncated_at = job.truncated_at or ""
        above = max(self._reader.above, job.renamed_at)
        odd = self._reader.odd_schemas
        for number, file in enumerate(part.files):
            for first, batch in file.batches(job.io, (*_SELECTED, *_ORDERED)):
                places = pc.indices_nonzero(self._is_of_cut(batch))
                records = batch.select(list(_ORDERED)).take(places)
                columns = (column.to_pylist() for column in (places, *records.columns))
                for at, position, partition, op, schema_id, key in zip(*columns, strict=True):
                    if key is None or position <= above or schema_id in odd:
                        raise ValueError("a record is of another time")
                    if not part.holds(key):
                        continue
                    rows.records += 1
                    if position <= truncated_at:
                        rows.superseded += 1
                    else:
                        if job.may_share_keys:
                            self._places.setdefault(key, []).append((number, first + at))
                        change = (position, partition, number, first + at, op)
                        self._enter(newest, key, change)
        return newest

    def _enter(self, newest: dict[K, _Change], key: K, change: _Change) -> None:
        """Keep the newer one of two changes of a key."""
        seen = newest.get(key)
        if seen is not None:
            self._rows.superseded += 1
        if seen is None or change > seen:
            newest[key] = change

    def _is_of_cut(self, batch: pa.RecordBatch) -> pa.Array:
        job, column = self._job, batch.column
        conditions = (
            pc.equal(column("source_schema"), job.table.schema),
            pc.equal(column("source_table"), job.table.table),
            pc.equal(column("kind"), Kind.ROW.value),
            pc.greater_equal(column("landing"), job.landing),
            pc.greater_equal(column("position"), job.lowest),
            pc.less(column("position"), job.bound),
        )
        return reduce(pc.and_, conditions)

    def _batches(self, chosen: Sequence[Mapping[int, Key]]) -> Iterator[pa.RecordBatch]:
        """Typed rows in batches of bounded size; what is odd goes to the outcome."""
        outcome, rows, size = self._rows, list[Row](), 0
        most_odd = max(ODD_ROWS, ODD_SHARE * sum(map(len, chosen)))
        for file, wanted in zip(self._part.files, chosen, strict=True):
            for key, (topic, partition, offset, *change, _, value) in self._changes(file, wanted):
                try:
                    columns = self._columns(key, change[0], value)
                except ODD:
                    outcome.odd.append((topic, partition, offset))
                    outcome.is_left = len(outcome.odd) > most_odd
                    if outcome.is_left:
                        return
                    continue
                hashed = [self._reader.hash(key)] if len(key) > 1 else []
                rows.append((*columns, *change, None, *hashed))
                outcome.upserts += change[0] == _UPSERT
                outcome.deletes += change[0] == _DELETE
                size += len(value)
                if len(rows) == ROWS_IN_GROUP or size >= BYTES_IN_GROUP:
                    yield self._batch(rows)
                    rows, size = [], 0
        if rows:
            yield self._batch(rows)

    def _changes(self, file: LandedFile, wanted: Mapping[int, Key]) -> Iterator[tuple[Key, Row]]:
        """Keys of ``wanted``, and _RECORD of their rows."""
        places = sorted(wanted)
        for first, batch in file.batches(self._job.io, _RECORD, places) if places else ():
            here = places[bisect_left(places, first) : bisect_left(places, first + batch.num_rows)]
            rows = batch.take(pa.array([place - first for place in here], pa.int64()))
            columns = [
                (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column)
                for column in (rows.column(name) for name in _RECORD)
            ]
            values = zip(*(column.to_pylist() for column in columns), strict=True)
            yield from zip(map(wanted.__getitem__, here), values, strict=True)

    def _columns(self, key: Key, op: str, value: bytes | None) -> Row:
        image = self._reader.image(_present(value))
        if op == _DELETE:
            return self._reader.deleted(key)
        if image is None:
            raise ValueError("an upsert has no row")
        return self._reader.typed(key, image)

    def _batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        columns, width = list(zip(*rows, strict=True)), self._reader.width
        system = zip(columns[width:], list(self._schema)[width:], strict=True)
        arrays = (pa.array(values, known.type) for values, known in system)
        return pa.record_batch(
            [*self._reader.arrays(columns[:width]), *arrays], schema=self._schema
        )


def _present(value: bytes | None) -> bytes:
    if value is None:
        raise ValueError("a change has no record")
    return value


def _is_contested(changes: Sequence[Row]) -> bool:
    """Whether the newest change is a delete in a transaction that gave a row the key.

    Changes are CONTESTED, their order is not known; copies of one are among them.
    """
    *_, newest = max(changes, key=itemgetter(4, 1))
    return newest is not None and any(
        begins and transaction == newest for *_, begins, transaction in changes
    )
