"""Which events of an earlier cut may come again (POS-9, POS-14)."""

from __future__ import annotations

import pytest

from tidemark.model.position import Place, copies_from, may_be_copy


def postgres(commit: int, lsn: int) -> Place:
    return Place(f"0001{commit:016X}1{lsn:016X}")


def binlog(pos: int) -> Place:
    return Place(f"0001{7:08X}{pos:016X}1")


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
