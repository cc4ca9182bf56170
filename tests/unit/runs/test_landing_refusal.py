"""What a landing of some records stops, and what it quarantines."""

from __future__ import annotations

from typing import Any

import pytest

from tidemark.errors import PreflightError, UnreadableRecordsError
from tidemark.formats.avro.framing import SETTING, Framing
from tidemark.runs.landing.judge import landing_refusal, merged_counts
from tidemark.spec import PipelineSpec


def pipeline(max_unreadable: int | None) -> PipelineSpec:
    source = {"format": "ticdc-canal-json", "gate": "watermark", "topics": {"data": ["shop"]}}
    return PipelineSpec.model_validate(
        {
            "name": "shop",
            "description": "a test",
            "owner": "tests",
            "schedule": None,
            "source": source,
            "other-tables": "follow",
            "limits": {} if max_unreadable is None else {"max-unreadable": max_unreadable},
        }
    )


def framed(framing: Framing, unread: int, understood: int) -> dict[str, Any]:
    """Records that name their schema in another way, and others."""
    foreign = {"records": unread, "unreadable": unread, "framing": framing.value, "framed": unread}
    known = {"records": understood, "understood": understood}
    return merged_counts([{**foreign, "reason": "AVRO_MAGIC"}, known])


@pytest.mark.parametrize("framing", list(Framing))
def test_another_framing_names_the_setting_of_the_converter(framing: Framing) -> None:
    """MSG-19: whether it is of all records, or of too many of them."""
    unlimited = pipeline(None)
    alone = landing_refusal(unlimited, framed(framing, 2, 0))
    assert isinstance(alone, PreflightError)
    assert str(framing) in str(alone)
    beside = landing_refusal(pipeline(2), framed(framing, 3, 1))
    assert isinstance(beside, UnreadableRecordsError)
    for refused in (alone, beside):
        assert SETTING[framing] in refused.next_step
    assert landing_refusal(pipeline(3), framed(framing, 3, 0)) is None


@pytest.mark.parametrize("framing", list(Framing))
def test_one_record_of_another_framing_has_strayed(framing: Framing) -> None:
    """MSG-19: it is quarantined, also beside others that cannot be read."""
    assert landing_refusal(pipeline(None), framed(framing, 1, 0)) is None
    others = {"records": 3, "unreadable": 3, "framed": 0, "reason": "JSON_INVALID"}
    assert landing_refusal(pipeline(None), merged_counts([framed(framing, 1, 0), others])) is None


def counted(unplaced: int, understood: int) -> dict[str, Any]:
    """Records without a commitTs, and others."""
    unreadable = {"records": unplaced, "unreadable": unplaced, "unplaced": unplaced}
    known = {"records": understood, "understood": understood}
    return merged_counts([{**unreadable, "reason": "POSITION_MISSING"}, known])


@pytest.mark.parametrize(
    ("unplaced", "understood", "limit", "refusal", "words"),
    [
        (1, 0, 10, PreflightError, "enable-tidb-extension"),
        (1, 2, 10, None, ""),
        (10, 1, 10, None, ""),
        (11, 1, 10, UnreadableRecordsError, "enable-tidb-extension"),
        (1, 1, 0, UnreadableRecordsError, "raise limits.max-unreadable"),
        (0, 3, 0, None, ""),
    ],
)
def test_records_without_a_commit(
    unplaced: int, understood: int, limit: int, refusal: type | None, words: str
) -> None:
    """MSG-50, POS-12: among others that have it they are quarantined, up to the limit."""
    refused = landing_refusal(pipeline(limit), counted(unplaced, understood))
    if refusal is None or refused is None:
        assert (refused, refusal) == (None, None)
        return
    assert isinstance(refused, refusal)
    assert words in refused.next_step
