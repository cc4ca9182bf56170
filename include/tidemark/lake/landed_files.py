"""Data files of the changelog, read in batches: pyiceberg's own scan holds a whole file."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog
from pyiceberg.conversions import from_bytes
from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestContent
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, LongType

from tidemark.lake.catalog import SystemTables, catalog_errors
from tidemark.lake.landing import NUMBER
from tidemark.lake.refs import ancestors, summary_value

ROWS_IN_BATCH, BYTES_IN_BATCH = 8_192, 16 * 1024 * 1024


class PartitionBound(NamedTuple):
    """The first or last topic partition in a file; metadata may cut the topic's name short."""

    topic: bytes
    partition: int


@dataclass(frozen=True, slots=True)
class LandedFile:
    """A data file of the changelog. records: how many rows it has."""

    path: str
    records: int
    first: PartitionBound
    last: PartitionBound

    def batches(
        self, io: FileIO, columns: Sequence[str], wanted: Sequence[int] | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches of the file, each with the number of its first row in the file.

        wanted: row numbers, ascending; a row group that holds none of them is skipped. None reads
        all row groups.
        """
        with io.new_input(self.path).open() as stream, pq.ParquetFile(stream) as file:
            first = 0
            for number in range(file.num_row_groups):
                group = file.metadata.row_group(number)
                end = first + group.num_rows
                if wanted is None or bisect_left(wanted, first) < bisect_left(wanted, end):
                    size = max(1, group.num_rows * BYTES_IN_BATCH // max(1, group.total_byte_size))
                    at = first
                    for batch in file.iter_batches(
                        min(ROWS_IN_BATCH, size), [number], list(columns)
                    ):
                        yield at, batch
                        at += batch.num_rows
                first = end


def files_since(
    catalog: Catalog, tables: SystemTables, head: int, landing: int
) -> tuple[FileIO, tuple[LandedFile, ...]] | None:
    """The files that hold records of ``landing`` and later ones, as the changelog was at ``head``.

    They may hold older ones too. None where records were deleted since. Costs the reading of the
    manifests that were written since, however many landings came before.
    """
    with catalog_errors("the reading of the changelog"):
        changelog = catalog.load_table(tables.changelog.parts)
        before = _sequence_before(changelog, head, landing)
        snapshot = changelog.snapshot_by_id(head)
        manifests = snapshot.manifests(changelog.io) if snapshot else []
        since = [manifest for manifest in manifests if manifest.sequence_number > before]
        if any(manifest.content is ManifestContent.DELETES for manifest in since):
            return None
        data_files = [
            entry.data_file
            for manifest in since
            for entry in manifest.fetch_manifest_entry(changelog.io, discard_deleted=True)
        ]
    schema = changelog.schema()
    number = schema.find_field("landing").field_id
    files = (
        LandedFile(
            *(file.file_path, file.record_count),
            *(_bound(schema, bounds or {}) for bounds in (file.lower_bounds, file.upper_bounds)),
        )
        for file in data_files
        if _long((file.upper_bounds or {}).get(number), landing) >= landing
    )
    return changelog.io, tuple(sorted(files, key=lambda file: (file.first, file.path)))


def _sequence_before(changelog: Table, head: int, landing: int) -> int:
    """The sequence number up to which all files are older than ``landing``; 0 if none is known."""
    for snapshot in ancestors(changelog, head):
        number = summary_value(snapshot, NUMBER)
        if number is not None and int(number) < landing:
            return snapshot.sequence_number or 0
    return 0


def _long(bound: bytes | None, default: int) -> int:
    return default if bound is None else int(from_bytes(LongType(), bound))


def _bound(schema: Schema, bounds: Mapping[int, bytes]) -> PartitionBound:
    ids = (schema.find_field(name).field_id for name in PartitionBound._fields)
    topic, partition = map(bounds.get, ids)
    number = -1 if partition is None else int(from_bytes(IntegerType(), partition))
    return PartitionBound(topic or b"", number)
