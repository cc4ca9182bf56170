"""Removal of tables as they were read: `lake.removal` on a real SQLite catalog (PUB-8)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO

from tidemark.lake.catalog import TableId
from tidemark.lake.history import existing_tables
from tidemark.lake.removal import finish_removals, move_as_read, purge_as_read

ROWS = pa.schema([pa.field("id", pa.int64())])
A, B = TableId("db", "a"), TableId("db", "b")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    yield catalog
    catalog.close()


def made(catalog: SqlCatalog, *ids: int) -> str:
    """Make the table; returns where its metadata are."""
    table = catalog.create_table(A.parts, ROWS)
    table.append(pa.table({"id": list(ids)}, schema=ROWS))
    return catalog.load_table(A.parts).metadata_location


def test_a_table_goes_with_its_files(catalog: SqlCatalog, tmp_path: Path) -> None:
    assert purge_as_read(catalog, A, made(catalog, 1))
    assert catalog.list_tables("db") == []
    assert [path for path in (tmp_path / "db").rglob("*") if path.is_file()] == []


class Killed(BaseException):
    """Nothing in the code under test catches it."""


@pytest.mark.parametrize("files", range(12))
def test_a_removal_that_was_killed_is_finished(
    catalog: SqlCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    """PUB-8: with any number of its files gone, and with nothing of any other table."""
    catalog.create_table(B.parts, ROWS).append(pa.table({"id": [9]}, schema=ROWS))
    location, delete = made(catalog, 1), PyArrowFileIO.delete
    deleted: list[str] = []

    def delete_some(io: PyArrowFileIO, file: str) -> None:
        if len(deleted) == files:
            raise Killed
        deleted.append(file)
        delete(io, file)

    def drop_none(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(PyArrowFileIO, "delete", delete_some)
        dying.setattr(SqlCatalog, "drop_table", drop_none)
        with pytest.raises(Killed):
            purge_as_read(catalog, A, location)
    finish_removals(catalog, "db", existing_tables(catalog, "db"))
    assert catalog.list_tables("db") == [B.parts]
    left = [str(path) for path in (tmp_path / "db").rglob("*") if path.is_file()]
    assert [path for path in left if "/db/b/" not in path] == []
    assert catalog.load_table(B.parts).scan().to_arrow()["id"].to_pylist() == [9]


def test_a_table_that_passes_the_name_of_another_one_stays(catalog: SqlCatalog) -> None:
    """PUB-8: a REST catalog renames first and looks then."""
    made(catalog, 1)
    passing = ("db", f"_tidemark_removed_{'0' * 64}")
    catalog.rename_table(A.parts, passing)
    finish_removals(catalog, "db", existing_tables(catalog, "db"))
    assert catalog.load_table(passing).scan().to_arrow().num_rows == 1


def test_a_table_that_was_changed_since_stays(catalog: SqlCatalog) -> None:
    location = made(catalog, 1)
    catalog.load_table(A.parts).append(pa.table({"id": [2]}, schema=ROWS))
    assert not purge_as_read(catalog, A, location)
    assert catalog.load_table(A.parts).scan().to_arrow().num_rows == 2


def test_another_table_of_the_name_stays(catalog: SqlCatalog) -> None:
    location = made(catalog, 1)
    catalog.drop_table(A.parts)
    made(catalog, 2)
    assert not move_as_read(catalog, A, location, B)
    assert not purge_as_read(catalog, A, location)
    assert catalog.load_table(A.parts).scan().to_arrow()["id"].to_pylist() == [2]
    assert catalog.list_tables("db") == [A.parts]


def test_what_is_gone_is_not_removed(catalog: SqlCatalog) -> None:
    location = made(catalog, 1)
    catalog.drop_table(A.parts)
    assert not purge_as_read(catalog, A, location)
