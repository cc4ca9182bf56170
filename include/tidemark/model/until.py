"""What caps a cut: a time or position that a person gives, or a statement of the source (GATE-O3).

Whatever a gate compares, it is one integer of one coordinate, so that nothing foreign is ever a
part of a question to the changelog.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidemark.model.names import TableName
from tidemark.model.position import (
    EPOCH_DIGITS,
    FILE_DIGITS,
    LAST,
    LSN_RANK_AT,
    NUMBER_DIGITS,
    RANK_DIGITS,
    Position,
    commit_ts_at,
    commit_ts_of,
    place_of,
)

_LSN_FIELD = f"substr(position, {LSN_RANK_AT + RANK_DIGITS + 1}, {NUMBER_DIGITS})"
"""PostgreSQL: the change's own LSN; the commit in front of it is that of another transaction."""


class Coordinate(StrEnum):
    """What a cap is measured in."""

    TIME = "time"
    COMMIT = "commit"
    BINLOG = "binlog"
    LSN = "lsn"


@dataclass(frozen=True, slots=True)
class Until:
    """Where a run is capped.

    number: milliseconds since 1970; a commitTs; file and offset of a binlog, the offset in the
    lowest 64 bits; or an LSN. text: the same as a person reads and writes it.
    """

    coordinate: Coordinate
    number: int
    text: str

    @classmethod
    def at_time(cls, moment: datetime) -> Until:
        """The source's clock; ``moment`` knows its zone."""
        return cls(Coordinate.TIME, int(moment.timestamp() * 1000), moment.isoformat())

    @classmethod
    def at_binlog(cls, file: int, pos: int, text: str) -> Until:
        """``pos`` in the binlog file with the number ``file``."""
        return cls(Coordinate.BINLOG, file << 4 * NUMBER_DIGITS | pos, text)

    @property
    def is_time(self) -> bool:
        """A time, which every source tells."""
        return self.coordinate is Coordinate.TIME

    @property
    def sentence(self) -> str:
        """Why a cut goes no further."""
        return f"the run is capped at {self.text}"

    @property
    def commit_ts(self) -> int:
        """The least commitTs that waits; ``ValueError`` for a position of another source."""
        match self.coordinate:
            case Coordinate.TIME:
                return commit_ts_of(self.number)
            case Coordinate.COMMIT:
                return self.number
            case _:
                raise ValueError(f"{self.text} is no commitTs")

    def waits(self, epoch: int) -> str:
        """SQL condition: a change of the changelog waits; ``ValueError`` for a commitTs.

        epoch: the source's newest, in which the cap stands. What is in older ones never waits.
        """
        begun = f"{epoch:0{EPOCH_DIGITS}X}"
        match self.coordinate:
            case Coordinate.TIME:
                return f"unix_millis(commit_time) >= {self.number}"
            case Coordinate.BINLOG:
                return f"position >= '{begun}{self.number:0{FILE_DIGITS + NUMBER_DIGITS}X}'"
            case Coordinate.LSN:
                lsn = f"{self.number:0{NUMBER_DIGITS}X}"
                return f"position >= '{begun}' AND {_LSN_FIELD} >= '{lsn}'"
            case Coordinate.COMMIT:
                raise ValueError(f"{self.text} caps commits, which have watermarks")


class Behind(StrEnum):
    """What a table is behind a statement at which a cut ends."""

    OTHER_KEY = "has another key"
    OTHER_NAME = "has another name"
    DROPPED = "is dropped"


@dataclass(frozen=True, slots=True)
class Barrier:
    """A statement at which a cut ends, as its table goes on otherwise behind it (SCHEMA-11).

    excluded: why it waits itself; empty where it does not.
    """

    table: TableName
    position: Position
    behind: Behind
    excluded: str = ""

    @property
    def bound(self) -> Position:
        """What is below it is taken: copies of the statement and others at its place as well."""
        place = place_of(self.position)
        if self.excluded:
            return Position(place or self.position)
        return Position(f"{place or self.position}{LAST}")

    @property
    def sentence(self) -> str:
        """Why a cut goes no further."""
        reason = f"{self.table} {self.behind} behind the statement at position {self.position}"
        if self.excluded:
            return f"{reason}, and {self.excluded}"
        return f"{reason}; the next run goes on from there"

    @property
    def commit_ts(self) -> int:
        """The least commitTs that waits."""
        return commit_ts_at(self.position) + (not self.excluded)

    def waits(self, _epoch: int) -> str:
        """SQL condition: a change of the changelog waits. Positions are our own digits."""
        return f"position >= '{self.bound}'"


Cap = Until | Barrier
