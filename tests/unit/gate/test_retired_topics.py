"""Topics that get no watermarks any more as their tables are gone: GATE-W7."""

from __future__ import annotations

import pytest

from tidemark.gate.next_cut import next_cut
from tidemark.gate.retired_topics import Departure, lagging_topics, with_retired
from tidemark.gate.statistics import StreamStatistics
from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.progress import Progress

ITEMS, GONE, LOST = (TopicName(name) for name in ("items", "gone", "lost"))
I0, I1, G0, L0 = (
    TopicPartition(topic, number)
    for topic, number in ((ITEMS, 0), (ITEMS, 1), (GONE, 0), (LOST, 0))
)
EVERY = (I0, I1, G0)


def before(frontier: int = 20, **watermarks: int) -> Progress:
    """An earlier cut; watermarks: that it knew, i0 and i1 of the topic that has tables."""
    places = {"i0": I0, "i1": I1, "g0": G0, "l0": L0}
    known = {places[name]: watermark for name, watermark in watermarks.items()}
    return Progress(cut=1, frontier=Frontier(commit_ts=frontier), watermarks=known)


@pytest.mark.parametrize(
    ("newest", "unread", "lagging"),
    [
        pytest.param({I0: 40, I1: 41, G0: 20}, [], {GONE}, id="no watermark since the others'"),
        pytest.param({I0: 40, I1: 41, G0: 31}, [], set(), id="as new as theirs were"),
        pytest.param({I0: 40, I1: 41, G0: 20}, [G0], set(), id="not read to its end"),
        pytest.param({I0: 40, I1: 41}, [], set(), id="never had one"),
        pytest.param({I0: 30, I1: 31, G0: 99}, [], set(), id="the others lag behind it"),
    ],
)
def test_a_topic_lags(
    newest: dict[TopicPartition, int], unread: list[TopicPartition], lagging: set[TopicName]
) -> None:
    known = before(i0=30, i1=31, g0=20)
    assert lagging_topics(known, newest, EVERY, unread) == lagging


def test_several_topics_lag() -> None:
    """Each beside the other, which has no newer watermark either."""
    newest = {I0: 40, I1: 41, G0: 20, L0: 20}
    known = before(i0=30, i1=31, g0=20, l0=20)
    assert lagging_topics(known, newest, (*EVERY, L0), []) == {GONE, LOST}
    assert lagging_topics(before(g0=20), {G0: 20}, [G0], []) == set(), "there is no other topic"


@pytest.mark.parametrize(
    ("frontier", "departures", "watermark"),
    [
        pytest.param(20, [Departure(GONE, 25)], 30, id="a table left it"),
        pytest.param(20, [Departure(GONE, 20)], 30, id="as its last watermark came"),
        pytest.param(20, [Departure(None, 25)], 30, id="a database went"),
        pytest.param(20, [Departure(GONE, 30)], 20, id="not below the others' watermarks"),
        pytest.param(20, [Departure(GONE, 19)], 20, id="it had watermarks since"),
        pytest.param(20, [Departure(ITEMS, 25)], 20, id="a table left another topic"),
        pytest.param(20, [], 20, id="no table left it"),
        pytest.param(25, [], 30, id="it was retired before"),
    ],
)
def test_a_retired_topic_holds_nothing(
    frontier: int, departures: list[Departure], watermark: int
) -> None:
    """GATE-W7: it is complete below what the others had sent before it was read to its end."""
    newest = {I0: 40, I1: 41, G0: 20}
    known = before(frontier, i0=30, i1=31, g0=20)
    complete = with_retired(known, newest, EVERY, {GONE}, departures)
    assert complete == {I0: 40, I1: 41, G0: watermark}


def cut_of(known: Progress, seen: int, *left: Departure) -> Cut:
    """Of a run that read a watermark of the topic that has tables, and all there was."""
    watermarks = {I0: seen, I1: seen}
    statistics = StreamStatistics(EVERY, watermarks=watermarks, departures=left)
    return next_cut(GateMode.WATERMARK, known, statistics, None)


def test_cuts_go_on_behind_a_dropped_table() -> None:
    """GATE-W7: a run behind the other topics, and again with a new watermark."""
    first = cut_of(before(i0=20, i1=20, g0=20), 30, Departure(GONE, 25))
    assert (first.frontier.commit_ts, shown(first)) == (20, "above 20")
    second = cut_of(before(i0=30, i1=30, g0=20), 40, Departure(GONE, 25))
    assert (second.frontier.commit_ts, shown(second)) == (30, "its tables are gone, so")
    third = cut_of(before(30, i0=40, i1=40, g0=20), 50)
    assert third.frontier.commit_ts == 40
    back = Progress(cut=1, frontier=Frontier(40), watermarks={I0: 50, I1: 50, G0: 20})
    statistics = StreamStatistics(EVERY, watermarks={I0: 60, I1: 60, G0: 58})
    assert next_cut(GateMode.WATERMARK, back, statistics, None).frontier.commit_ts == 58


def test_the_hold_tells_what_to_do_where_no_statement_shows_it() -> None:
    """GATE-7: Tidemark does not give up by itself on what it waits for."""
    held = cut_of(before(i0=30, i1=30, g0=20), 40)
    assert (held.frontier.commit_ts, shown(held)) == (20, "leave it out of source.topics")


def shown(cut: Cut) -> str:
    """What the hold says beside the partition."""
    assert cut.hold is not None
    known = ("its tables are gone, so", "leave it out of source.topics", "above 20")
    return next(words for words in known if words in cut.hold.sentence)
