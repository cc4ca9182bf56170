"""Which tables of compacted topics can be followed: KEY-12, KEY-13."""

from __future__ import annotations

import pytest

from tidemark.errors import TableStoppedError
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.columns import TableSchema
from tidemark.model.event import UNTOLD, Kind, Op
from tidemark.model.names import ColumnName, TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.profile import ProfileEntry
from tidemark.runs.landing.compacted import only_tombstones, refuse_other_record_key
from tidemark.spec import SourceSpec, TableSpec

SPEC = TableSpec(source=TableName("shop", "items"), expectations="none")


def source(compacted: str = "allow") -> SourceSpec:
    return SourceSpec.model_validate(
        {
            "format": "debezium-mysql",
            "gate": "none",
            "topics": {"data": ["db.shop.items"]},
            "compacted": compacted,
        }
    )


def profile_entry(schema_id: int | None) -> ProfileEntry:
    at = TopicPartition(TopicName("db.shop.items"), 0)
    counts = (CheckpointStatus.PENDING, True, 1, 0, None, None, 1, 1)
    return ProfileEntry(at, Kind.ROW, ("shop", "items"), Op.DELETE, schema_id, *counts)


def test_tombstones_alone_tell_no_row() -> None:
    """KEY-12: a table without a target has nothing that they could end."""
    assert only_tombstones([profile_entry(UNTOLD), profile_entry(UNTOLD)])
    assert not only_tombstones([profile_entry(UNTOLD), profile_entry(None)])
    assert not only_tombstones([])


@pytest.mark.parametrize(
    ("own", "told", "fault"),
    [
        pytest.param(("id",), [("id",)], None, id="the key of the records"),
        pytest.param(("b", "a"), [("a", "b")], None, id="in another order"),
        pytest.param(("id",), [], None, id="tombstones alone tell no other one"),
        pytest.param(("a",), [("a", "b")], "key columns a, b, but its rows have a", id="fewer"),
        pytest.param(("id",), [("id",), ("no",)], "columns no, but its rows have id", id="changed"),
        pytest.param(("id",), [()], "columns none, but its rows have id", id="records without key"),
        pytest.param((), [()], "columns none, but its rows have none", id="no key at all"),
    ],
)
def test_rows_have_the_key_that_compaction_goes_by(
    own: tuple[str, ...], told: list[tuple[str, ...]], fault: str | None
) -> None:
    """KEY-13: else a record would go that is the last word on another row."""
    schema = TableSchema((), tuple(map(ColumnName, own)))
    records = [RecordSchema(key=key) for key in told]
    refuse_other_record_key(source("refuse"), SPEC, schema, records)
    if fault is None:
        refuse_other_record_key(source(), SPEC, schema, records)
        return
    with pytest.raises(TableStoppedError, match=fault):
        refuse_other_record_key(source(), SPEC, schema, records)
