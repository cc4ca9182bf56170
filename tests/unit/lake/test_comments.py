"""SCHEMA-39: what columns of a target say of themselves."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import comment_columns
from tidemark.model.names import ColumnName

TARGET = TableId("shop", "items")


@pytest.mark.parametrize(
    ("there", "comment", "shown"),
    [
        ("", "of the source", "of the source"),
        ("of the source", "another", "another"),
        ("a steward's", "", "a steward's"),
        ("a steward's", "\0 ", "a steward's"),
        ("", "", ""),
    ],
)
def test_where_the_source_says_nothing_a_comment_stays(
    tmp_path: Path, there: str, comment: str, shown: str
) -> None:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    catalog.create_namespace("shop")
    table = catalog.create_table(TARGET.parts, pa.schema([pa.field("a.b", pa.string())]))
    with table.update_schema() as columns:
        columns.update_column(("a.b",), doc=there or None)
    before = catalog.load_table(TARGET.parts)
    comment_columns(catalog, TARGET, {ColumnName("a.b"): comment, ColumnName("gone"): "it left"})
    after = catalog.load_table(TARGET.parts)
    assert (after.schema().fields[0].doc or "") == shown
    assert (after.metadata_location == before.metadata_location) == (shown == there)
