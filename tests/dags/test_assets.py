"""What other DAGs learn when a cut is published."""

from __future__ import annotations

from tidemark.model.names import AttemptId
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.scheduling.assets import event_extra
from tidemark.spec import TableSpec

RESULT = CutResult(
    CutStatus.PUBLISHED,
    AttemptId("a_1"),
    cut=7,
    complete_until_ms=1_767_225_600_500,
    tables=(TableResult("s.a", "s.a", 2**60, inserted=3, updated=2, deleted=1, truncated=4),),
    stopped={"s.c": "its DDL is not known"},
)


def extra(source: str, result: CutResult = RESULT) -> dict[str, str | int]:
    return dict(event_extra(result, TableSpec(source=source, expectations="none")))


def test_changed_table_tells_snapshot_and_rows() -> None:
    assert extra("s.a") == {
        "cut": 7,
        "attempt": "a_1",
        "complete_until": "2026-01-01T00:00:00.500000+00:00",
        "snapshot_id": "1152921504606846976",
        "inserted_rows": 3,
        "updated_rows": 2,
        "deleted_rows": 1,
        "truncated_rows": 4,
    }


def test_unchanged_table_is_complete_up_to_the_cut_as_well() -> None:
    told = extra("s.b")
    assert told["complete_until"] == "2026-01-01T00:00:00.500000+00:00"
    assert (told["snapshot_id"], told["inserted_rows"]) == ("", 0)
    assert "stopped" not in told


def test_table_that_stands_still_says_why() -> None:
    assert extra("s.c")["stopped"] == "its DDL is not known"


def test_gate_that_knows_no_time_tells_none() -> None:
    assert extra("s.a", CutResult(CutStatus.PUBLISHED, AttemptId("a")))["complete_until"] == ""
