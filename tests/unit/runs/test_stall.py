"""How long cuts may go no further before somebody hears of it (GATE-O1)."""

from __future__ import annotations

import pytest

from tidemark.lake.history import Entry, History
from tidemark.model.cut import HoldCode
from tidemark.model.names import AttemptId
from tidemark.model.result import CutResult, CutStatus
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
