"""Canal's records without the rows that an erasure takes out of them (ERASE-1).

A record may hold many rows, and a statement may write many records: values pass in batches that are
bounded in records and bytes, by workers, or by the driver of a cluster, whose workers need no
Python. What came out is on the executors' disks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from tidemark.fold.computed import computed_once
from tidemark.fold.erased import PLACE
from tidemark.formats.canal_json.erased import without_rows
from tidemark.lake.landing import SCHEMA
from tidemark.runs.jvm import is_local

GONE = pa.field("gone", pa.list_(pa.int32()))
"""The numbers of the rows that a record loses."""
RECORDS_IN_BATCH, BYTES_IN_BATCH = 10_000, 64 * 1024 * 1024
"""As Spark bounds the batches that it gives to workers."""
_PLACE_AND_VALUE = tuple(SCHEMA.field(name) for name in (*PLACE, "value"))


def shortened(records: DataFrame) -> DataFrame:
    """In: PLACE, ``value`` and GONE. Out: PLACE and ``value``, computed once."""
    if is_local(records.sparkSession):
        schema = records.drop(GONE.name).schema
        return computed_once(records.mapInArrow(_shorter_each, schema))
    return _by_driver(computed_once(records))


def _by_driver(records: DataFrame) -> DataFrame:
    """As `shortened`; a partition at a time is with the driver, and of that a batch in Python."""
    session = records.sparkSession
    (size,) = records.agg(F.coalesce(F.sum(F.length("value")), F.lit(0))).collect()[0]
    parts = records.repartition(size // BYTES_IN_BATCH + 1, *PLACE)
    frames = [
        computed_once(session.createDataFrame(pa.Table.from_batches([_shorter(batch)])))
        for batch in bounded(parts.toLocalIterator())
    ]
    return reduce(DataFrame.unionByName, frames, records.drop(GONE.name).limit(0))


def bounded(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """``rows`` of PLACE, ``value`` and GONE; one that is larger than a batch is one by itself."""
    batch, size = list[dict[str, object]](), 0
    for row in rows:
        length = len(row.value)
        if batch and (len(batch) == RECORDS_IN_BATCH or size + length > BYTES_IN_BATCH):
            yield _of(batch)
            batch, size = [], 0
        batch.append(row.asDict())
        size += length
    if batch:
        yield _of(batch)


def _of(rows: list[dict[str, object]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, pa.schema([*_PLACE_AND_VALUE, GONE]))


def _shorter_each(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return map(_shorter, batches)


def _shorter(batch: pa.RecordBatch) -> pa.RecordBatch:
    records = zip(batch["value"].to_pylist(), batch[GONE.name].to_pylist(), strict=True)
    values = [without_rows(value, frozenset(gone)) for value, gone in records]
    at = batch.schema.get_field_index("value")
    field = batch.schema.field(at)
    return batch.set_column(at, field, pa.array(values, field.type)).drop_columns([GONE.name])
