"""What happens in a history: a few steps, small enough to read when one of them goes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

TABLES = ("a", "b")
SIGNALS = "signals"
KEYS = 4


class Flavour(StrEnum):
    """Source and gate."""

    MYSQL = "mysql, transaction"
    MARIADB = "mariadb, transaction"
    POSTGRES = "postgres, transaction"
    TICDC = "ticdc, watermark"
    MYSQL_UNGATED = "mysql, none"
    POSTGRES_UNGATED = "postgres, none"
    BY_OFFSET = "no positions, none"


@dataclass(frozen=True, slots=True)
class Write:
    """One row change; value None deletes. moved_to: the key changes to this one."""

    table: int
    key: int
    value: int | None
    moved_to: int | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction. early: with PostgreSQL it began before the one that committed before it."""

    writes: tuple[Write, ...]
    early: bool = False


@dataclass(frozen=True, slots=True)
class Truncate:
    """TRUNCATE of a table; then: row changes behind it in the same transaction (PostgreSQL)."""

    table: int
    then: tuple[Write, ...] = ()


@dataclass(frozen=True, slots=True)
class Rotate:
    """The source starts a new log file; far: its number gains a digit."""

    far: bool


@dataclass(frozen=True, slots=True)
class Watermark:
    """TiCDC promises that all it has sent is all there is."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """An incremental snapshot reads a table; truncated: which is emptied before it is sent.

    inside: row changes while its window is open, half of them before the table is read.
    """

    table: int
    truncated: bool = False
    inside: tuple[Write, ...] = ()


@dataclass(frozen=True, slots=True)
class Break:
    """The connector dies while a window is open, and goes on from ``back`` events before.

    MariaDB's then marks all that it streams like rows that it reads.
    """

    back: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The connector reads all tables again, as after a lost position.

    overtakes: amid the stream, so that it goes on from where it was behind their rows. Those stand
    where the log ends, or with ``beside`` where the stream was.
    """

    overtakes: bool = False
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Lose:
    """The source purges what the connector has not sent, so it reads all tables anew."""


@dataclass(frozen=True, slots=True)
class Deliver:
    """The broker takes ``records`` that the connector has sent to a partition, in order."""

    partition: int
    records: int


@dataclass(frozen=True, slots=True)
class DeliverBut:
    """The broker takes all that was sent, but for one partition, which lags."""

    partition: int


@dataclass(frozen=True, slots=True)
class DeliverAll:
    """The broker takes all that the connector has sent."""


@dataclass(frozen=True, slots=True)
class Restart:
    """The connector dies and goes on from ``back`` events before where it was."""

    back: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """A producer sends a stretch again that begins ``start`` records before the newest."""

    partition: int
    start: int
    records: int


@dataclass(frozen=True, slots=True)
class Grow:
    """Every topic of rows gets one partition more; what is sent from now on knows it."""


@dataclass(frozen=True, slots=True)
class Expire:
    """Retention deletes what is landed of a partition, and ``beyond`` records more."""

    partition: int
    beyond: int


@dataclass(frozen=True, slots=True)
class Run:
    """Tidemark runs. limit: of records to land; dies: before it publishes.

    back: it is capped at the change that stands so many before the source's newest; not with None.
    ends_there: with a transaction gate, the cut ends behind that change, as at a statement.
    """

    limit: int | None = None
    dies: bool = False
    back: int | None = None
    ends_there: bool = False


Step = (
    Commit
    | Truncate
    | Rotate
    | Watermark
    | Chunk
    | Break
    | Snapshot
    | Lose
    | Deliver
    | DeliverBut
    | DeliverAll
    | Restart
    | Repeat
    | Grow
    | Expire
    | Run
)


@dataclass(frozen=True, slots=True)
class History:
    """A source with rows that its connector finds when it starts, and what happens then.

    signals: the connector's signal table tells when windows open.
    """

    flavour: Flavour
    partitions: int
    before: tuple[Commit, ...]
    steps: tuple[Step, ...]
    signals: bool = False

    def __str__(self) -> str:
        told = ", with signals" if self.signals else ""
        head = f"{self.flavour}, {self.partitions} partitions{told}, "
        head += f"{len(self.before)} commits before:"
        return "\n".join((head, *(f"  {c}" for c in self.before), *(f"  {s}" for s in self.steps)))
