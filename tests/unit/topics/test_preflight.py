"""What is refused before topics are read."""

from __future__ import annotations

import pytest

from tidemark.errors import TopicMissingError
from tidemark.model.names import TopicName
from tidemark.model.progress import LandingMark
from tidemark.spec import PipelineSpec
from tidemark.topics.preflight import refuse_vanished

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
