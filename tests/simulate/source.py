"""A model database: tables, transactions, and the log in which they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.simulate.history import SIGNALS, TABLES, Flavour, Write

COMMIT_STEP = 10

Rows = dict[int, int]
State = dict[str, Rows]


@dataclass(frozen=True, slots=True)
class Change:
    """One event of the log. value None: the row is deleted; key None: the table is truncated.

    In SIGNALS a value tells whether a window opens, and the key which one.
    at: where it stands: (file, pos) of a binlog, (C, L) of PostgreSQL, (commitTs, rank) of TiDB.
    """

    table: str
    key: int | None
    value: int | None
    at: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """A transaction of the log, or what stands outside of them; end: its own place, as `at`."""

    number: int
    changes: tuple[Change, ...]
    end: tuple[int, int]
    in_transaction: bool = True


def empty() -> State:
    """No rows."""
    return {table: {} for table in TABLES}


def applied(state: State, changes: Sequence[Change]) -> State:
    """``state`` after ``changes``."""
    after = {table: dict(rows) for table, rows in state.items()}
    for change in changes:
        if change.table == SIGNALS:
            continue
        rows = after[change.table]
        if change.key is None:
            rows.clear()
        elif change.value is None:
            rows.pop(change.key, None)
        else:
            rows[change.key] = change.value
    return after


@dataclass(slots=True)
class Database:
    """Where the truth is. states[n] is the state after the first n entries of the log."""

    flavour: Flavour
    log: list[Entry] = field(default_factory=list)
    states: list[State] = field(default_factory=lambda: [empty()])
    file: int = 9
    pos: int = 100
    clock: int = 1000
    former_start: int = 0

    @property
    def state(self) -> State:
        """The newest one."""
        return self.states[-1]

    def commit(self, writes: Sequence[Write], *, early: bool = False) -> None:
        """A transaction of ``writes``; those that change nothing are not in the log."""
        changes = self._effects(writes)
        if not changes:
            return
        self._append(changes, early=early, in_transaction=True)

    def truncate(self, table: int, then: Sequence[Write]) -> None:
        """TRUNCATE; only with PostgreSQL it is part of a transaction."""
        first: list[tuple[str, int | None, int | None]] = [(TABLES[table], None, None)]
        if self._is_postgres:
            cleared = {**self.state, TABLES[table]: {}}
            self._append(first + self._effects(then, cleared), early=False, in_transaction=True)
            return
        self._append(first, early=False, in_transaction=self.flavour is Flavour.TICDC)
        self.commit(then)

    def signal(self, *, opens: bool) -> None:
        """The connector writes that a window opens or closes."""
        row = (SIGNALS, len(self.log), int(opens))
        self._append([row], early=False, in_transaction=True)

    def rotate(self, *, far: bool) -> None:
        """Positions start again in the next file."""
        if self.flavour in (Flavour.TICDC, Flavour.BY_OFFSET) or self._is_postgres:
            return
        self.file = self.file * 10 + 9 if far else self.file + 1
        self.pos = 4

    @property
    def here(self) -> tuple[int, int]:
        """Where a reader of the log stands that has read all of it."""
        if self.flavour is Flavour.TICDC:
            return self.clock, 0
        if self._is_postgres:
            return self._last_end, self.pos
        return self.file, self.pos

    @property
    def _is_postgres(self) -> bool:
        return self.flavour in (Flavour.POSTGRES, Flavour.POSTGRES_UNGATED)

    @property
    def _last_end(self) -> int:
        return self.log[-1].end[1] if self.log else 0

    def _effects(
        self, writes: Sequence[Write], state: State | None = None
    ) -> list[tuple[str, int | None, int | None]]:
        now = {table: dict(rows) for table, rows in (state or self.state).items()}
        effects: list[tuple[str, int | None, int | None]] = []
        for write in writes:
            table = TABLES[write.table]
            rows = now[table]
            if write.value is None or write.moved_to is not None:
                if write.key not in rows:
                    continue
                value = rows.pop(write.key)
                effects.append((table, write.key, None))
                if write.moved_to is not None and write.moved_to not in rows:
                    rows[write.moved_to] = value
                    effects.append((table, write.moved_to, value))
            else:
                rows[write.key] = write.value
                effects.append((table, write.key, write.value))
        return effects

    def _append(
        self,
        effects: Sequence[tuple[str, int | None, int | None]],
        *,
        early: bool,
        in_transaction: bool,
    ) -> None:
        if self.flavour is Flavour.TICDC:
            changes, end = self._at_commit(effects)
        elif self._is_postgres:
            changes, end = self._at_lsn(effects, early=early)
        else:
            changes, end = self._in_binlog(effects)
        self.log.append(Entry(len(self.log), changes, end, in_transaction))
        self.states.append(applied(self.state, changes))

    def _at_commit(
        self, effects: Sequence[tuple[str, int | None, int | None]]
    ) -> tuple[tuple[Change, ...], tuple[int, int]]:
        """A transaction has one commitTs and at most one delete and one insert of a key."""
        self.clock += COMMIT_STEP
        newest: dict[tuple[str, int | None], int | None] = {}
        gone: set[tuple[str, int | None]] = set()
        for table, key, value in effects:
            newest[table, key] = value
            if value is None and key in self.state[table]:
                gone.add((table, key))
        changes = []
        for (table, key), value in newest.items():
            if key is None:
                changes.append(Change(table, None, None, (self.clock, 2)))
            if (table, key) in gone:
                changes.append(Change(table, key, None, (self.clock, 0)))
            if value is not None:
                changes.append(Change(table, key, value, (self.clock, 1)))
        return tuple(changes), (self.clock, 2)

    def _at_lsn(
        self, effects: Sequence[tuple[str, int | None, int | None]], *, early: bool
    ) -> tuple[tuple[Change, ...], tuple[int, int]]:
        """C is where the last commit ended; L may be smaller, as transactions overlap."""
        start, free = self.pos, self.former_start
        self.former_start = start + 1
        self.pos = start + 40
        lsn = free if early and free else start + 20
        changes = []
        for table, key, value in effects:
            lsn += 1
            changes.append(Change(table, key, value, (self._last_end, lsn)))
        self.pos += 5
        return tuple(changes), (self._last_end, self.pos)

    def _in_binlog(
        self, effects: Sequence[tuple[str, int | None, int | None]]
    ) -> tuple[tuple[Change, ...], tuple[int, int]]:
        changes = []
        for table, key, value in effects:
            self.pos += 7
            changes.append(Change(table, key, value, (self.file, self.pos)))
        self.pos += 3
        return tuple(changes), (self.file, self.pos)
