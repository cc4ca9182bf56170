"""Keys in plain Python have the hashes that Spark gives them."""

from __future__ import annotations

import json
from base64 import b64encode
from itertools import product

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.formats.row_reader import ODD, RowReader, row_fields
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName


def base64(number: int) -> str:
    """As Connect writes the unscaled number of a decimal."""
    bits = (number if number >= 0 else -number - 1).bit_length()
    return b64encode(number.to_bytes(bits // 8 + 1, "big", signed=True)).decode()


VALUES: dict[tuple[str, ValueEncoding], list[object]] = {
    ("int", ValueEncoding.INTEGER): [0, -(2**31), 2**31 - 1],
    ("bigint", ValueEncoding.INTEGER): [-1, -(2**63), 2**63 - 1],
    ("decimal(20,0)", ValueEncoding.UNSIGNED_AS_SIGNED): [0, -1, 2**63 - 1, -(2**63)],
    ("string", ValueEncoding.TEXT): ["", "caf\u00e9", "x" * 100],
    ("boolean", ValueEncoding.BOOLEAN): [True, False, 1],
    ("date", ValueEncoding.DAYS): [-719_162, 2_932_896],
    ("timestamp_ntz", ValueEncoding.TIMESTAMP_MILLIS): [-1, 1_700_000_000_123],
    ("timestamp_ntz", ValueEncoding.TIMESTAMP_MICROS): [-1, 1_700_000_000_123_456],
    ("binary", ValueEncoding.BASE64): ["", "AP8="],
    ("decimal(12,2)", ValueEncoding.DECIMAL_BASE64): list(map(base64, (0, -128, 128, 10**12 - 1))),
    ("decimal(38,4)", ValueEncoding.DECIMAL_BASE64): list(
        map(base64, (0, -1, 127, -(10**37), 10**38 - 1))
    ),
}


def test_hashes_of_keys_are_those_of_spark(spark: SparkSession) -> None:
    """KEY-2: by their values, of one column and of two."""
    hashed = 0
    kinds = [(kind,) for kind in VALUES] + list(product(VALUES, repeat=2))
    expected, found = [], []
    for number, key in enumerate(kinds):
        names = [ColumnName(f"k{place}") for place in range(len(key))]
        columns = [SourceColumn(n, *kind, "") for n, kind in zip(names, key, strict=True)]
        schema = TableSchema(tuple(columns), tuple(names))
        reader = RowReader(schema)
        values = list(product(*map(VALUES.__getitem__, key)))
        texts = [json.dumps(dict(zip(names, row, strict=True))).encode() for row in values]
        keys = [reader.key(text) for text in texts]
        rows = [reader.deleted(one) for one in keys]
        found.append([reader.hash(one) for one in keys])
        arrays = reader.arrays(list(zip(*rows, strict=True)))
        table = pa.table(arrays, schema=pa.schema(row_fields(schema)))
        frame = spark.createDataFrame(table)
        hashes = F.collect_list(F.xxhash64(*names))
        expected.append(frame.coalesce(1).agg(F.lit(number).alias("number"), hashes.alias("all")))
        hashed += len(keys)
    assert hashed > 1_000
    for frames in (expected[start : start + 30] for start in range(0, len(expected), 30)):
        union = frames[0]
        for one in frames[1:]:
            union = union.unionByName(one)
        for number, hashes in union.collect():
            assert found[number] == hashes, kinds[number]


def test_a_number_in_more_bytes_than_it_needs_is_odd() -> None:
    """KEY-2: it would be another key by its bytes, and is the same by its value."""
    column = SourceColumn(ColumnName("id"), "decimal(12,2)", ValueEncoding.DECIMAL_BASE64, "")
    reader = RowReader(TableSchema((column,), (column.name,)))
    assert reader.hash(reader.key(b'{"id":"BQ=="}')) == reader.hash((b"\x05",))
    with pytest.raises(ODD):
        reader.hash(reader.key(b'{"id":"AAU="}'))
