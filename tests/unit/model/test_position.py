"""What copies of an event share, and which of an earlier cut may come again (POS-9, POS-14)."""

from __future__ import annotations

import pytest

from tests.support.stepped import stepped
from tidemark.model.position import Place, Position, copies_from, event_id_of, may_be_copy
from tidemark.model.reduction import EVENT_ID


def postgres(commit: int, lsn: int) -> Place:
    return Place(f"0001{commit:016X}1{lsn:016X}")


def binlog(pos: int) -> Place:
    return Place(f"0001{7:08X}{pos:016X}1")


def commit(commit_ts: int, rank: int, partition: int) -> Place:
    return Place(f"0001{commit_ts:016X}{rank}{partition:04X}")


@pytest.mark.parametrize(
    ("lowest", "reached", "may_be"),
    [
        pytest.param(binlog(10), binlog(9), False, id="above"),
        pytest.param(binlog(10), binlog(10), True, id="at the very place"),
        pytest.param(postgres(50, 60), postgres(10, 40), False, id="behind a later commit"),
        pytest.param(postgres(50, 55), postgres(10, 55), True, id="a copy that knows another one"),
        pytest.param(postgres(50, 20), postgres(50, 90), True, id="of a transaction read in part"),
    ],
)
def test_what_may_have_come_before(lowest: Place, reached: Place, may_be: bool) -> None:
    assert may_be_copy(lowest, reached) == may_be


def test_where_copies_are_sought() -> None:
    assert copies_from(binlog(10)) == binlog(10)
    assert copies_from(postgres(50, 60)) == "0001"


@pytest.mark.parametrize(
    ("place", "copy", "is_same"),
    [
        pytest.param(binlog(10), binlog(10), True, id="a place of a binlog"),
        pytest.param(binlog(10), binlog(11), False, id="another one"),
        pytest.param(postgres(50, 55), postgres(10, 55), True, id="a copy knows another commit"),
        pytest.param(postgres(50, 55), postgres(50, 56), False, id="another LSN"),
        pytest.param(commit(50, 1, 0), commit(50, 1, 3), True, id="a copy by another partition"),
        pytest.param(commit(50, 0, 0), commit(50, 1, 0), False, id="the insert behind a delete"),
        pytest.param(commit(50, 1, 0), commit(51, 1, 0), False, id="another commit"),
        pytest.param(Place("0001"), Place("0001"), False, id="nothing but offsets"),
    ],
)
def test_what_copies_of_an_event_share(place: Place, copy: Place, is_same: bool) -> None:
    """POS-9, POS-14, GATE-W8: in SQL and in Python alike."""
    positions = [Position(f"{at}{offset:016X}") for offset, at in enumerate((place, copy), 7)]
    rows = stepped([{"position": at} for at in positions], [{"event_id": EVENT_ID}])
    ids = [row["event_id"] for row in rows]
    assert (ids[0] == ids[1]) == is_same
    assert ids == list(map(event_id_of, positions))
