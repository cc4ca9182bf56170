"""The page of one table: what it says, and that what comes from a source is escaped."""

from __future__ import annotations

from dataclasses import replace

from tests.unit.cli.test_lag import STATUS, TABLE
from tests.unit.page.test_views import FORMS
from tidemark.errors import UNCHANGED, CatalogUnreachableError
from tidemark.lake.history import Order
from tidemark.lake.target_cuts import TargetCut
from tidemark.model.event import Reason
from tidemark.model.names import AttemptId, TableName
from tidemark.model.quarantine import Kind, RecordPlace
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.model.verdict import CheckResult, Severity, Verdict
from tidemark.page.render import render
from tidemark.page.table_views import table_page
from tidemark.quality.pages import page_of
from tidemark.runs.status import Lag
from tidemark.runs.table_history import TableChange, TableHistory

EVIL = "<img src=x onerror=alert(1)>"
ITEMS = str(TABLE.table)


def change(number: int, reason: str = "", statements: tuple[str, ...] = ()) -> TableChange:
    of = TableResult(ITEMS, ITEMS, 70 + number, inserted=1_200, deleted=3, outcome="warn")
    failed = CheckResult("expect_x()", False, Severity.WARNING, "3 rows", of_suite=True)
    verdict = Verdict(ITEMS, of.snapshot_id, "items", (failed,), audit=f"tidemark_{number}_a")
    result = CutResult(CutStatus.PUBLISHED, AttemptId("a"), number, tables=(of,))
    return TableChange(TargetCut(result, of, 60_000, reason, None, None), verdict, statements)


def test_a_table_shows_what_became_of_it() -> None:
    history = TableHistory(
        TABLE.table,
        ITEMS,
        (change(7, "a test", ("ALTER TABLE items ADD n INT",)), change(5)),
        (Order("resync shop.items", 90_000),),
    )
    kinds = [
        Kind(name, Reason.KEY_NULL, "", 3, RecordPlace("t", 0, 7))
        for name in (ITEMS, "shop.others", "")
    ]
    status = replace(
        STATUS,
        lag=Lag(12, 0, 4),
        work="12 offsets are unread",
        quarantine=tuple(kinds),
        snapshots={TABLE.table: "is being read", TableName("shop", "others"): "is awaited"},
    )
    docs = {page_of("tidemark_7_a", ITEMS)}
    page = table_page(status, TABLE, history, docs, FORMS)
    assert [(row.cut, row.counts, row.snapshot) for row in page.changes] == [
        *((7, (1_200, 0, 3, 0), 77), (5, (1_200, 0, 3, 0), 75)),
    ]
    newest, older = page.changes
    assert newest.facts == (
        *("ALTER TABLE items ADD n INT", "run because: a test", "expect_x(): 3 rows"),
    )
    assert (newest.docs, older.docs) == ("cuts/tidemark_7_a/shop.items.html", "")
    assert page.ordered == (("1970-01-01 00:01:30", "resync shop.items"),)
    assert dict(page.next_cut) == {
        "work": "12 offsets are unread",
        "unread": "12 offsets, of all tables of the pipeline",
        "held": "4 records",
        "snapshot": "is being read",
    }
    assert [row.kind.table for row in page.quarantine] == [ITEMS]
    assert [order.query for order in page.orders] == [
        *("dag=cut&dry_run=true&tables=shop.items", "dag=cut&tables=shop.items"),
    ]
    text = render("table.html", page=page)
    assert '<a href="docs/cuts/tidemark_7_a/shop.items.html">warn</a>' in text
    assert "<td>1,200</td>" in text


def test_a_history_that_cannot_be_read_hides_nothing_else() -> None:
    down = CatalogUnreachableError("no answer", state=UNCHANGED, next_step="start it")
    page = table_page(STATUS, TABLE, down, (), {})
    assert (page.changes, page.orders) == ((), ())
    text = render("table.html", page=page)
    assert "no answer" in text
    assert "complete until" in text


def test_a_page_says_what_of_the_history_it_does_not_show() -> None:
    history = TableHistory(TABLE.table, "shop.items", (change(7, "shop.items", ()),), unread=1_200)
    text = render("table.html", page=table_page(STATUS, TABLE, history, (), FORMS))
    assert "1,200 older schema changes of all tables were not looked through" in text
    assert "tidemark history shop shop.items" in text


def test_what_sources_say_is_escaped() -> None:
    """POISON-6: names, statements, reasons; there is no script."""
    table = replace(TABLE, table=TableName("shop", EVIL), target=f"shop.{EVIL}", why=EVIL)
    kind = Kind(str(table.table), Reason.KEY_NULL, EVIL, 3, RecordPlace(EVIL, 0, 7))
    history = TableHistory(table.table, EVIL, (change(7, EVIL, (EVIL,)),), (Order(EVIL, 1),))
    status = replace(STATUS, tables=(table,), quarantine=(kind,), work=EVIL, hold=EVIL)
    text = render("table.html", page=table_page(status, table, history, (), FORMS))
    assert "<img" not in text
    assert text.count("&lt;img src=x onerror=alert(1)&gt;") > 9
    assert "<script" not in text
    assert "tables=shop.%3Cimg+src" in text
