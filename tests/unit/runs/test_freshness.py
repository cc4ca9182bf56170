"""How old a table is, and from when on it is too old."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.cli.test_lag import STATUS, TABLE
from tidemark.lake.history import TargetChange
from tidemark.lake.ledger import Entry
from tidemark.model.cut import GateMode
from tidemark.model.names import AttemptId
from tidemark.model.result import CutResult, CutStatus
from tidemark.runs.freshness import age_ms, stale_sentence, stale_tables
from tidemark.runs.status import Lag, PipelineStatus

MINUTE_MS = 60_000
NOON_MS = 1_767_268_800_000
FRESH = replace(TABLE, complete_until_ms=NOON_MS)
LOWER = replace(TABLE, target="shop.lower", complete_until_ms=NOON_MS - MINUTE_MS, why="it waits")
NEW = replace(TABLE, target="shop.new", complete_until_ms=0)
READING = replace(STATUS, lag=Lag(1, 0, 0), tables=(FRESH, LOWER, NEW), freshness_ms=30 * MINUTE_MS)
CUT = Entry(CutResult(CutStatus.PUBLISHED, AttemptId("a1"), cut=7), NOON_MS)
UNGATED = replace(READING, gate=GateMode.NONE, published=CUT)
CHANGED = replace(LOWER, changed=TargetChange(6, NOON_MS - 5 * MINUTE_MS, 1))


def ages(status: PipelineStatus, minutes: int) -> list[int | None]:
    """Of each table, so many minutes after noon, in minutes."""
    found = [age_ms(status, table, NOON_MS + minutes * MINUTE_MS) for table in status.tables]
    return [None if age is None else age // MINUTE_MS for age in found]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(READING, [10, 11, None], id="records wait"),
        pytest.param(
            replace(READING, lag=Lag(0, 0, 0)), [0, 11, None], id="a quiet source, a lower table"
        ),
        pytest.param(replace(READING, lag=None), [10, 11, None], id="nobody knows what waits"),
        pytest.param(
            replace(UNGATED, tables=(FRESH, CHANGED, LOWER)), [10, 15, None], id="by its cuts"
        ),
        pytest.param(replace(UNGATED, published=None), [None, None, None], id="no cut yet"),
        pytest.param(
            replace(UNGATED, published=None, waiting_since_ms=NOON_MS),
            [10, 10, 10],
            id="no cut yet, and records are landed",
        ),
        pytest.param(
            replace(READING, waiting_since_ms=NOON_MS - 2 * MINUTE_MS),
            [10, 11, 12],
            id="a table that was never published",
        ),
        pytest.param(
            replace(READING, waiting_since_ms=NOON_MS, lag=None, tables=(NEW,)),
            [10],
            id="one of which nobody knows what waits",
        ),
        pytest.param(
            replace(READING, waiting_since_ms=NOON_MS, lag=Lag(0, 0, 0)),
            [0, 11, None],
            id="one of which no record ever came",
        ),
    ],
)
def test_age_of_a_table(status: PipelineStatus, expected: list[int | None]) -> None:
    assert ages(status, 10) == expected


def test_a_clock_that_is_behind_makes_no_table_younger_than_now() -> None:
    assert ages(READING, -10) == [0, 0, None]


def test_a_table_is_stale_once_it_is_older_than_the_limit() -> None:
    assert stale_tables(READING, NOON_MS + 29 * MINUTE_MS) == ()
    at_limit = stale_tables(READING, NOON_MS + 30 * MINUTE_MS)
    assert [table.target for table in at_limit] == ["shop.lower"]
    assert (
        stale_sentence(READING, NOON_MS + 31 * MINUTE_MS)
        == "2 tables older than 30 min: shop.lower since 2026-01-01 12:29:00 UTC, "
        "shop.items since 2026-01-01 12:30:00 UTC"
    )


def test_a_table_that_was_never_published_is_stale_while_records_wait() -> None:
    status = replace(READING, waiting_since_ms=NOON_MS, tables=(NEW,))
    assert stale_sentence(status, NOON_MS + 30 * MINUTE_MS) == ""
    assert (
        stale_sentence(status, NOON_MS + 31 * MINUTE_MS)
        == "1 table older than 30 min: shop.new since 2026-01-01 12:30:00 UTC"
    )


def test_no_table_is_stale_without_a_limit() -> None:
    assert stale_sentence(replace(READING, freshness_ms=0), NOON_MS * 2) == ""
