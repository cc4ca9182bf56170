"""Which tables a published cut changed, as their snapshots in a real catalog tell."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tidemark.lake.ledger import ATTEMPT
from tidemark.lake.refs import main_head
from tidemark.model.names import AttemptId
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.runs.publish import changed_tables
from tidemark.spec import PipelineSpec

ROWS = pa.schema([pa.field("id", pa.int64())])
SOURCE = {"format": "ticdc-canal-json", "gate": "watermark", "topics": {"data": ["shop"]}}
PIPELINE = PipelineSpec.model_validate(
    {
        "name": "shop",
        "description": "What the web shop sold.",
        "owner": "sales-data",
        "schedule": None,
        "source": SOURCE,
        "tables": [
            {"source": "shop.orders", "expectations": "none"},
            {"source": "shop.vouchers", "expectations": "none"},
        ],
    }
)


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    """Two tables with a row, which an earlier attempt wrote."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    catalog.create_namespace("shop")
    for name in ("orders", "followed"):
        catalog.create_table(("shop", name), ROWS)
        write(catalog, name, "old_1", 1)
    return catalog


def write(catalog: SqlCatalog, name: str, attempt: str, *ids: int) -> None:
    table = catalog.load_table(("shop", name))
    table.append(pa.table({"id": list(ids)}, schema=ROWS), snapshot_properties={ATTEMPT: attempt})


def changed(catalog: SqlCatalog, *names: str) -> list[str]:
    """Targets that changed in a cut of attempt ``new_1`` that staged tables ``names``."""
    staged = [
        TableResult(
            f"shop.{name}", f"shop.{name}", main_head(catalog.load_table(("shop", name))) or 0
        )
        for name in names
    ]
    result = CutResult(CutStatus.PUBLISHED, AttemptId("new_1"), tables=tuple(staged))
    return [table.target for table in changed_tables(PIPELINE, catalog, result)]


def test_table_with_new_rows_changed(catalog: SqlCatalog) -> None:
    write(catalog, "orders", "new_1", 2)
    assert changed(catalog, "orders") == ["shop.orders"]


def test_rows_of_an_older_snapshot_of_the_attempt_count(catalog: SqlCatalog) -> None:
    write(catalog, "orders", "new_1", 2)
    write(catalog, "orders", "new_1")
    assert changed(catalog, "orders") == ["shop.orders"]


def test_removed_rows_count(catalog: SqlCatalog) -> None:
    table = catalog.load_table(("shop", "orders"))
    table.delete("id = 1", snapshot_properties={ATTEMPT: "new_1"})
    assert changed(catalog, "orders") == ["shop.orders"]


def test_snapshot_without_files_is_no_change(catalog: SqlCatalog) -> None:
    write(catalog, "orders", "new_1")
    assert changed(catalog, "orders") == []


def test_table_that_was_staged_without_a_snapshot_of_its_own_did_not_change(
    catalog: SqlCatalog,
) -> None:
    assert changed(catalog, "orders") == []


def test_table_that_the_file_does_not_name_is_no_asset(catalog: SqlCatalog) -> None:
    write(catalog, "followed", "new_1", 2)
    assert changed(catalog, "followed") == []


def test_cut_that_staged_nothing_changed_nothing(catalog: SqlCatalog) -> None:
    assert changed(catalog) == []
