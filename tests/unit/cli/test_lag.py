"""What `tidemark status` calls a lag."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from tidemark.cli.status import show
from tidemark.model.cut import GateMode
from tidemark.model.names import PipelineName, TableName
from tidemark.runs.status import Lag, PipelineStatus, TableStatus

HOURS_AGO_MS = 1_000
TABLE = TableStatus(TableName("shop", "items"), "shop.items", True, HOURS_AGO_MS, None, None, "")
STATUS = PipelineStatus(
    pipeline=PipelineName("shop"),
    gate=GateMode.WATERMARK,
    complete_until_ms=HOURS_AGO_MS,
    lag=Lag(0, 0, 0),
    tables=(TABLE,),
    next_step="nothing to do",
)


def lag_of(status: PipelineStatus) -> str:
    console = Console(width=120, record=True)
    show(console, status)
    line = next(line for line in console.export_text().splitlines() if "shop.items" in line)
    return line.split()[3]


@pytest.mark.parametrize("lag", [Lag(1, 0, 0), Lag(0, 1, 0), Lag(0, 0, 1), None])
def test_a_lag_is_told_while_there_is_something_to_read(lag: Lag | None) -> None:
    assert lag_of(replace(STATUS, lag=lag)) not in ("none", "-")


def test_a_quiet_source_does_not_lag() -> None:
    """Its newest watermark may be hours old, and everything that it sent is published."""
    assert lag_of(STATUS) == "none"


def test_a_table_that_stands_lower_lags() -> None:
    stopped = replace(TABLE, why="it has no key")
    assert lag_of(replace(STATUS, tables=(stopped,))) != "none"
