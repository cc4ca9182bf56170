"""Where a change stands in its source's order, as text that sorts as the tuple does.

A position is a tuple of unsigned integers (rule POS-1). Its stored form writes every field in
upper-case hexadecimal at fixed width, most significant first, so that comparing two texts is
comparing two tuples. The text without the last field, the offset, is the *place*: what two copies
of one event have in common.

========== ===================================================== =====================
source     fields (hexadecimal digits)                            rule
========== ===================================================== =====================
MySQL      epoch 4, file 8, pos 16, kind 1, offset 16             POS-2, POS-3, POS-4
PostgreSQL epoch 4, commit 16, kind 1, LSN 16, offset 16          POS-2, POS-6, POS-7
TiCDC      epoch 4, commitTs 16, rank 1, partition 4, offset 16   POS-2, POS-10
by offset  epoch 4, offset 16                                     POS-11, POS-12
========== ===================================================== =====================

MariaDB's is that of MySQL. PostgreSQL's commit is the LSN of the commit before the change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NewType

from tidemark.model.offsets import TopicPartition

Position = NewType("Position", str)
Place = NewType("Place", str)

EPOCH = 1
EPOCH_DIGITS = 4
FILE_DIGITS = 8
NUMBER_DIGITS = 16
RANK_DIGITS = 1
PARTITION_DIGITS = 4
OFFSET_DIGITS = 16

BINLOG_RANK_AT = EPOCH_DIGITS + FILE_DIGITS + NUMBER_DIGITS
LSN_RANK_AT = EPOCH_DIGITS + NUMBER_DIGITS
"""Digits in front of the rank, in positions of a binlog and of PostgreSQL."""
COMMIT_DIGITS = EPOCH_DIGITS + NUMBER_DIGITS + RANK_DIGITS
"""Digits of TiCDC's commitTs with its epoch and rank: what copies of an event share."""
COMMIT_POSITION_DIGITS = COMMIT_DIGITS + PARTITION_DIGITS + OFFSET_DIGITS
BINLOG_DIGITS = BINLOG_RANK_AT + RANK_DIGITS + OFFSET_DIGITS
POSTGRES_DIGITS = LSN_RANK_AT + RANK_DIGITS + NUMBER_DIGITS + OFFSET_DIGITS

LAST = Position("~")
"""Above every position."""

TSO_LOGICAL_BITS = 18


class SnapshotRank(IntEnum):
    """At equal coordinates a streamed change beats a snapshot row (POS-4)."""

    SNAPSHOT = 0
    STREAMED = 1


class OrderedBy(StrEnum):
    """What orders the changes of a source; decided once, when the first ones land (POS-12)."""

    POSITION = "position"
    OFFSET = "offset"


@dataclass(frozen=True, slots=True)
class SnapshotRead:
    """A snapshot of PostgreSQL by a new connector, and which records came after it.

    first: per partition the offset of its first row. time_ms: Kafka's time of its first row; where
    a partition has none of its rows, records from then on came after it.
    """

    lsn: int
    time_ms: int
    first: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ordering:
    """How the positions of one landing are made.

    PostgreSQL: streamed changes that know no commit stand above the snapshots of new connectors
    that were read before them (POS-7). snapshot_lsn: the highest of earlier landings. reads: where
    that does not tell, all that may have been.
    """

    by: OrderedBy = OrderedBy.POSITION
    snapshot_lsn: int = 0
    reads: tuple[SnapshotRead, ...] = ()


BY_POSITION = Ordering()


class CommitRank(IntEnum):
    """Inside one commitTs: a delete, then an insert or update, then DDL (POS-10)."""

    DELETE = 0
    UPSERT = 1
    DDL = 2


def _hex(number: int, digits: int) -> str:
    if number < 0 or number >= 16**digits:
        raise ValueError(f"{number} does not fit {digits} hexadecimal digits")
    return f"{number:0{digits}X}"


def commit_bound(commit_ts: int) -> Position:
    """The least position of ``commit_ts``: every position of this commit is at or above it.

    Positions of smaller commits are below.

    >>> commit_bound(0x60) < commit_bound(0x61)
    True
    """
    return Position(_hex(EPOCH, EPOCH_DIGITS) + _hex(commit_ts, NUMBER_DIGITS))


def place_of(position: Position) -> Place | None:
    """What copies of the event at ``position`` share; None where the offset alone orders events.

    >>> place_of(Position("0001" + "0" * 16)) is None
    True
    """
    place = position[:-OFFSET_DIGITS]
    return Place(place) if len(place) > EPOCH_DIGITS else None


def event_id_of(position: Position) -> str:
    """What copies of the event at ``position`` share, and no other event (POS-14).

    In PostgreSQL its LSN alone: a copy may know a later commit (POS-9). Of TiCDC its commitTs and
    rank: a copy may come by another partition (GATE-W8).

    >>> event_id_of(Position("0001" + "0" * 16)) == "0001" + "0" * 16
    True
    """
    if len(position) == POSTGRES_DIGITS:
        lsn = LSN_RANK_AT + RANK_DIGITS
        return position[:EPOCH_DIGITS] + position[lsn : lsn + NUMBER_DIGITS]
    if len(position) == COMMIT_POSITION_DIGITS:
        return position[:COMMIT_DIGITS]
    return place_of(position) or position


def read_beside(place: Place) -> Place:
    """Where a row stands that was read amid the stream, beside what was streamed at ``place``.

    ``place`` itself where the source has no such rows, or it is that of one already.

    >>> read_beside(Place("0001" + "0" * 24 + "1")) == "0001" + "0" * 24 + "0"
    True
    """
    digits = len(place) + OFFSET_DIGITS
    rank_at = {BINLOG_DIGITS: BINLOG_RANK_AT, POSTGRES_DIGITS: LSN_RANK_AT}.get(digits)
    if rank_at is None:
        return place
    rank = str(SnapshotRank.SNAPSHOT.value)
    return Place(place[:rank_at] + rank + place[rank_at + RANK_DIGITS :])


def may_be_copy(lowest: Place, reached: Place) -> bool:
    """Whether an event at ``lowest`` or above can be a copy of one at ``reached`` or below.

    In PostgreSQL a copy may know a later commit than the first one, and has its LSN (POS-9): so the
    commit that it stands behind is compared with the greatest LSN there is.
    """
    if len(lowest) + OFFSET_DIGITS != POSTGRES_DIGITS:
        return lowest <= reached
    commit, lsn = lowest[:LSN_RANK_AT], reached[LSN_RANK_AT + RANK_DIGITS :]
    return commit <= reached[:EPOCH_DIGITS] + lsn


def copies_from(lowest: Place) -> Place:
    """Below it stands no copy of an event at ``lowest`` or above; of PostgreSQL nobody knows."""
    is_postgres = len(lowest) + OFFSET_DIGITS == POSTGRES_DIGITS
    return Place(lowest[:EPOCH_DIGITS]) if is_postgres else lowest


def commit_ts_at(position: str) -> int:
    """The commitTs inside one of TiCDC's positions."""
    return int(position[EPOCH_DIGITS : EPOCH_DIGITS + NUMBER_DIGITS], 16)


def commit_ts_of(millis: int) -> int:
    """The smallest commitTs at or after ``millis`` (TSO = milliseconds << 18 | logical)."""
    return millis << TSO_LOGICAL_BITS


def millis_of(commit_ts: int) -> int:
    """The source's clock at ``commit_ts`` in milliseconds since 1970."""
    return commit_ts >> TSO_LOGICAL_BITS
