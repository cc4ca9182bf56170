"""Data files of a pipeline's own tables: the tasks of a job write them, the driver commits them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
from pyiceberg.io import FileIO
from pyiceberg.io.fileformat import FileFormatFactory
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.locations import load_location_provider
from pyiceberg.typedef import Properties, Record


@dataclass(frozen=True, slots=True)
class Destination:
    """What a task has to know of an unpartitioned table to write a file of it; can be pickled."""

    io: FileIO
    location: str
    schema: Schema
    spec_id: int
    properties: Properties

    @classmethod
    def of(cls, table: Table) -> Destination:
        """Where files of ``table`` belong."""
        spec_id = table.metadata.default_spec_id
        return cls(table.io, table.location(), table.schema(), spec_id, dict(table.properties))

    def write(self, batches: Iterable[pa.RecordBatch]) -> DataFile | None:
        """Write ``batches``, one row group each, to a new file; None where there are none.

        A file that no task has handed back belongs to nothing: maintenance removes it.
        """
        batches = iter(batches)
        first = next(batches, None)
        if first is None:
            return None
        known = schema_to_pyarrow(self.schema, include_field_ids=True)
        columns = pa.schema([known.field(name) for name in first.schema.names])
        model = FileFormatFactory.get(FileFormat.PARQUET)
        places = load_location_provider(self.location, self.properties)
        path = places.new_data_location(f"{uuid.uuid4()}.{model.file_extension()}")
        with model.create_writer(self.io.new_output(path), self.schema, self.properties) as writer:
            for batch in chain([first], batches):
                writer.write(pa.Table.from_batches([batch]).cast(columns))
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=Record(),
            file_size_in_bytes=len(self.io.new_input(path)),
            spec_id=self.spec_id,
            **writer.result().to_serialized_dict(),
        )

    def discard(self, files: Iterable[DataFile]) -> None:
        """Delete files that no snapshot names."""
        for file in files:
            with suppress(OSError):
                self.io.delete(file.file_path)
