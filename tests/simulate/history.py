"""What happens in a history: a few steps, small enough to read when one of them goes wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from hypothesis import strategies as st

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
    """The connector reads all tables again, as after a lost position."""


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
    """

    limit: int | None = None
    dies: bool = False
    back: int | None = None


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


_small = st.integers(0, 5)
_tables = st.integers(0, len(TABLES) - 1)
_keys = st.integers(0, KEYS - 1)
_writes = st.builds(
    Write, _tables, _keys, st.none() | st.integers(0, 99), st.none() | st.none() | _keys
)
_commits = st.builds(Commit, st.lists(_writes, min_size=1, max_size=4).map(tuple), st.booleans())
_always: tuple[st.SearchStrategy[Step], ...] = (
    *3 * (_commits,),
    *3 * (st.builds(Deliver, _small, st.integers(1, 4)),),
    *3 * (st.builds(DeliverBut, _small),),
    *3 * (st.builds(Run, st.none() | st.integers(1, 12), st.sampled_from((False, False, True))),),
    st.builds(Deliver, _small, st.integers(5, 12)),
    st.builds(DeliverAll),
    st.builds(Truncate, _tables, st.lists(_writes, max_size=2).map(tuple)),
    st.builds(Restart, st.integers(0, 9)),
    st.builds(Repeat, _small, st.integers(0, 12), st.integers(1, 8)),
    st.builds(Repeat, _small, st.integers(0, 3), st.integers(1, 3)),
    st.builds(Grow),
    st.builds(Expire, _small, st.sampled_from((*[0] * 15, 1))),
)
_chunks = st.builds(Chunk, _tables, st.booleans(), st.lists(_writes, max_size=3).map(tuple))
_debezium: tuple[st.SearchStrategy[Step], ...] = (
    *_always,
    st.builds(Rotate, st.booleans()),
    _chunks,
    st.builds(Break, st.integers(0, 9)),
    st.builds(Snapshot),
    st.builds(Lose),
)
_ticdc: tuple[st.SearchStrategy[Step], ...] = (*_always, *3 * (st.builds(Watermark),))
_STEPS = {Flavour.TICDC: st.one_of(_ticdc), Flavour.BY_OFFSET: st.one_of(_always)}
_OTHERS = st.one_of(_debezium)


def histories(flavours: Sequence[Flavour] = tuple(Flavour)) -> st.SearchStrategy[History]:
    """Any history of one of ``flavours``."""
    return st.sampled_from(flavours).flatmap(_histories_of)


def capped_histories(flavours: Sequence[Flavour]) -> st.SearchStrategy[History]:
    """Histories of one of ``flavours`` in which positions cap runs."""

    def of(flavour: Flavour) -> st.SearchStrategy[History]:
        return _history(flavour, _capped(_STEPS.get(flavour, _OTHERS)))

    return st.sampled_from(flavours).flatmap(of)


_UNGATED = (Flavour.MYSQL_UNGATED, Flavour.POSTGRES_UNGATED)
_BY_TRANSACTION = (Flavour.MYSQL, Flavour.MARIADB, Flavour.POSTGRES)
_wide_commits = st.builds(
    Commit, st.tuples(*(st.builds(Write, st.just(n), _keys, st.integers(0, 99)) for n in (0, 1)))
)
_large_commits = st.builds(Commit, st.lists(_writes, min_size=2, max_size=5).map(tuple))
_small_runs = st.builds(Run, st.integers(1, 3), st.sampled_from((False, False, False, True)))


def _moving(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """Keys move while runs read less than there is, between ``steps`` of any kind."""
    parts = (
        st.lists(steps, max_size=15),
        st.lists(_commits, min_size=1, max_size=5),
        st.just([DeliverAll(), Grow()]),
        st.lists(_commits, min_size=1, max_size=5),
        st.just([DeliverAll()]),
        st.lists(_small_runs | _small_runs | steps, min_size=2, max_size=12),
        st.lists(steps, max_size=10),
    )
    return st.tuples(*parts).map(lambda found: tuple(chain.from_iterable(found)))


def _torn(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """A transaction is read in part, and a stretch of it twice, between ``steps`` of any kind."""
    parts = (
        st.lists(steps, max_size=12),
        st.just([DeliverAll(), Run(), Run()]),
        st.lists(_large_commits, min_size=1, max_size=2),
        st.builds(DeliverBut, _small).map(lambda step: [step]),
        st.lists(st.builds(Repeat, _small, st.integers(0, 2), st.integers(1, 2)), max_size=2),
        st.just([Run()]),
        st.lists(steps, max_size=10),
    )
    return st.tuples(*parts).map(lambda found: tuple(chain.from_iterable(found)))


def _capped(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """A run is capped where a transaction may be, and again in silence, between any ``steps``."""
    parts = (
        st.lists(steps, max_size=12),
        st.lists(_large_commits, min_size=1, max_size=3),
        st.just([DeliverAll()]),
        st.lists(st.builds(Run, back=_small), min_size=1, max_size=3),
        st.lists(steps, max_size=10),
    )
    return st.tuples(*parts).map(lambda found: tuple(chain.from_iterable(found)))


def _begun(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """A snapshot is read in part, and may break off, before ``steps`` of any kind."""
    restarts = st.builds(Restart, st.integers(0, 9))
    parts = (
        st.sampled_from(([], [], [DeliverAll(), Run(), Lose()])),
        st.lists(st.builds(Deliver, _small, st.integers(1, 3)), max_size=2),
        st.lists(_commits | st.builds(Truncate, _tables), min_size=1, max_size=3),
        st.builds(DeliverBut, _small).map(lambda step: [step]) | restarts.map(lambda step: [step]),
        st.just([Run()]),
        st.lists(steps, max_size=20),
    )
    return st.tuples(*parts).map(lambda found: tuple(chain.from_iterable(found)))


def _read_anew(steps: st.SearchStrategy[Step]) -> st.SearchStrategy[tuple[Step, ...]]:
    """Tables are read chunk by chunk under load, truncated, and by a connector that dies."""
    truncates = st.builds(Truncate, _tables, st.lists(_writes, max_size=2).map(tuple))
    breaks = st.builds(Break, st.integers(0, 9)) | st.builds(Restart, st.integers(0, 9))
    parts = (
        st.lists(steps, max_size=8),
        st.lists(_commits | _chunks, max_size=3),
        st.lists(truncates, max_size=1),
        st.lists(_commits | _chunks, min_size=1, max_size=4),
        st.lists(breaks | st.builds(DeliverBut, _small), max_size=2),
        st.lists(_commits | _chunks | st.just(DeliverAll()), min_size=1, max_size=4),
        st.just([Run()]),
        st.lists(steps, max_size=8),
    )
    return st.tuples(*parts).map(lambda found: tuple(chain.from_iterable(found)))


def _steps_of(flavour: Flavour) -> st.SearchStrategy[tuple[Step, ...]]:
    steps = _STEPS.get(flavour, _OTHERS)
    any_steps = st.lists(steps, min_size=10, max_size=40).map(tuple)
    if flavour in _UNGATED:
        return any_steps | _moving(steps) | _read_anew(steps)
    if flavour in _BY_TRANSACTION:
        return st.one_of(any_steps, _torn(steps), _torn(steps), _begun(steps), _read_anew(steps))
    return any_steps


def _histories_of(flavour: Flavour) -> st.SearchStrategy[History]:
    return _history(flavour, _steps_of(flavour))


def _history(
    flavour: Flavour, steps: st.SearchStrategy[tuple[Step, ...]]
) -> st.SearchStrategy[History]:
    return st.builds(
        History,
        st.just(flavour),
        st.integers(1, 3),
        st.lists(_commits | _wide_commits, max_size=3).map(tuple),
        steps,
        st.booleans(),
    )
