"""Another log of a source: seen by what falls, begun where it falls, judged by GTIDs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.gate.epoch import Ascent, LandedChange, missing_between, new_log, rises
from tidemark.model.log_end import LogEnd
from tidemark.model.names import TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place

ONE, TWO, BOUNDARIES = (
    TopicPartition(TopicName(topic), n) for topic, n in (("t", 0), ("t", 1), ("x", 0))
)
REACHED = {ONE: Place("0050"), TWO: Place("0010")}
END = LogEnd(REACHED, REACHED, 500)


def landed(
    at: TopicPartition, first: int, changes: Sequence[tuple[str, int]], *, is_gated: bool = False
) -> list[LandedChange]:
    """Changes from offset ``first`` on: places and times."""
    return [
        LandedChange(at, first + number, Place(place), time_ms, is_gated)
        for number, (place, time_ms) in enumerate(changes)
    ]


@pytest.mark.parametrize(
    "changes",
    [
        landed(ONE, 5, [("0060", 600), ("0070", 650)]),
        landed(ONE, 5, [("0060", 600), ("0040", 400), ("0060", 600), ("0070", 700)]),
        landed(ONE, 5, [("0070", 600), ("0060", 600)]),
        landed(ONE, 5, [("0060", 590), ("0070", 300), ("0080", 591)]),
        landed(ONE, 5, [("", 900), ("0060", 600)]),
        [],
    ],
    ids=["grows", "sent again", "of one second", "began early", "without place", "nothing"],
)
def test_what_is_no_new_log(changes: list[LandedChange]) -> None:
    """POS-16: what was sent again is not newer, and what is newer stands higher."""
    assert new_log(changes, END) is None


def test_it_begins_where_places_fall() -> None:
    """POS-17: behind what waits; elsewhere with the first change that is as new."""
    changes = [
        *landed(ONE, 5, [("0060", 600), ("0055", 700), ("0057", 701)]),
        *landed(TWO, 8, [("0058", 610), ("0056", 702)]),
        *landed(BOUNDARIES, 3, [("", 600), ("", 700)]),
    ]
    found = new_log(changes, END)
    assert found is not None
    assert found.starts == {ONE: 6, TWO: 9, BOUNDARIES: 4}
    assert (found.fell_at.at, found.fell_at.offset, found.is_behind) == (ONE, 6, True)


def test_below_what_is_published() -> None:
    """POS-16: a partition without records of the new log begins it later."""
    found = new_log(landed(ONE, 5, [("0001", 501)]) + landed(TWO, 8, [("0049", 400)]), END)
    assert found is not None
    assert found.starts == {ONE: 5}


def test_what_the_old_log_broke_off_belongs_to_the_new_one() -> None:
    """POS-17: rows of the last transaction that nobody sent before, and not those sent again."""
    old = landed(ONE, 3, [("0049", 500), ("0050", 500)], is_gated=True)
    broken_off = [("0049", 500), ("0050", 500), ("0002", 500), ("0003", 501)]
    found = new_log([*old, *landed(ONE, 5, broken_off)], END)
    assert found is not None
    assert found.starts == {ONE: 7}


def test_clocks_that_disagree_are_told() -> None:
    """POS-16: a change of the old log is as new as the first ones of the new log."""
    changes = landed(ONE, 5, [("0001", 501)]) + landed(TWO, 8, [("0070", 800), ("0002", 900)])
    found = new_log(changes, END)
    assert found is not None
    assert not found.is_behind


@pytest.mark.parametrize(
    ("place", "time_ms", "is_another"),
    [
        pytest.param("0049", 7_000, False, id="a snapshot is ahead of it"),
        pytest.param("0049", 7_999, False, id="in the second of the snapshot"),
        pytest.param("0049", 8_000, True, id="newer than the snapshot, and lower"),
        pytest.param("0060", 8_000, False, id="newer, and higher"),
        pytest.param("0029", 7_000, True, id="lower than what was streamed"),
    ],
)
def test_what_a_snapshot_is_ahead_of_is_of_the_same_log(
    place: str, time_ms: int, is_another: bool
) -> None:
    """POS-16, SNAP-10: it comes behind the rows, and is no newer than these."""
    end = LogEnd({ONE: Place("0050")}, {ONE: Place("0030")}, 500, read_ms=7_000)
    changes = landed(ONE, 5, [(place, time_ms)])
    assert (new_log(changes, end) is not None) == is_another
    assert rises(ascents(changes, 1), end) != is_another


UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
OTHER = "4e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        ({"0-1-7", "0-1-8"}, {"0-2-9", "0-2-10"}, ""),
        ({"0-1-7", "0-1-8"}, {"0-1-8", "0-2-9"}, ""),
        ({f"{UUID}:7"}, {f"{OTHER}:1", f"{UUID}:8"}, ""),
        ({f"{UUID}:7"}, {f"{OTHER}:400"}, ""),
        ({f"{UUID}:tag:7"}, {f"{UUID}:1"}, ""),
        ({"0-1-8"}, {"0-2-10"}, "GTIDs 9 to 9 of 0 came by neither log"),
        ({"0-1-8"}, {"0-2-7", "0-2-9"}, "both logs have GTID 7 of 0"),
        ({"0-1-8"}, {None, "0-2-9"}, "no GTID (its transaction is None)"),
        ({"file=b.000001,pos=4"}, {"0-2-9"}, "no GTID (its transaction is file=b.000001,pos=4)"),
    ],
)
def test_gtids_show_whether_anything_is_missing(
    old: set[str | None], new: set[str | None], warning: str
) -> None:
    """POS-16."""
    found = missing_between(old, new)
    assert warning in found
    assert bool(warning) == bool(found)


def ascents(changes: Sequence[LandedChange], size: int) -> list[tuple[TopicPartition, Ascent]]:
    """Of ranges of ``size`` records, as tasks of a landing read them."""
    found = []
    for at in (ONE, TWO):
        own = [change for change in changes if change.at == at]
        for first in range(0, len(own), size):
            ascent = Ascent()
            for change in own[first : first + size]:
                if change.place:
                    ascent.add(change.place, change.time_ms)
            found.append((at, ascent))
    return found


CHANGES = st.lists(
    st.tuples(st.sampled_from((ONE, TWO)), st.sampled_from(("", *"abcdef")), st.integers(0, 6)),
    max_size=9,
)


@given(changes=CHANGES, size=st.integers(1, 9), settled=st.sampled_from("ace"))
def test_what_rises_shows_no_other_log(
    changes: Sequence[tuple[TopicPartition, str, int]], size: int, settled: str
) -> None:
    """The quick look may see a fall where there is none, and never the other way round."""
    known = [
        LandedChange(at, number, Place(place), time_ms)
        for number, (at, place, time_ms) in enumerate(changes)
    ]
    end = LogEnd({ONE: Place(settled)}, {ONE: Place(settled)}, 2)
    if rises(ascents(known, size), end):
        assert new_log(known, end) is None


def test_a_log_that_goes_on_rises() -> None:
    """Also where a connector sends some of it again, with its old times."""
    known = landed(ONE, 0, [("a", 1), ("c", 3), ("b", 2), ("c", 3), ("d", 3)])
    assert all(rises(ascents(known, size), LogEnd({}, {}, 0)) for size in range(1, 6))
