"""The cuts that changed a target, under all names that it had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.unit.lake.test_ledger import GOODS, ITEMS, SYSTEM, WARES, row
from tidemark.lake import target_cuts
from tidemark.lake.ledger import PROPERTIES, SCHEMA, ensure_table
from tidemark.lake.target_cuts import cuts_of, published_verdicts
from tidemark.model.progress import Progress

NEWEST = 9


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqlCatalog:
    """Items become goods in cut 5, and wares become items in cut 7; looked at by two cuts each."""
    monkeypatch.setattr(target_cuts, "WINDOW", 2)
    rows = [
        *(row(1, ITEMS, is_old=True), row(2, ITEMS), row(3, WARES), row(4, ITEMS)),
        *(row(5, GOODS, renamed_from=ITEMS), row(6, GOODS)),
        *(row(7, ITEMS, renamed_from=WARES), row(8), row(9, ITEMS)),
    ]
    return with_ledger(tmp_path, rows)


def with_ledger(folder: Path, rows: Sequence[Mapping[str, Any]]) -> SqlCatalog:
    made = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=str(folder))
    ledger = ensure_table(made, SYSTEM.ledger, SCHEMA, PROPERTIES)
    for start in range(0, len(rows), 2):
        ledger.append(pa.Table.from_pylist(list(rows[start : start + 2]), schema=SCHEMA))
    return made


@pytest.mark.parametrize(
    ("target", "last", "expected"),
    [(GOODS, 9, [6, 5, 4, 2]), (GOODS, 3, [6, 5, 4]), (ITEMS, 9, [9, 7, 3]), (WARES, 9, [])],
)
def test_cuts_follow_a_target_to_its_former_name(
    catalog: SqlCatalog, target: str, last: int, expected: list[int]
) -> None:
    """SCHEMA-31: who took the name later is another table."""
    cuts = cuts_of(catalog, SYSTEM, target, NEWEST, last)
    assert [cut.result.cut for cut in cuts] == expected
    assert {cut.of_target.snapshot_id for cut in cuts} == {10 * cut for cut in expected}


@pytest.mark.parametrize("window", [2, 1000])
def test_cuts_of_who_had_the_name_before_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    """SCHEMA-31: items become goods in cut 4, and other items are made in cut 5."""
    monkeypatch.setattr(target_cuts, "WINDOW", window)
    rows = [
        *(row(1, WARES), row(2, ITEMS), row(3, ITEMS), row(4, GOODS, renamed_from=ITEMS)),
        *(row(5, ITEMS), row(6, ITEMS), row(7, GOODS)),
    ]
    made = with_ledger(tmp_path, rows)
    assert [cut.result.cut for cut in cuts_of(made, SYSTEM, ITEMS, 7, 9)] == [6, 5]
    assert [cut.result.cut for cut in cuts_of(made, SYSTEM, GOODS, 7, 9)] == [7, 4, 3, 2]


def test_a_table_takes_back_the_name_that_it_had(tmp_path: Path) -> None:
    rows = [
        *(row(1, ITEMS), row(2, GOODS, renamed_from=ITEMS), row(3, GOODS)),
        *(row(4, ITEMS, renamed_from=GOODS), row(5, ITEMS)),
    ]
    made = with_ledger(tmp_path, rows)
    assert [cut.result.cut for cut in cuts_of(made, SYSTEM, ITEMS, 5, 9)] == [5, 4, 3, 2, 1]


def test_a_cut_knows_progress_as_it_was_before(catalog: SqlCatalog) -> None:
    newest, _, oldest = cuts_of(catalog, SYSTEM, ITEMS, NEWEST, 9)
    assert (newest.before, newest.after) == (Progress(cut=8), Progress(cut=9))
    assert oldest.before == Progress(cut=2)
    (*_, after_old) = cuts_of(catalog, SYSTEM, GOODS, NEWEST, 9)
    assert (after_old.before, after_old.after) == (None, Progress(cut=2))


def test_nothing_is_known_where_there_is_no_ledger(tmp_path: Path) -> None:
    empty = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    assert cuts_of(empty, SYSTEM, ITEMS, 0, 20) == ()


def test_cuts_without_verdicts_have_none(catalog: SqlCatalog) -> None:
    assert published_verdicts(catalog, SYSTEM, cuts_of(catalog, SYSTEM, ITEMS, NEWEST, 9)) == {}
