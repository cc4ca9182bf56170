"""A catalog and an object store in memory: rows are locations, and a swap may come late."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, cast

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.io import FileIO
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.snapshots import MetadataLogEntry, Operation, Snapshot, Summary
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
    update_table_metadata,
)
from pyiceberg.types import LongType, NestedField

from tidemark.errors import UNCHANGED, OutcomeUnknownError, SupersededError
from tidemark.lake.catalog import TableId
from tidemark.lake.due import Due
from tidemark.lake.sql import TARGET_PROPERTIES

Rows = Mapping[int, int]
SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
VERSIONS = int(TARGET_PROPERTIES["write.metadata.previous-versions-max"])
"""Older files of metadata that a table names, beside the one that it has."""


class MissingFileError(Exception):
    """A file that a snapshot names is not there."""


@dataclass(frozen=True)
class Files:
    """What a snapshot names: files of rows, and of deletes, each with the files that it is of."""

    data: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()

    @property
    def all(self) -> frozenset[str]:
        return frozenset((*self.data, *self.deletes))


@dataclass(frozen=True)
class Deletes:
    """Keys of a file of rows that are there no more."""

    path: str
    keys: frozenset[int]


class _Input:
    def __init__(self, text: bytes) -> None:
        self.location = "memory"
        self._text = text

    def open(self) -> BytesIO:
        return BytesIO(self._text)


class _Io:
    """Reads files of metadata; no other is read by pyiceberg here."""

    def __init__(self, metadata: Mapping[str, TableMetadata]) -> None:
        self._metadata = metadata

    def new_input(self, location: str) -> _Input:
        if location not in self._metadata:
            raise FileNotFoundError(location)
        return _Input(self._metadata[location].model_dump_json().encode())


Swap = Callable[[], bool]


@dataclass
class Store:
    """Files with their contents and ages, names with the metadata that they stand at.

    between: does what others do in the midst of a publication. late: swaps that were asked for, and
    nobody was answered.
    """

    rng: random.Random
    now_ms: int = 10**12
    files: dict[str, Any] = field(default_factory=dict)
    born: dict[str, int] = field(default_factory=dict)
    metadata: dict[str, TableMetadata] = field(default_factory=dict)
    names: dict[TableId, str] = field(default_factory=dict)
    late: list[Swap] = field(default_factory=list)
    between: Callable[[], None] = lambda: None
    is_late: bool = False
    number: int = 0

    def next(self) -> int:
        self.number += 1
        self.now_ms += 1
        return self.number

    def put(self, folder: str, content: Any) -> str:
        path = f"{folder}/{self.next()}"
        self.files[path], self.born[path] = content, self.now_ms
        return path

    def get(self, path: str) -> Any:
        if path not in self.files:
            raise MissingFileError(path)
        return self.files[path]

    def delete(self, path: str) -> None:
        self.files.pop(path, None)
        self.born.pop(path, None)

    def create(self, name: TableId) -> None:
        """A table, with an empty snapshot in main."""
        location = f"memory://{name.table}-{self.next()}"
        metadata = new_table_metadata(
            SCHEMA, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, location
        )
        self._stand(name, metadata, None)

    def _stand(self, name: TableId, metadata: TableMetadata, before: str | None) -> str:
        log = [*metadata.metadata_log]
        if before is not None:
            entry = MetadataLogEntry(metadata_file=before, timestamp_ms=metadata.last_updated_ms)
            log = [*log, entry][-VERSIONS:]
        location = f"{metadata.location}/metadata/{self.next()}"
        self.metadata[location] = metadata.model_copy(update={"metadata_log": log})
        self.names[name] = location
        return location

    def load_table(self, name: Sequence[str]) -> Table:
        """As pyiceberg's catalogs do."""
        table = TableId(*name)
        if table not in self.names:
            raise NoSuchTableError(str(table))
        location = self.names[table]
        io, catalog = cast("FileIO", _Io(self.metadata)), cast("Catalog", self)
        return Table(table.parts, self.metadata[location], location, io, catalog)

    def commit_table(
        self,
        table: Table,
        requirements: Collection[TableRequirement],
        updates: Collection[TableUpdate],
    ) -> CommitTableResponse:
        """As pyiceberg's catalogs do: to what is there by now, if it meets the requirements."""
        name = TableId(*table.name())
        location = self.names[name]
        current = self.metadata[location]
        for requirement in requirements:
            requirement.validate(current)
        after = self._stand(name, update_table_metadata(current, tuple(updates)), location)
        return CommitTableResponse.model_construct(
            metadata=self.metadata[after], metadata_location=after
        )

    def _delete_old_metadata(self, _io: object, _before: object, _after: object) -> None:
        """No file of metadata goes here."""

    def replace(self, name: TableId, as_read: str, updates: Collection[TableUpdate]) -> None:
        """Commit ``updates`` where the table still stands ``as_read``; CommitFailedException."""
        if self.names.get(name) != as_read:
            raise CommitFailedException(f"{name} was changed")
        metadata = update_table_metadata(self.metadata[as_read], tuple(updates))
        self._stand(name, metadata, as_read)

    def snapshot(
        self, table: Table, parent: int | None, files: Files, operation: Operation
    ) -> Snapshot:
        """A snapshot that names ``files``, which is written and not committed."""
        path = self.put(table.metadata.location, files)
        rows = sum(len(self.get(data)) for data in files.data)
        gone = sum(len(self.get(deletes).keys) for deletes in files.deletes)
        totals = {"total-records": str(rows), "total-position-deletes": str(gone)}
        return Snapshot(
            snapshot_id=self.next(),
            parent_snapshot_id=parent,
            sequence_number=table.last_sequence_number + 1,
            timestamp_ms=self.now_ms,
            manifest_list=path,
            summary=Summary(operation, **totals),
            schema_id=0,
        )

    def files_of(self, snapshot: Snapshot | None) -> Files:
        return Files() if snapshot is None else cast("Files", self.get(snapshot.manifest_list))

    def rows_of(self, snapshot: Snapshot | None) -> Rows:
        """What a reader sees; MissingFileError where it cannot."""
        files = self.files_of(snapshot)
        parts = (self.live(files, path) for path in files.data)
        return {key: value for part in parts for key, value in part.items()}

    def live(self, files: Files, path: str) -> Rows:
        """Rows of one of the ``files`` that are there yet."""
        deletes = [cast("Deletes", self.get(name)) for name in files.deletes]
        gone = frozenset(key for one in deletes if one.path == path for key in one.keys)
        rows = cast("Rows", self.get(path))
        return {key: value for key, value in rows.items() if key not in gone}

    def named(self, table: Table) -> frozenset[str]:
        """Every file that a snapshot of ``table`` names, also one that is not there."""
        paths: set[str] = set()
        for snapshot in table.snapshots():
            paths.add(snapshot.manifest_list)
            if snapshot.manifest_list in self.files:
                paths |= self.files_of(snapshot).all
        return frozenset(paths)

    def tables(self) -> list[Table]:
        return [self.load_table(name.parts) for name in list(self.names)]


def moved(ref: str, snapshot: Snapshot) -> tuple[TableUpdate, ...]:
    """A new snapshot at the end of a branch."""
    return (
        AddSnapshotUpdate(snapshot=snapshot),
        SetSnapshotRefUpdate(
            ref_name=ref,
            type="branch",
            snapshot_id=snapshot.snapshot_id,
            max_ref_age_ms=None,
            max_snapshot_age_ms=None,
            min_snapshots_to_keep=None,
        ),
    )


class MemoryPublication:
    """As `lake.swap` publishes: metadata of all tables, or of none, by their locations."""

    def __init__(self, store: Store, due: Sequence[Due]) -> None:
        self._store, self._due = store, due
        self._is_late, store.is_late = store.is_late, False
        self._after = [self._staged(move) for move in due]

    def _staged(self, move: Due) -> TableMetadata:
        for requirement in move.requirements():
            requirement.validate(move.table.metadata)
        return update_table_metadata(move.before.metadata, tuple(move.updates(move.before)))

    def publish(self) -> None:
        self._store.between()
        if self._is_late:
            self._store.late.append(self.swap)
            raise OutcomeUnknownError("no answer", state="unknown", next_step="run again")
        if not self.swap():
            raise SupersededError("a table was changed", state=UNCHANGED, next_step="run again")

    def swap(self) -> bool:
        """Whether every table stood where it was read."""
        store, expected = self._store, {}
        for move in self._due:
            expected[move.ref_update.table] = move.table.metadata_location
            rename = move.ref_update.rename
            if rename is not None and rename.displaced is not None:
                expected[rename.to] = rename.displaced.location
        if any(store.names.get(name) != location for name, location in expected.items()):
            return False
        for move, metadata in zip(self._due, self._after, strict=True):
            rename = move.ref_update.rename
            if rename is not None and rename.displaced is not None:
                store.names[rename.displaced.to] = store.names.pop(rename.to)
            before = store.names.pop(move.ref_update.table)
            store._stand(move.ref_update.published_as, metadata, before)
        return True

    def clean_up(self) -> None:
        """Nothing of a swap is left here."""
