"""What is refused before topics are read, and which offsets a run reads (TOP-1, TOP-2, TOP-5)."""

from __future__ import annotations

import pytest

from tidemark.errors import DataLossError, TopicMissingError
from tidemark.model.names import TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.model.progress import LandingMark
from tidemark.spec import PipelineSpec
from tidemark.topics.preflight import refuse_vanished, unread_range

PLACE = TopicPartition(TopicName("shop.items"), 0)
ITEMS, WARES = TopicName("db.shop.items"), TopicName("db.shop.wares")


def pipeline(*data: str) -> PipelineSpec:
    return PipelineSpec.model_validate(
        {
            "name": "shop",
            "description": "a test",
            "owner": "tests",
            "schedule": None,
            "source": {"format": "debezium-mysql", "gate": "none", "topics": {"data": data}},
            "other-tables": "follow",
        }
    )


def test_a_topic_that_a_pattern_finds_no_more_is_missed() -> None:
    """TOP-1: it was deleted, or somebody took the right to see it; gates would not wait for it."""
    mark = LandingMark(topic_ids={ITEMS: "a", WARES: "b"})
    with pytest.raises(TopicMissingError, match="topic db.shop.wares was landed before"):
        refuse_vanished(pipeline("^db[.]shop[.].*"), {ITEMS}, mark)


@pytest.mark.parametrize(
    "there",
    [
        pytest.param({ITEMS, WARES}, id="all are there"),
        pytest.param({ITEMS, WARES, TopicName("db.shop.new")}, id="another one came"),
        pytest.param({ITEMS}, id="one that the file means no more"),
    ],
)
def test_other_topics_may_come_and_go(there: set[TopicName]) -> None:
    mark = LandingMark(topic_ids={ITEMS: "a", WARES: "b"})
    selector = "^db[.]shop[.].*" if WARES in there else "^db[.]shop[.]items"
    refuse_vanished(pipeline(selector), there, mark)


def test_what_is_not_landed_is_read() -> None:
    assert unread_range(PLACE, OffsetRange(2, 9), 5) == OffsetRange(5, 9)


def test_a_log_that_ends_below_what_was_landed_has_lost_records() -> None:
    """TOP-5: its topic has the id that it had."""
    with pytest.raises(DataLossError, match=r"ends at offset 3, but offset 4 .*\(TOP-5\)"):
        unread_range(PLACE, OffsetRange(0, 3), 5)


def test_what_retention_deleted_is_named() -> None:
    """TOP-2: nothing is reset."""
    with pytest.raises(DataLossError, match="the records 5 to 6 of"):
        unread_range(PLACE, OffsetRange(7, 9), 5)
