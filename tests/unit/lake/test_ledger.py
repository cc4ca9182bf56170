"""What rows of the ledger tell of earlier cuts, also those that older versions wrote."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tidemark.lake.catalog import SystemTables
from tidemark.lake.ledger import (
    PROPERTIES,
    SCHEMA,
    UNKNOWN,
    ensure_table,
    newest_snapshots,
    progress_of_cut,
)
from tidemark.model.names import AttemptId, PipelineName
from tidemark.model.progress import Progress
from tidemark.model.result import CutResult, CutStatus, TableResult

SYSTEM = SystemTables.of(PipelineName("p"))
ITEMS, WARES, GOODS = "shop.items", "shop.wares", "shop.goods"


def row(cut: int, *targets: str, is_old: bool = False, renamed_from: str = "") -> dict[str, Any]:
    """A cut that published snapshot 10 times its number of each of ``targets``."""
    tables = tuple(
        TableResult("shop.t", target, 10 * cut, renamed_from=renamed_from) for target in targets
    )
    result = CutResult(CutStatus.STAGED, AttemptId(f"a{cut}"), cut=cut, tables=tables)
    return {
        "cut": cut,
        "attempt": f"a{cut}",
        "staged_at": datetime(2026, 4, 1, tzinfo=UTC),
        "tables": list(targets),
        "result": None if is_old else result.to_json(),
        "progress": None if is_old else replace(Progress(), cut=cut).to_json(),
    }


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    """A catalog with the ledger of five cuts, the first by an older version."""
    made = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    ledger = ensure_table(made, SYSTEM.ledger, SCHEMA, PROPERTIES)
    rows = [row(1, ITEMS, is_old=True), row(2), row(3, ITEMS, WARES), row(4, WARES), row(5, ITEMS)]
    ledger.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    return made


def pairs(target: str, *cuts: int) -> list[tuple[str, int]]:
    return [(target, cut) for cut in cuts]


def test_a_target_stands_where_the_newest_cut_left_it(catalog: SqlCatalog) -> None:
    """FEED-1: a cut that did not change it leaves it as it was."""
    assert newest_snapshots(catalog, SYSTEM, pairs(ITEMS, 3, 4, 5)) == [30, 30, 50]
    assert newest_snapshots(catalog, SYSTEM, pairs(WARES, 2, 5)) == [None, 40]


def test_what_an_older_version_published_is_not_taken_for_nothing(catalog: SqlCatalog) -> None:
    """FEED-1: or all rows of the later cut would seem to be new."""
    assert newest_snapshots(catalog, SYSTEM, pairs(ITEMS, 0, 1, 2)) == [None, UNKNOWN, UNKNOWN]


def test_a_target_that_had_another_name_is_not_taken_for_nothing(catalog: SqlCatalog) -> None:
    """FEED-1, SCHEMA-31: nor for what another table published under its name before."""
    ledger = catalog.load_table(SYSTEM.ledger.parts)
    rows = [row(6, GOODS, renamed_from=ITEMS), row(7, GOODS), row(8, ITEMS, renamed_from=GOODS)]
    ledger.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    assert newest_snapshots(catalog, SYSTEM, pairs(GOODS, 0, 5)) == [None, UNKNOWN]
    assert newest_snapshots(catalog, SYSTEM, pairs(GOODS, 6, 7)) == [60, 70]
    assert newest_snapshots(catalog, SYSTEM, pairs(ITEMS, 3, 5, 7)) == [30, UNKNOWN, UNKNOWN]
    assert newest_snapshots(catalog, SYSTEM, pairs(ITEMS, 8, 9)) == [80, 80]


def test_progress_is_known_of_each_cut_since(catalog: SqlCatalog) -> None:
    """REFOLD-1: as of which a table can be folded again."""
    found = [progress_of_cut(catalog, SYSTEM, cut) for cut in (1, 3, 9)]
    assert [one.cut if one else None for one in found] == [None, 3, None]


def test_without_a_ledger_nothing_is_known(tmp_path: Path) -> None:
    empty = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/none.db", warehouse=str(tmp_path))
    assert newest_snapshots(empty, SYSTEM, pairs(ITEMS, 1, 2)) == [None, None]
    assert progress_of_cut(empty, SYSTEM, 1) is None
