"""What other DAGs learn when a cut is published."""

from __future__ import annotations

from tidemark.model.names import AttemptId
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.scheduling.assets import events_of
from tidemark.spec import PipelineSpec

PIPELINE = PipelineSpec.model_validate(
    {
        "name": "shop",
        "description": "What the web shop sold.",
        "owner": "sales-data",
        "schedule": None,
        "source": {
            "format": "ticdc-canal-json",
            "gate": "watermark",
            "topics": {"data": ["shop"]},
        },
        "target-namespace": "web",
        "tables": [
            {"source": "s.a", "expectations": "none"},
            {"source": "s.b", "target": "odd names", "expectations": "none"},
        ],
    }
)
CHANGED = TableResult("s.b", "web.odd names", 2**60, inserted=3, updated=2, deleted=1, truncated=4)
RESULT = CutResult(
    CutStatus.PUBLISHED, AttemptId("a_1"), cut=7, complete_until_ms=1_767_225_600_500
)


def test_changed_table_tells_snapshot_and_rows() -> None:
    ((asset, extra),) = events_of(PIPELINE, RESULT, [CHANGED])
    assert (asset.name, asset.uri) == ("web.odd names", "iceberg://web/odd%20names")
    assert extra == {
        "cut": 7,
        "attempt": "a_1",
        "complete_until": "2026-01-01T00:00:00.500000+00:00",
        "snapshot_id": "1152921504606846976",
        "inserted_rows": 3,
        "updated_rows": 2,
        "deleted_rows": 1,
        "truncated_rows": 4,
    }


def test_cut_that_changed_no_table_has_no_event() -> None:
    assert events_of(PIPELINE, RESULT, []) == []


def test_table_that_the_source_renamed_is_known_by_its_target() -> None:
    renamed = TableResult("s.z", "web.a", 1)
    assert [asset.name for asset, _ in events_of(PIPELINE, RESULT, [renamed])] == ["web.a"]


def test_gate_that_knows_no_time_tells_none() -> None:
    result = CutResult(CutStatus.PUBLISHED, AttemptId("a"))
    ((_, extra),) = events_of(PIPELINE, result, [CHANGED])
    assert extra["complete_until"] == ""
