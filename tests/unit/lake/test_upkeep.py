"""How often the files of the pipeline's own tables are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from tests.support.compaction import rewrite
from tests.unit.lake.test_refs import ROWS, A, load
from tidemark.lake import upkeep
from tidemark.lake.table_files import read_files
from tidemark.lake.upkeep import small_files
from tidemark.model.maintenance import TableFiles


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    catalog.create_table(A.parts, ROWS)
    yield catalog
    catalog.close()


def append(catalog: SqlCatalog, times: int) -> None:
    for number in range(times):
        load(catalog, A).append(pa.table({"id": [number]}, schema=ROWS))


def test_files_are_looked_at_once_many_came_since_they_were_written_together(
    catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each cut would read as many entries of manifests as there were cuts before it."""
    looks: list[Table] = []

    def looked(table: Table) -> TableFiles:
        looks.append(table)
        return read_files(table)

    monkeypatch.setattr(upkeep, "SMALL_FILES", 2)
    monkeypatch.setattr(upkeep, "read_files", looked)
    append(catalog, 4)
    assert (small_files(load(catalog, A)), len(looks)) == (4, 1)
    rewrite(catalog, A)
    assert (small_files(load(catalog, A)), len(looks)) == (4, 2)
    rewrite(catalog, A, **{"deleted-data-files": "4", "added-data-files": "4"})
    append(catalog, 2)
    assert (small_files(load(catalog, A)), len(looks)) == (2, 2)
    append(catalog, 1)
    assert (small_files(load(catalog, A)), len(looks)) == (7, 3)
