"""PUB-11: what somebody altered of a target is named, with the SQL that undoes it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.types import StringType

from tidemark.lake.altered import alterations
from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import SOURCE_SCHEMA, read_target
from tidemark.lake.history import TargetChange
from tidemark.lake.sql import TARGET_PROPERTIES, system_columns
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName

TARGET = TableId("shop", "items")
COLUMNS = tuple(
    SourceColumn(ColumnName(name), "string", ValueEncoding.TEXT, "text") for name in ("id", "name")
)
SCHEMA = TableSchema(COLUMNS, key=(ColumnName("id"),))
MODE = "write.merge.mode"


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    catalog.create_namespace("shop")
    names = (*SCHEMA.names, *system_columns(SCHEMA))
    columns = pa.schema([pa.field(name, pa.string()) for name in names])
    properties = {**TARGET_PROPERTIES, SOURCE_SCHEMA: json.dumps(SCHEMA.to_json())}
    catalog.create_table(TARGET.parts, columns, properties=properties)
    return catalog


def load(catalog: SqlCatalog) -> Table:
    return catalog.load_table(TARGET.parts)


def found(catalog: SqlCatalog) -> tuple[str, str]:
    """What was altered of the target, and how to undo it."""
    head = read_target(catalog, TARGET)
    assert head is not None
    return head.altered, head.back


def test_a_target_as_it_was_made_is_not_altered(catalog: SqlCatalog) -> None:
    assert found(catalog) == ("", "")


def test_what_does_no_harm_is_no_alteration(catalog: SqlCatalog) -> None:
    with load(catalog).update_schema() as columns:
        columns.add_column("extra", StringType())
    with load(catalog).transaction() as change:
        change.set_properties({"owner": "somebody"})
    assert found(catalog) == ("", "")


def test_a_renamed_column_is_known_by_its_field_id(catalog: SqlCatalog) -> None:
    with load(catalog).update_schema() as columns:
        columns.rename_column("name", "nom")
    what, back = found(catalog)
    assert what == "column `name` is called `nom`"
    assert "ALTER TABLE `lake`.`shop`.`items` RENAME COLUMN `nom` TO `name`" in back


def test_nothing_brings_a_dropped_column_back(catalog: SqlCatalog) -> None:
    with load(catalog).update_schema() as columns:
        columns.delete_column("name")
        columns.rename_column("id", "key")
    what, back = found(catalog)
    assert what == "column `id` is called `key`; column `name` was dropped"
    assert back == ""


@pytest.mark.parametrize("mode", ["copy-on-write", "not set"])
def test_a_merge_needs_its_mode(catalog: SqlCatalog, mode: str) -> None:
    with load(catalog).transaction() as change:
        if mode == "not set":
            change.remove_properties(MODE)
        else:
            change.set_properties({MODE: mode})
    what, back = found(catalog)
    assert what == f"{MODE} is {mode}, and not merge-on-read"
    assert f"SET TBLPROPERTIES ('{MODE}' = 'merge-on-read')" in back


def test_another_format_version_is_named(catalog: SqlCatalog) -> None:
    table = load(catalog)
    metadata = table.metadata.model_copy(update={"format_version": 3})
    newer = Table(table.name(), metadata, table.metadata_location, table.io, catalog)
    assert list(alterations(newer, SCHEMA)) == [("its format version is 3, and 2 is written", "")]


def test_what_a_cut_published_and_somebody_expired_is_missing(catalog: SqlCatalog) -> None:
    """PUB-13: the ledger of a REST catalog names a snapshot that the target never got."""
    table = load(catalog)
    marks = {"tidemark.cut": "1"}
    names = table.schema().as_arrow()
    table.append(names.empty_table(), snapshot_properties=marks)
    first = load(catalog).metadata.current_snapshot_id
    assert first is not None
    for newest in (TargetChange(1, 0, first), TargetChange(2, 0, first), None):
        head = read_target(catalog, TARGET, newest)
        assert head is not None
        assert head.change == ""
    head = read_target(catalog, TARGET, TargetChange(2, 0, 77))
    assert head is not None
    assert head.change.startswith("cut 2 published snapshot 77 of it, and it stands at snapshot")
