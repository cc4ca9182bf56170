"""Batches of records that lose rows are bounded by their number and by their bytes."""

from __future__ import annotations

import pytest
from pyspark.sql import Row

from tidemark.runs import shortened
from tidemark.runs.shortened import bounded


@pytest.mark.parametrize(
    ("lengths", "batches"),
    [
        pytest.param([], [], id="none"),
        pytest.param([5, 5, 5], [2, 1], id="as many bytes as a batch has"),
        pytest.param([5, 6, 4, 1], [1, 2, 1], id="one more"),
        pytest.param([50, 1, 50, 50], [1, 1, 1, 1], id="larger than a batch"),
        pytest.param([1] * 7, [3, 3, 1], id="many small ones"),
    ],
)
def test_a_batch_is_bounded(
    lengths: list[int], batches: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shortened, "BYTES_IN_BATCH", 10)
    monkeypatch.setattr(shortened, "RECORDS_IN_BATCH", 3)
    rows = [
        Row(topic="t", partition=0, offset=offset, value=b"v" * length, gone=[offset])
        for offset, length in enumerate(lengths)
    ]
    told = list(bounded(rows))
    assert [batch.num_rows for batch in told] == batches
    assert [row for batch in told for row in batch.to_pylist()] == [row.asDict() for row in rows]
