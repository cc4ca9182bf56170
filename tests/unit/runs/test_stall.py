"""How long cuts may go no further before somebody hears of it (GATE-O1)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tidemark.lake.history import Entry, History
from tidemark.model.cut import HoldCode
from tidemark.model.names import AttemptId
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.model.stored_state import Stored, from_stored
from tidemark.runs.stall import MINUTE_MS, Stall, stall_of
from tidemark.spec import PipelineSpec

PIPELINE = PipelineSpec.model_validate(
    {
        "name": "shop",
        "description": "a test",
        "owner": "tests",
        "schedule": None,
        "source": {"format": "ticdc-canal-json", "gate": "watermark", "topics": {"data": ["shop"]}},
        "other-tables": "follow",
        "limits": {"stalled-after": 30},
    }
)


def entry(minute: int, code: str, complete_until_ms: int, hold: str = "it waits") -> Entry:
    """A cut that was published in this minute."""
    result = CutResult(
        CutStatus.PUBLISHED,
        AttemptId("a"),
        hold=hold,
        hold_code=code,
        complete_until_ms=complete_until_ms,
    )
    return Entry(result, minute * MINUTE_MS)


STALLED, INCOMPLETE = HoldCode.GATE_STALLED, HoldCode.TX_INCOMPLETE


@pytest.mark.parametrize(
    ("newest_first", "age"),
    [
        pytest.param([entry(10, STALLED, 5)], 50, id="one cut, and silence since"),
        pytest.param([entry(50, STALLED, 5), entry(20, STALLED, 5)], 40, id="the same hold twice"),
        pytest.param([entry(50, STALLED, 6), entry(20, STALLED, 5)], None, id="it moves"),
        pytest.param([entry(50, INCOMPLETE, 5), entry(20, STALLED, 5)], None, id="another reason"),
        pytest.param([entry(10, "", 5, "")], None, id="nothing is held"),
        pytest.param([entry(10, HoldCode.UNTIL, 5)], None, id="a person capped it"),
        pytest.param([], None, id="nothing is published"),
    ],
)
def test_a_hold_is_told_after_half_an_hour(newest_first: list[Entry], age: int | None) -> None:
    found = stall_of(PIPELINE, History(tuple(newest_first)), 60 * MINUTE_MS)
    assert found == (None if age is None else Stall("it waits", age * MINUTE_MS))


@pytest.mark.parametrize(
    ("newest_first", "age"),
    [
        pytest.param([entry(50, STALLED, 5)], 45, id="the cuts before are expired"),
        pytest.param([entry(50, STALLED, 5), entry(10, STALLED, 4)], None, id="one is not"),
    ],
)
def test_a_hold_is_as_old_as_the_ledger_remembers(
    newest_first: list[Entry], age: int | None
) -> None:
    """GATE-O1, PUB-9: expiry takes the cuts that told its age."""
    history = History(tuple(newest_first), held_ms=15 * MINUTE_MS)
    found = stall_of(PIPELINE, history, 60 * MINUTE_MS)
    assert found == (None if age is None else Stall("it waits", age * MINUTE_MS))


def test_what_is_remembered_grows_with_tables_alone() -> None:
    """PUB-9: of each table where it went, and of the newest hold since when it lasts."""
    known = frozenset({("shop.a", "db.a")})
    tables = (TableResult("shop.b", "db.b", 1), TableResult("shop.a", "db.a", 2))
    newest = entry(50, STALLED, 5)
    history = History((newest,), folded=known, held_ms=15 * MINUTE_MS)
    ((_, text),) = history.remembered(replace(newest.result, tables=tables), 60 * MINUTE_MS)
    assert from_stored(Stored.HISTORY, json.loads(text)) == {
        "at_ms": 60 * MINUTE_MS,
        "held_ms": 15 * MINUTE_MS,
        "folded": [["shop.a", "db.a"], ["shop.b", "db.b"]],
    }
    ((_, text),) = history.remembered(replace(newest.result, hold_code=""), 60 * MINUTE_MS)
    assert json.loads(text)["held_ms"] == 60 * MINUTE_MS
