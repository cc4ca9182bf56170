"""What a cap lets wait, asked of positions as the changelog keeps them (POS-1, POS-3, POS-6)."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime

import pytest

from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.model.until import Barrier, Behind, Coordinate, Until

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
NOON_MS = 1_769_860_800_000


def binlog(file: int, pos: int, *, epoch: int = 1, rank: int = 1) -> str:
    return f"{epoch:04X}{file:08X}{pos:016X}{rank}{7:016X}"


def wal(commit: int, lsn: int, *, epoch: int = 1, rank: int = 1) -> str:
    return f"{epoch:04X}{commit:016X}{rank}{lsn:016X}{7:016X}"


def waits(until: Until | Barrier, *, position: str = "", millis: int = 0, epoch: int = 1) -> bool:
    database = sqlite3.connect(":memory:")
    database.create_function("unix_millis", 1, lambda millis: millis)
    row = "(SELECT ? AS position, ? AS commit_time)"
    query = f"SELECT {until.waits(epoch)} FROM {row}"  # noqa: S608  it is what is tested
    return bool(database.execute(query, (position, millis)).fetchone()[0])


@pytest.mark.parametrize(
    ("millis", "expected"),
    [
        pytest.param(NOON_MS - 1, False, id="before"),
        pytest.param(NOON_MS, True, id="at"),
        pytest.param(NOON_MS + 1, True, id="behind"),
    ],
)
def test_a_time(millis: int, expected: bool) -> None:
    assert waits(Until.at_time(NOON), millis=millis) is expected


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        pytest.param(binlog(1000, 1546), False, id="before"),
        pytest.param(binlog(1000, 1547), True, id="at"),
        pytest.param(binlog(1000, 1547, rank=0), True, id="a row of a snapshot there"),
        pytest.param(binlog(1000, 1548), True, id="behind"),
        pytest.param(binlog(999, 99_999), False, id="higher in the file before"),
        pytest.param(binlog(1001, 4), True, id="lower in the next file"),
        pytest.param(binlog(1001, 4, epoch=2), True, id="another epoch is newer"),
    ],
)
def test_a_place_in_a_binlog(position: str, expected: bool) -> None:
    assert waits(Until.at_binlog(1000, 1547, "b.001000:1547"), position=position) is expected


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        pytest.param(wal(40, 49), False, id="before"),
        pytest.param(wal(40, 50), True, id="at"),
        pytest.param(wal(40, 51), True, id="behind"),
        pytest.param(wal(60, 49), False, id="written before, committed behind"),
        pytest.param(wal(49, 1 << 40), True, id="committed last before it, written behind"),
        pytest.param(wal(50, 50, rank=0), True, id="a row of a snapshot there"),
        pytest.param(wal(49, 49, rank=0), False, id="a row of a snapshot before"),
    ],
)
def test_an_lsn(position: str, expected: bool) -> None:
    assert waits(Until(Coordinate.LSN, 50, "0/32"), position=position) is expected


@pytest.mark.parametrize("until", [Until.at_binlog(9, 50, "b.9:50"), Until(Coordinate.LSN, 50, "")])
def test_what_is_in_an_older_epoch_never_waits(until: Until) -> None:
    """POS-2, POS-17: a cap stands in the log that the newest hand-over began."""
    of = binlog if until.coordinate is Coordinate.BINLOG else wal
    assert not waits(until, position=of(99, 99), epoch=2)
    assert not waits(until, position=of(9, 49, epoch=2), epoch=2)
    assert waits(until, position=of(9, 50, epoch=2), epoch=2)


def test_a_commit_is_what_watermarks_count_in() -> None:
    commit = Until(Coordinate.COMMIT, 450, "450")
    assert commit.commit_ts == 450
    assert Until.at_time(NOON).commit_ts == NOON_MS << 18
    with pytest.raises(ValueError, match=r"b\.9:50 is no commitTs"):
        _ = Until.at_binlog(9, 50, "b.9:50").commit_ts
    with pytest.raises(ValueError, match="450 caps commits"):
        commit.waits(1)


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        pytest.param(binlog(3, 1546), (False, False), id="below the statement"),
        pytest.param(binlog(3, 1547, rank=0), (False, False), id="read by a snapshot at its place"),
        pytest.param(binlog(3, 1547), (False, True), id="the statement, and copies of it"),
        pytest.param(binlog(3, 1548), (True, True), id="behind it"),
        pytest.param(binlog(1, 4, epoch=2), (True, True), id="of a later log"),
    ],
)
def test_a_statement(position: str, expected: tuple[bool, bool]) -> None:
    """SCHEMA-11: it is taken, unless it has to wait itself."""
    statement = Barrier(TableName("shop", "items"), Position(binlog(3, 1547)), Behind.OTHER_KEY)
    excluded = Barrier(
        statement.table, statement.position, Behind.OTHER_KEY, excluded="it is not read yet"
    )
    found = waits(statement, position=position), waits(excluded, position=position)
    assert found == expected


def test_a_statement_among_offsets() -> None:
    """POS-11: where these are all the order there is."""
    statement = Barrier(TableName("shop", "items"), Position(f"0001{9:016X}"), Behind.OTHER_KEY)
    found = [waits(statement, position=f"0001{offset:016X}") for offset in (8, 9, 10)]
    assert found == [False, False, True]


def test_a_statement_in_words() -> None:
    commit = Position(f"0001{500:016X}2{0:04X}{0:016X}")
    statement = Barrier(TableName("shop", "items"), commit, Behind.OTHER_KEY)
    assert statement.commit_ts == 501
    assert statement.sentence.startswith("shop.items has another key behind the statement at posi")
    assert statement.sentence.endswith("; the next run goes on from there")
