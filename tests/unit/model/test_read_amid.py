"""Which changes of PostgreSQL a snapshot amid the stream may hold (SNAP-10)."""

from __future__ import annotations

import pytest

from tests.support.stepped import stepped
from tidemark.model.position import Place
from tidemark.model.read_amid import STANDS_BELOW_ITS_LSN, is_unplaced, may_be_held, may_hold

READ = (100, 0, 150)


def place(commit: int, rank: int, lsn: int, epoch: int = 1) -> Place:
    return Place(f"{epoch:04X}{commit:016X}{rank}{lsn:016X}")


@pytest.mark.parametrize(
    ("at", "is_held"),
    [
        pytest.param((90, 1, 95), False, id="it stands below, and the snapshot stands for it"),
        pytest.param((100, 1, 110), True, id="written before the reading"),
        pytest.param((130, 1, 135), True, id="behind a commit that the connector had not read"),
        pytest.param((130, 1, 105), True, id="written before a commit that it stands behind"),
        pytest.param((100, 1, 150), False, id="written where the log ended"),
        pytest.param((100, 1, 160), False, id="written after it"),
        pytest.param((150, 1, 110), False, id="committed after it"),
        pytest.param((100, 1, 110, 2), False, id="of another log"),
    ],
)
def test_what_was_written_before_the_reading_may_be_in_it(
    at: tuple[int, ...], is_held: bool
) -> None:
    """SNAP-10: and what was written or committed behind it cannot be."""
    rows = [{"position": place(*at) + "0" * 16, "snapshot": None}]
    (found,) = stepped(rows, [{"is_held": may_be_held([place(*READ)])}])
    assert found["is_held"] == is_held
    (found,) = stepped([{**rows[0], "snapshot": "true"}], [{"x": may_be_held([place(*READ)])}])
    assert not found["x"], "it was read itself"
    (found,) = stepped(rows, [{"x": may_be_held([])}])
    assert not found["x"]


def test_a_binlog_has_no_such_snapshots() -> None:
    rows = [{"position": "0001" + "0" * 24 + "1" + "0" * 16, "snapshot": None}]
    assert not stepped(rows, [{"x": may_be_held([place(*READ)])}])[0]["x"]
    assert not may_hold(Place("0001" + "0" * 24 + "0"), Place("0001" + "0" * 24 + "1"))
    assert not may_hold(Place(""), place(*READ))


def test_a_new_connectors_snapshot_stands_at_its_lsn() -> None:
    """POS-7."""
    rows = [{"position": place(*at) + "0" * 16} for at in (READ, (100, 0, 100), (100, 0, 50))]
    found = stepped(rows, [{"is_below": STANDS_BELOW_ITS_LSN}])
    assert [bool(row["is_below"]) for row in found] == [True, False, True]
    assert [is_unplaced(place(*at)) for at in (READ, (100, 0, 100), (100, 0, 50))] == [
        False,
        False,
        True,
    ]


def test_what_stands_behind_a_later_commit_needs_no_look() -> None:
    assert may_hold(place(*READ), place(149, 1, 149))
    assert not may_hold(place(*READ), place(150, 1, 140))
    assert may_hold(place(100, 0, 50), place(150, 1, 160)), "an older one may hold it"
