"""Reads of the pipeline's own tables that open what they need, however many cuts there were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.table import Table

from tidemark.lake.catalog import SystemTables
from tidemark.lake.filters import LITERALS, one_of, within
from tidemark.lake.verdicts import read_verdicts, write_verdicts
from tidemark.model.names import AttemptId, PipelineName
from tidemark.model.verdict import CheckResult, Severity, Verdict

CUTS = pa.schema([pa.field("cut", pa.int64())])
TABLES = SystemTables.of(PipelineName("shop"))


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    yield catalog
    catalog.close()


def files(table: Table, wanted: BooleanExpression) -> int:
    return len(list(table.scan(row_filter=wanted).plan_files()))


@pytest.mark.parametrize(
    ("spans", "opened", "rows"),
    [
        ([], 0, 0),
        ([(5, 4)], 0, 0),
        ([(10, 12), (2_500, 2_500)], 2, 4),
        ([(990, 1_010), (1_005, 1_009)], 2, 21),
        ([(3 * number, 3 * number) for number in range(LITERALS)], 1, LITERALS),
        ([(2 * number, 2 * number) for number in range(LITERALS + 1)], 1, 2 * LITERALS + 1),
    ],
)
def test_spans_leave_out_files_between_them(
    catalog: SqlCatalog, spans: list[tuple[int, int]], opened: int, rows: int
) -> None:
    catalog.create_namespace("db")
    table = catalog.create_table(("db", "cuts"), CUTS)
    for first in (0, 1_000, 2_000):
        table.append(pa.table({"cut": range(first, first + 1_000)}, schema=CUTS))
    wanted = within("cut", spans)
    assert files(table, wanted) == opened
    assert table.scan(row_filter=wanted).to_arrow().num_rows == rows


def test_many_values_leave_out_files(catalog: SqlCatalog) -> None:
    catalog.create_namespace("db")
    table = catalog.create_table(("db", "cuts"), CUTS)
    for first in (0, 1_000, 2_000):
        table.append(pa.table({"cut": range(first, first + 1_000)}, schema=CUTS))
    wanted = one_of("cut", range(1_100, 1_100 + 2 * LITERALS))
    assert (files(table, AlwaysTrue()), files(table, wanted)) == (3, 1)
    rows = table.scan(row_filter=wanted).to_arrow()["cut"].to_pylist()
    assert sorted(rows) == list(range(1_100, 1_100 + 2 * LITERALS))
    assert files(table, one_of("cut", ())) == 0


def test_verdicts_of_other_cuts_are_not_opened(catalog: SqlCatalog) -> None:
    """PUB-7: names of attempts begin alike, so that their bounds tell no files apart."""
    check = CheckResult("counts", success=True, severity=Severity.CRITICAL, observed="as expected")
    for cut in (1, 2):
        attempt = AttemptId(f"scheduled__20260101t00000{cut}_1")
        write_verdicts(catalog, TABLES, attempt, cut, [Verdict("shop.items", cut, "", (check,))])
    table = catalog.load_table(TABLES.verdicts.parts)
    (older,) = table.scan(row_filter=one_of("cut", [1])).plan_files()
    Path(older.file.file_path.removeprefix("file://")).unlink()
    (verdict,) = read_verdicts(catalog, TABLES, attempt, 2)
    assert verdict.snapshot_id == 2
