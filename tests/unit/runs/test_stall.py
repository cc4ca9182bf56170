"""How long cuts may go no further before somebody hears of it (GATE-O1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tidemark.lake.history import History, TargetChange
from tidemark.lake.ledger import Entry
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


def entry(
    minute: int, code: str, complete_until_ms: int, hold: str = "it waits", applied: int = 0
) -> Entry:
    """A cut that was published in this minute; applied: changes of it."""
    result = CutResult(
        CutStatus.PUBLISHED,
        AttemptId("a"),
        hold=hold,
        hold_code=code,
        complete_until_ms=complete_until_ms,
        buckets={"applied": applied, "held": 9},
    )
    return Entry(result, minute * MINUTE_MS)


def published(newest_first: Sequence[Entry]) -> History:
    """What the ledger remembers behind these cuts, of which it keeps none but the newest."""
    history = History()
    for one in reversed(newest_first):
        ((_, text),) = history.remembered(one.result, one.at_ms)
        history = History(one, held_ms=json.loads(text)["held_ms"])
    return history


STALLED, INCOMPLETE = HoldCode.GATE_STALLED, HoldCode.TX_INCOMPLETE
ADDED = HoldCode.PARTITIONS_ADDED


@pytest.mark.parametrize(
    ("newest_first", "age"),
    [
        pytest.param([entry(10, STALLED, 5)], 50, id="one cut, and silence since"),
        pytest.param([entry(50, STALLED, 5), entry(20, STALLED, 5)], 40, id="the same hold twice"),
        pytest.param(
            [entry(50, STALLED, 5), entry(40, STALLED, 5), entry(10, STALLED, 5)], 50, id="thrice"
        ),
        pytest.param([entry(50, STALLED, 6), entry(20, STALLED, 5)], None, id="it moves"),
        pytest.param([entry(50, INCOMPLETE, 5), entry(20, STALLED, 5)], None, id="another reason"),
        pytest.param([entry(10, "", 5, "")], None, id="nothing is held"),
        pytest.param([entry(10, HoldCode.UNTIL, 5)], None, id="a person capped it"),
        pytest.param([], None, id="nothing is published"),
        pytest.param(
            [entry(50, ADDED, 0, applied=5), entry(10, ADDED, 0, applied=5)],
            None,
            id="it moves, and no source time shows that",
        ),
        pytest.param(
            [entry(50, ADDED, 0), entry(20, ADDED, 0, applied=5), entry(5, ADDED, 0, applied=5)],
            40,
            id="it moved, and then no more",
        ),
        pytest.param(
            [entry(50, STALLED, 5, applied=1), entry(20, STALLED, 5)],
            40,
            id="a table catches up below the frontier",
        ),
    ],
)
def test_a_hold_is_told_after_half_an_hour(newest_first: list[Entry], age: int | None) -> None:
    """PUB-9: how long it lasts is remembered, as the cuts before the newest may be expired."""
    found = stall_of(PIPELINE, published(newest_first), 60 * MINUTE_MS)
    assert found == (None if age is None else Stall("it waits", age * MINUTE_MS))


def test_what_is_remembered_grows_with_tables_alone() -> None:
    """PUB-9: of each table where it went, and of the newest hold since when it lasts."""
    known = frozenset({("shop.a", "db.a")})
    tables = (TableResult("shop.b", "db.b", 1), TableResult("shop.a", "db.a", 2))
    newest = entry(50, STALLED, 5)
    changed = {"db.a": TargetChange(3, 5, 7), "db.c": TargetChange(4, 6, 8)}
    history = History(newest, folded=known, changed=changed, held_ms=15 * MINUTE_MS)
    ((_, text),) = history.remembered(replace(newest.result, cut=9, tables=tables), 60 * MINUTE_MS)
    assert from_stored(Stored.HISTORY, json.loads(text)) == {
        "at_ms": 60 * MINUTE_MS,
        "held_ms": 15 * MINUTE_MS,
        "folded": [["shop.a", "db.a"], ["shop.b", "db.b"]],
        "changed": {
            "db.a": {"cut": 9, "at_ms": 60 * MINUTE_MS, "snapshot_id": 2},
            "db.b": {"cut": 9, "at_ms": 60 * MINUTE_MS, "snapshot_id": 1},
            "db.c": {"cut": 4, "at_ms": 6, "snapshot_id": 8},
        },
    }
    ((_, text),) = history.remembered(replace(newest.result, hold_code=""), 60 * MINUTE_MS)
    assert json.loads(text)["held_ms"] == 60 * MINUTE_MS
