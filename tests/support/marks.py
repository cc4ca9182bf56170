"""Rows and marks that a test publishes itself, behind main as it loaded it."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from tidemark.lake.commits import action_branch, append_behind
from tidemark.lake.marks import IN_PROPERTY
from tidemark.lake.refs import main_head


def append_published(
    catalog: Catalog, table: Table, rows: pa.Table, marks: Mapping[str, str]
) -> None:
    """Append to main of ``table``, and have that count as published, with ``marks`` said of it."""
    branch = action_branch(table, main_head(table), 0)
    append_behind(catalog, branch, rows, IN_PROPERTY, marks)
