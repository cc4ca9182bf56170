"""Which records of topics are looked at."""

from __future__ import annotations

import pytest

from tidemark.model.names import TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.topics.sample import FEWEST, ends_of

MOST = 2_000


@pytest.mark.parametrize(
    ("partitions", "held", "expected"),
    [(1, 5_000, 2_000), (4, 5_000, 2_000), (1, 300, 300), (1, 0, 0), (64, 5_000, 64 * FEWEST)],
)
def test_a_topic_is_looked_at_up_to_a_bound(partitions: int, held: int, expected: int) -> None:
    """No record twice, and the first and the last of each partition."""
    reach = {
        TopicPartition(TopicName("t"), number): OffsetRange(7, 7 + held)
        for number in range(partitions)
    }
    firsts, lasts = ends_of(reach, MOST)
    assert sum(span.count for ends in (firsts, lasts) for span in ends.values()) == expected
    for at, span in reach.items():
        assert firsts[at].start == span.start
        assert lasts[at].end == span.end
        assert firsts[at].end <= lasts[at].start
