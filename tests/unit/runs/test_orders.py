"""What a person orders of a table, as the ledger and the target of a real catalog keep it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.published import ITEMS, ROWS, TARGET, pipeline, published_world
from tidemark.lake.catalog import SystemTables
from tidemark.lake.heads import read_heads
from tidemark.lake.marks import foreign_change, read_published
from tidemark.runs.orders import begin_resync
from tidemark.runs.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return published_world(tmp_path)


@pytest.mark.parametrize("expectations", [None, "none"], ids=["followed", "declared"])
def test_a_resync_takes_a_changed_target_as_it_is(world: World, expectations: str | None) -> None:
    """PUB-11: also of a table that is followed without being declared."""
    declared = [{"source": str(ITEMS), "expectations": expectations}] if expectations else []
    catalog = world.catalog
    catalog.load_table(TARGET.parts).append(pa.table({"id": [2]}, schema=ROWS))
    table = catalog.load_table(TARGET.parts)
    assert foreign_change(table, read_published(table))
    begin_resync(pipeline(tables=declared), world, ITEMS)
    table = catalog.load_table(TARGET.parts)
    assert foreign_change(table, read_published(table)) == ""
    heads = read_heads(catalog, SystemTables.of(pipeline().name))
    assert ITEMS in heads.ledger.progress.snapshots.tables


def test_a_target_that_keeps_more_than_its_source_is_not_taken(world: World) -> None:
    """PUB-11: of a mirror alone a snapshot tells all rows."""
    catalog = world.catalog
    catalog.load_table(TARGET.parts).append(pa.table({"id": [2]}, schema=ROWS))
    history = {"source": str(ITEMS), "expectations": "none", "mode": "history"}
    begin_resync(pipeline(tables=[history]), world, ITEMS)
    table = catalog.load_table(TARGET.parts)
    assert foreign_change(table, read_published(table))
