"""Tables of sources without positions that come by another topic: POS-11."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.runs.test_without_key import SPEC, STREAMED, UNPLACED, at
from tidemark.errors import TableStoppedError
from tidemark.model.event import Kind
from tidemark.model.names import TopicName
from tidemark.model.profile import ProfileEntry
from tidemark.runs.tables.topic_change import refuse_other_topic, topics_by_offset

FIRST, SECOND = TopicName("s.a"), TopicName("s.b")


@pytest.mark.parametrize(
    ("entries", "before"),
    [
        pytest.param([at("s.a", UNPLACED), at("s.a", UNPLACED)], FIRST, id="the same topic"),
        pytest.param([at("s.a", UNPLACED)], None, id="the first rows"),
        pytest.param([at("s.a", STREAMED), at("s.b", STREAMED)], None, id="placed in their log"),
        pytest.param([at("s.b", replace(UNPLACED, kind=Kind.DDL))], FIRST, id="a statement"),
        pytest.param([], FIRST, id="nothing"),
    ],
)
def test_rows_of_a_single_topic_are_ordered(
    entries: list[ProfileEntry], before: TopicName | None
) -> None:
    refuse_other_topic(SPEC, entries, before)
    assert topics_by_offset(entries) in ([], [FIRST])


@pytest.mark.parametrize(
    ("topics", "before"), [(["s.b"], FIRST), (["s.a"], SECOND), (["s.b", "s.a"], None)]
)
def test_offsets_of_two_topics_order_nothing(topics: list[str], before: TopicName | None) -> None:
    """POS-11: a change of the other topic would be lost as an older one."""
    with pytest.raises(TableStoppedError, match="topics s.a and s.b have rows of shop.a"):
        refuse_other_topic(SPEC, [at(topic, UNPLACED) for topic in topics], before)
