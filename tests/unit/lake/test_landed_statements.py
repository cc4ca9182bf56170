"""How many schema changes of a changelog are read: a real table, an SQLite catalog, no JVM."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.support.lake import RECORDS, land
from tidemark.lake.catalog import SystemTables
from tidemark.lake.heads import read_heads
from tidemark.lake.landing import landed_statements, newest_statements
from tidemark.model.event import Kind
from tidemark.model.names import PipelineName

TABLES = SystemTables.of(PipelineName("shop"))
LANDINGS = 5


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> SqlCatalog:
    """A landing of rows behind five of statements."""
    folder: Path = tmp_path_factory.mktemp("lake")
    made = SqlCatalog(
        "lake", uri=f"sqlite:///{folder}/catalog.db?timeout=30", warehouse=str(folder)
    )
    for number in range(LANDINGS):
        land(made, TABLES, read_heads(made, TABLES), f"l{number}", Kind.DDL)
    land(made, TABLES, read_heads(made, TABLES), "rows", Kind.ROW)
    return made


@pytest.mark.parametrize(
    ("most", "first"), [(100, 0), (15, 0), (14, 2), (7, 4), (6, 4), (3, 5), (2, 6), (0, 6)]
)
def test_whole_landings_are_read_the_newest_first(
    catalog: SqlCatalog, most: int, first: int
) -> None:
    found, unread = newest_statements(catalog, TABLES, [(1, LANDINGS + 1)], most)
    assert found == first
    read = landed_statements(catalog, TABLES, [(found, LANDINGS + 1)])
    assert len(read) <= most
    assert len(read) + unread == LANDINGS * RECORDS


def test_what_no_cut_took_is_not_counted(catalog: SqlCatalog) -> None:
    assert newest_statements(catalog, TABLES, [(1, 1), (4, 4)], RECORDS) == (2, RECORDS)


def test_before_the_first_landing_there_is_none(tmp_path: Path) -> None:
    empty = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    assert newest_statements(empty, TABLES, [(1, 9)], 5) == (0, 0)
