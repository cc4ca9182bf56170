"""All targets as one cut published them: cuts on a real SQLite catalog and real Iceberg tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.staged_cut import PIPELINE, TARGETS, new_world, stage
from tidemark.errors import ActionRefusedError
from tidemark.lake.catalog import TableId
from tidemark.model.names import AttemptId
from tidemark.runs.cut_snapshots import snapshots_of_cut
from tidemark.runs.publish import publish_cut
from tidemark.runs.world import World

A, B = TARGETS
FILE = PIPELINE.model_copy(update={"target_namespace": A.namespace})


@pytest.fixture
def world(tmp_path: Path) -> World:
    """The first cut changed A alone, the second one B, the third one both."""
    world = new_world(f"sqlite:///{tmp_path}/catalog.db", tmp_path)
    for cut, tables in enumerate(([A], [B], [A, B]), start=1):
        publish(world, cut, tables)
    return world


def publish(world: World, cut: int, tables: Sequence[TableId]) -> None:
    attempt = AttemptId(f"try_{cut}")
    stage(world, attempt, cut, [cut], tables=tables)
    publish_cut(FILE, world, attempt)


def rows_of(world: World, cut: int) -> dict[str, list[int]]:
    snapshots = snapshots_of_cut(FILE, world, cut).items()
    scans = ((name, world.catalog.load_table(name).scan(snapshot_id=at)) for name, at in snapshots)
    return {name: sorted(scan.to_arrow()["id"].to_pylist()) for name, scan in scans}


def test_a_table_that_a_cut_leaves_alone_is_shown_as_before(world: World) -> None:
    """FEED-2"""
    assert rows_of(world, 1) == {"db.a": [1]}
    assert rows_of(world, 2) == {"db.a": [1], "db.b": [2]}
    assert rows_of(world, 3) == {"db.a": [1, 3], "db.b": [2, 3]}


def test_a_snapshot_that_is_gone_is_told_and_not_replaced(world: World) -> None:
    """FEED-2"""
    table = world.catalog.load_table(A.parts)
    table.maintenance.expire_snapshots().by_id(snapshots_of_cut(FILE, world, 2)["db.a"]).commit()
    with pytest.raises(ActionRefusedError, match=r"cut 2 published is not kept any more in db\.a"):
        snapshots_of_cut(FILE, world, 2)
    assert rows_of(world, 3) == {"db.a": [1, 3], "db.b": [2, 3]}


@pytest.mark.parametrize("cut", [0, 4])
def test_a_cut_that_is_not_there_is_told(world: World, cut: int) -> None:
    with pytest.raises(ActionRefusedError, match="the newest is 3"):
        snapshots_of_cut(FILE, world, cut)
