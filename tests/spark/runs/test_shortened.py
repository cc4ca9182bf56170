"""Rows are taken out of many large records, and no value of all of them is with the driver."""

from __future__ import annotations

import json
import os

import pytest
from pyspark.sql import SparkSession

from tests.support.small_driver import small_driver
from tidemark.runs import shortened as module
from tidemark.runs.shortened import shortened

COUNT, BYTES = 12, 200_000
MOST_BYTES = 1024 * 1024
"""That a job may give to the driver: less than half of what the values are together."""


def record(number: int, name: str) -> bytes:
    rows = [{"id": str(number), "name": name}, {"id": "0", "name": os.urandom(BYTES // 2).hex()}]
    return json.dumps({"type": "INSERT", "data": rows, "old": None}).encode()


@pytest.mark.parametrize("is_local", [True, False], ids=["by workers", "by the driver"])
def test_values_pass_in_batches(
    spark: SparkSession, is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ERASE-1: a key file may name rows of records that no driver could hold."""
    monkeypatch.setattr(module, "is_local", lambda _: is_local)
    monkeypatch.setattr(module, "BYTES_IN_BATCH", 2 * BYTES)
    values = [record(number, f"Jane {number}") for number in range(COUNT)]
    rows = [("t", 0, number, value, [0]) for number, value in enumerate(values)]
    types = "topic string, partition int, offset bigint, value binary, gone array<int>"
    frame = spark.createDataFrame(rows, types)
    with small_driver(spark, MOST_BYTES):
        done = shortened(frame)
    assert done.columns == ["topic", "partition", "offset", "value"]
    left = {row.offset: json.loads(bytes(row.value)) for row in done.collect()}
    assert sorted(left) == list(range(COUNT))
    for number, told in left.items():
        row = json.loads(values[number])["data"][1]
        assert told["data"] == [{"_tidemark_erased": "row"}, row]
