"""POS-20: which changes at the newest settled place of their partition came before."""

from __future__ import annotations

import pytest

from tests.support.stepped import stepped
from tidemark.model.copies import COPIES


@pytest.mark.parametrize(
    ("settled", "came", "copies"),
    [
        pytest.param(["U.a"], ["U.a"], [True], id="the same: a copy"),
        pytest.param(["U.a"], ["U.a", "U.a"], [True, True], id="twice"),
        pytest.param(["U.a"], ["U.b"], [False], id="another row of one event"),
        pytest.param([], ["U.a"], [False], id="a key that had none there"),
        pytest.param(["U.a"], ["D", "U.a"], [False, False], id="deleted and made again"),
        pytest.param(["U.a"], ["U.a", "D", "U.a"], [True, False, False], id="behind a copy"),
        pytest.param(["U.a", "D"], ["U.a", "D"], [False, False], id="a stretch of several"),
        pytest.param(["U.a", "D"], ["D"], [True], id="its last one"),
    ],
)
def test_changes_of_one_key(settled: list[str], came: list[str], copies: list[bool]) -> None:
    effects = [(False, effect) for effect in settled] + [(True, effect) for effect in came]
    rows = [
        {
            "topic": "shop.t",
            "partition": 0,
            "offset": 8 + offset,
            "snapshot": None,
            "row_key": 1,
            "in_cut": in_cut,
            "effect": effect,
        }
        for offset, (in_cut, effect) in enumerate(effects)
    ]
    found = [bool(row["is_copy"]) for row in stepped(rows, COPIES)]
    assert found == [False] * len(settled) + copies


def test_keys_and_partitions_are_apart() -> None:
    """The offsets have one and two digits, and neither order decides."""
    row = {"topic": "shop.t", "partition": 0, "offset": 9, "row_key": 1, "effect": "U.a"}
    row["snapshot"] = None
    rows = [
        {**row, "in_cut": False},
        {**row, "in_cut": True, "offset": 17},
        {**row, "in_cut": True, "offset": 10, "row_key": 2},
        {**row, "in_cut": True, "offset": 4, "partition": 1},
    ]
    assert [row["offset"] for row in stepped(rows, COPIES) if row["is_copy"]] == [17]


def test_rows_that_were_read_beside_the_stream_are_apart() -> None:
    """SNAP-9: a chunk may read a row as the change left it that it stands beside."""
    row = {"topic": "shop.t", "partition": 0, "row_key": 1, "effect": "U.a"}
    rows = [
        {**row, "offset": 7, "snapshot": None, "in_cut": False},
        {**row, "offset": 8, "snapshot": "incremental", "in_cut": True, "row_key": 1},
        {**row, "offset": 9, "snapshot": None, "in_cut": True},
        {**row, "offset": 10, "snapshot": "incremental", "in_cut": False, "row_key": 2},
        {**row, "offset": 11, "snapshot": "incremental", "in_cut": True, "row_key": 2},
    ]
    assert [row["offset"] for row in stepped(rows, COPIES) if row["is_copy"]] == [9, 11]
