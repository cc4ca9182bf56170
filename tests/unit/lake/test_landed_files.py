"""Files of the changelog that a cut reads: real tables, an SQLite catalog, no JVM."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.support.lake import RECORDS, land
from tidemark.errors import StorageError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.heads import read_heads
from tidemark.lake.landed_files import PartitionBound, files_since
from tidemark.lake.landing import PROPERTIES
from tidemark.lake.refs import ancestors
from tidemark.model.names import PipelineName

TABLES = SystemTables.of(PipelineName("shop"))
LANDINGS = 9
MANIFESTS = int(PROPERTIES["commit.manifest.min-count-to-merge"])


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    made = SqlCatalog(
        "lake", uri=f"sqlite:///{tmp_path}/catalog.db?timeout=30", warehouse=str(tmp_path)
    )
    for number in range(LANDINGS):
        land(made, TABLES, read_heads(made, TABLES), f"l{number}")
    return made


def found(catalog: SqlCatalog, landing: int) -> list[int]:
    """How many records the files have that a cut reads for ``landing`` and later ones."""
    head = read_heads(catalog, TABLES).changelog.snapshot
    assert head is not None
    answer = files_since(catalog, TABLES, head, landing)
    assert answer is not None
    io, files = answer
    for file in files:
        landings = [
            number
            for _, batch in file.batches(io, ["landing"])
            for number in batch.column("landing").to_pylist()
        ]
        assert len(landings) == file.records
        assert min(landings) >= landing
    return [file.records for file in files]


@pytest.mark.parametrize("landing", [1, 5, LANDINGS])
def test_a_cut_reads_the_files_of_its_landings(catalog: SqlCatalog, landing: int) -> None:
    """ACC-4: and nobody else's records."""
    assert found(catalog, landing) == [RECORDS] * (LANDINGS - landing + 1)


def test_landings_write_their_manifests_together(catalog: SqlCatalog) -> None:
    """What a cut opens to plan its reading does not grow with the landings before it."""
    for number in range(LANDINGS, MANIFESTS + LANDINGS):
        land(catalog, TABLES, read_heads(catalog, TABLES), f"l{number}")
    table = catalog.load_table(TABLES.changelog.parts)
    head = table.current_snapshot()
    assert head is not None
    assert len(head.manifests(table.io)) < MANIFESTS
    for since in (1, LANDINGS, MANIFESTS, MANIFESTS + LANDINGS):
        assert found(catalog, since) == [RECORDS] * (MANIFESTS + LANDINGS - since + 1)


def test_earlier_landings_cost_nothing(catalog: SqlCatalog) -> None:
    """Manifests that were written before are not even read: here they are gone."""
    table = catalog.load_table(TABLES.changelog.parts)
    head = table.current_snapshot()
    assert head is not None
    newest = [one for one in head.manifests(table.io) if one.added_snapshot_id == head.snapshot_id]
    assert len(newest) == 1
    for snapshot in ancestors(table, head.snapshot_id):
        for manifest in snapshot.manifests(table.io):
            if manifest not in newest:
                Path(urlparse(manifest.manifest_path).path).unlink(missing_ok=True)
    assert found(catalog, LANDINGS) == [RECORDS]
    with pytest.raises(StorageError, match="No such file"):
        found(catalog, 1)


def test_files_of_one_partition_are_known(catalog: SqlCatalog) -> None:
    """Tasks share out the files by it; the newest landing's are read, whoever wrote before."""
    head = read_heads(catalog, TABLES).changelog.snapshot
    assert head is not None
    answer = files_since(catalog, TABLES, head, LANDINGS)
    assert answer is not None
    (file,) = answer[1]
    assert file.first == file.last == PartitionBound(b"shop.items", 0)


def test_a_changelog_without_its_landings_numbers_is_read_whole(catalog: SqlCatalog) -> None:
    """Somebody rewrote it: the files of now hold what landings wrote."""
    table = catalog.load_table(TABLES.changelog.parts)
    rows = table.scan().to_arrow()
    table.overwrite(rows)
    head = table.current_snapshot()
    assert head is not None
    answer = files_since(catalog, TABLES, head.snapshot_id, LANDINGS)
    assert answer is not None
    assert [file.records for file in answer[1]] == [RECORDS * LANDINGS]
