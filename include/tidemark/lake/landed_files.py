"""Files of the changelog, as tasks in Python read them: piece by piece, and what they need of them.

pyiceberg's own scan holds a whole file at a time, and payloads are large.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import GreaterThanOrEqual
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType

from tidemark.lake.catalog import SystemTables, catalog_errors

ROWS_IN_BATCH, BYTES_IN_BATCH = 8_192, 16 * 1024 * 1024


class Log(NamedTuple):
    """A partition as metadata tell it, which cut the names of topics short."""

    topic: bytes
    partition: int


@dataclass(frozen=True, slots=True)
class LandedFile:
    """A file with ``records``; first, last: of the partitions they come from, by its metadata."""

    path: str
    records: int
    first: Log
    last: Log

    def batches(
        self, io: FileIO, columns: Sequence[str], wanted: Sequence[int] | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Pieces of the file, each with the number of its first row; can be read again.

        wanted: rows, in their order; groups without any are left out, None takes all.
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

    They may hold older ones too. None where records in them are deleted.
    """
    with catalog_errors("the reading of the changelog"):
        changelog = catalog.load_table(tables.changelog.parts)
        scan = changelog.scan(
            row_filter=GreaterThanOrEqual(term="landing", value=landing), snapshot_id=head
        )
        tasks = list(scan.plan_files())
    if any(task.delete_files for task in tasks):
        return None
    schema = changelog.schema()
    files = [
        LandedFile(
            *(file.file_path, file.record_count),
            *(_bound(schema, bounds or {}) for bounds in (file.lower_bounds, file.upper_bounds)),
        )
        for file in (task.file for task in tasks)
    ]
    return changelog.io, tuple(sorted(files, key=lambda file: (file.first, file.path)))


def _bound(schema: Schema, bounds: Mapping[int, bytes]) -> Log:
    topic, partition = (bounds.get(schema.find_field(name).field_id) for name in Log._fields)
    number = -1 if partition is None else int(from_bytes(IntegerType(), partition))
    return Log(topic or b"", number)
