"""How the history of a table is shown, to people and to programs."""

from __future__ import annotations

from rich.console import Console

from tidemark.cli.documents import HistoryDocument, history_document
from tidemark.cli.history import show_history
from tidemark.lake.history import Order
from tidemark.lake.target_cuts import TargetCut
from tidemark.model.names import AttemptId, TableName
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.model.verdict import CheckResult, Severity, Verdict
from tidemark.runs.table_history import TableChange, TableHistory

AT_MS = 1_767_225_600_000
FINDING = CheckResult(
    "expect_x()", success=False, severity=Severity.CRITICAL, observed="3 rows", of_suite=True
)
OF = TableResult(
    "shop.items", "lake.items", 77, inserted=1200, outcome="warn", renamed_from="lake.a"
)
RESULT = CutResult(CutStatus.PUBLISHED, AttemptId("a"), 4, tables=(OF,), buckets={"applied": 9})
CHANGE = TableChange(
    TargetCut(RESULT, OF, AT_MS, "month end", None, None),
    Verdict("lake.items", 77, "items", (FINDING,), accepted="the shop was closed"),
    ("ALTER TABLE items\n  ADD COLUMN n int", "DROP TABLE \x1b[2J" + "x" * 300),
)
HISTORY = TableHistory(
    TableName("shop", "items"), "lake.items", (CHANGE,), (Order("resync shop.items", AT_MS),)
)


def shown(history: TableHistory) -> str:
    console = Console(width=160, record=True, force_terminal=False)
    show_history(console, "shop", history)
    return console.export_text()


def test_people_are_shown_what_happened_and_why() -> None:
    text = shown(HISTORY)
    for words in (
        "2026-01-01 00:00:00",
        "1,200",
        "warn (1)",
        "ALTER TABLE items ADD COLUMN n int",
        r"\x1b[2J",
        "renamed from lake.a",
        "run because: month end",
        "expect_x(): 3 rows; accepted: the shop was closed",
        "ordered: resync shop.items",
    ):
        assert words in text
    assert "x" * 250 not in text


def test_a_table_without_a_cut_says_so() -> None:
    text = shown(TableHistory(TableName("shop", "items"), "lake.items", ()))
    assert "no published cut has changed it" in text


def test_programs_are_shown_all_of_it() -> None:
    document = history_document("shop", HISTORY)
    assert HistoryDocument.model_validate_json(document.model_dump_json()) == document
    (change,), (order,) = document.changes, document.orders
    assert (change.cut, change.inserted, change.buckets) == (4, 1200, {"applied": 9})
    assert change.statements == list(CHANGE.statements)
    assert (change.accepted, change.reason) == ("the shop was closed", "month end")
    assert (order.command, order.at_ms) == ("resync shop.items", AT_MS)
