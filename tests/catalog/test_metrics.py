"""Metrics of a real lake, while no broker answers: what the lake tells is told."""

from __future__ import annotations

import pytest

from tests.support.staged_cut import PIPELINE, TARGETS, stage
from tidemark.lake.catalog import TableId
from tidemark.lake.table_sizes import read_sizes
from tidemark.model import metrics
from tidemark.model.metrics import Metric
from tidemark.model.names import AttemptId
from tidemark.runs.metrics import read_samples
from tidemark.runs.publish import publish_cut
from tidemark.runs.world import World
from tidemark.topics import client

IN_DB = PIPELINE.model_copy(update={"target_namespace": "db"})


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "TIMEOUT_SECONDS", 1)


def values(world: World) -> dict[Metric, list[float]]:
    """Metric -> its values, table by table where it has tables."""
    found: dict[Metric, list[float]] = {}
    for sample in read_samples(IN_DB, world):
        found.setdefault(sample.metric, []).append(sample.value)
    return found


def test_a_published_cut_shows_in_the_metrics(world: World) -> None:
    assert values(world)[metrics.CUTS] == [0]
    for number, ids in ((1, [1, 2]), (2, [3])):
        attempt = AttemptId(f"run_{number}")
        stage(world, attempt, number, ids)
        publish_cut(IN_DB, world, attempt)
    found = values(world)
    assert (found[metrics.PIPELINE_UP], found[metrics.CUTS]) == ([0], [2])
    (delay,) = found[metrics.CUT_PUBLISH_DELAY]
    assert 0 <= delay < 60
    assert found[metrics.TABLE_ROWS] == [3, 3]
    assert found[metrics.TABLE_DATA_FILES] == [2, 2]
    assert found[metrics.TABLE_DELETE_FILES] == [0, 0]
    assert all(size > 0 for size in found[metrics.TABLE_BYTES])
    assert found[metrics.TABLE_FAILED_CHECKS] == [0, 0]
    assert metrics.RECORDS_WAITING not in found, "nobody knows"


def test_a_table_that_is_not_there_has_no_size(world: World) -> None:
    sizes = read_sizes(world.catalog, [*TARGETS, TableId("db", "none")])
    assert set(sizes) == set(TARGETS)
