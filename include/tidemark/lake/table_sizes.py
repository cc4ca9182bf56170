"""How large targets are, as the summaries of their newest snapshots count it; no file is listed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table.snapshots import Snapshot

from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.lake.marks import live_rows


@dataclass(frozen=True, slots=True)
class TableSize:
    """One target: rows, files and bytes of ``main``; all 0 while nothing is published of it."""

    rows: int
    data_files: int
    delete_files: int
    bytes: int


def read_sizes(catalog: Catalog, targets: Iterable[TableId]) -> dict[TableId, TableSize]:
    """The size of each of ``targets`` that is there: one request to the catalog for each."""
    sizes = {}
    for target in targets:
        with catalog_errors(f"the reading of {target}"):
            try:
                head = catalog.load_table(target.parts).current_snapshot()
            except NoSuchTableError:
                continue
        sizes[target] = _size(head)
    return sizes


def _size(head: Snapshot | None) -> TableSize:
    def count(name: str) -> int:
        text = head.summary[name] if head is not None and head.summary is not None else None
        return int(text or 0)

    return TableSize(
        rows=live_rows(head),
        data_files=count("total-data-files"),
        delete_files=count("total-delete-files"),
        bytes=count("total-files-size"),
    )
