"""Runs a history and holds what is published against the source's own log.

I1 the last state is the source's; I2 each published state is the source's at its cut; I3 the
frontier never goes back; I4 no transaction is half visible; I5 every record becomes final once;
I6 sending anything again changes nothing; I7 cuts, partitions and interleaving change nothing,
which is I1 over many histories; I8 records that are gone are never passed over; I9 a run publishes
nothing that stands at or behind its cap. A cut that ends at a statement may end inside of a
transaction, and then publishes its first changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from tests.simulate.broker import Broker
from tests.simulate.cap import capped_at, statement_at, until_at, waits
from tests.simulate.connector import Connector, Gap
from tests.simulate.consumer import Consumer, Published
from tests.simulate.decode import POSTGRES
from tests.simulate.history import (
    Break,
    Chunk,
    Commit,
    Deliver,
    DeliverAll,
    DeliverBut,
    Expire,
    Flavour,
    Grow,
    History,
    Lose,
    Repeat,
    Restart,
    Rotate,
    Run,
    Snapshot,
    Step,
    Truncate,
    Watermark,
)
from tests.simulate.source import Change, Database, Entry, applied
from tidemark.errors import DataLossError
from tidemark.model.cut import Frontier, GateMode
from tidemark.model.offsets import Offsets
from tidemark.model.position import Place
from tidemark.model.until import Barrier, Cap

RUNS_TO_SETTLE = 3


class BrokenInvariantError(AssertionError):
    """A published state that the source never had, or a record that was lost or counted twice."""


class Runs(Protocol):
    """Tidemark, over the product's decisions alone or over the whole engine."""

    @property
    def mode(self) -> GateMode: ...

    @property
    def landed(self) -> Offsets: ...

    def run(self, limit: int | None, until: Cap | None, *, dies: bool) -> Published | None:
        """Land, cut, and publish unless it dies before that; None when nothing ever came.

        `DataLossError` when records that are not landed are gone.
        """
        ...

    def rows(self) -> Mapping[str, Mapping[int, int]]:
        """What the tables hold."""
        ...

    def unsettled(self) -> int:
        """Changes that are landed and not final; negative when some became final twice."""
        ...


def run_history(history: History, runs_of: Callable[[Connector, Broker], Runs] = Consumer) -> int:
    """Run it and check every invariant, or raise `BrokenInvariantError`. Returns the cuts."""
    running = _Running(history, runs_of)
    try:
        running.run()
    except DataLossError:
        running.is_refused()
    return running.cuts


class _Running:
    def __init__(self, history: History, runs_of: Callable[[Connector, Broker], Runs]) -> None:
        self.history = history
        self.database = Database(history.flavour)
        partitions = 1 if history.flavour is Flavour.BY_OFFSET else history.partitions
        has_signals = history.signals and history.flavour not in (Flavour.TICDC, Flavour.BY_OFFSET)
        self.connector = Connector(self.database, partitions, has_signals)
        self.broker = Broker()
        self.consumer = runs_of(self.connector, self.broker)
        self.frontier = Frontier()
        self.cuts = 0
        self.size_at_run = -1
        self.sent: set[int] = set()
        self.published = self.consumer.rows()
        self.statement_bound = ""

    def run(self) -> None:
        for commit in self.history.before:
            self.database.commit(commit.writes, early=commit.early)
        if self.connector.has_snapshots:
            self.connector.snapshot(initial=True)
        for step in self.history.steps:
            self._step(step)
        self._settle()
        self._is_final("at the end")
        for place in range(len(self.broker.logs)):
            self._repeat(place, *((2, 3) if self._by_offset else (3 * place, 5)))
        self._settle()
        self._is_final("after a stretch of every partition came again")

    def is_refused(self) -> None:
        """Nothing more can be published; what was stays as it is."""
        if not self._overtaken():
            raise BrokenInvariantError("I8: refused, but nothing is gone that was not landed")
        if self.consumer.rows() != self.published:
            raise BrokenInvariantError(
                f"I8: refused, but {self.published} was published and {self.consumer.rows()} is"
            )

    def _step(self, step: Step) -> None:
        match step:
            case Commit() | Truncate() | Rotate():
                self._at_source(step)
            case Watermark() | Chunk() | Break() | Snapshot() | Lose() | Restart():
                self._at_connector(step)
            case Repeat() | Grow() | Expire():
                self._at_broker(step)
            case Deliver(partition, records):
                self.connector.stream()
                self.broker.deliver(self.connector, partition, records)
            case DeliverBut(partition):
                self.connector.stream()
                self.broker.deliver_but(self.connector, partition)
            case DeliverAll():
                self.connector.stream()
                self.broker.deliver_all(self.connector)
            case Run():
                self._run(step)

    def _at_source(self, step: Commit | Truncate | Rotate) -> None:
        match step:
            case Commit(writes, early):
                self.database.commit(writes, early=early)
            case Truncate(table, then):
                self.database.truncate(table, then)
            case Rotate(far):
                self.database.rotate(far=far)

    def _at_connector(self, step: Watermark | Chunk | Break | Snapshot | Lose | Restart) -> None:
        match step:
            case Watermark() if self.history.flavour is Flavour.TICDC:
                self.connector.watermark()
            case Break(back) if self.connector.has_snapshots:
                self.connector.die_in_window()
                self._restart(back)
            case Chunk(table, truncated, inside) if self.connector.has_snapshots:
                self.connector.chunk(table, inside, truncated=truncated)
                if truncated and self.consumer.mode is GateMode.NONE:
                    # Nothing knows these rows again once a run has published them (SNAP-7).
                    self._settle()
            case Snapshot() if self.connector.has_snapshots:
                self._snapshot(step)
            case Lose() if self.connector.has_snapshots and all(self.database.state.values()):
                # Of a table that is empty now no row tells it, so a person is asked (SNAP-6).
                self._lose()
            case Restart(back):
                self._restart(back)
            case _:
                pass  # Not what this connector does.

    def _snapshot(self, step: Snapshot) -> None:
        """Rows beside the stream are of no moment that a gate knows, until the stream is there.

        And two silent runs behind a snapshot prove that nothing came before it (GATE-T6).
        """
        if len(self.connector.gaps) > 1 and not all(self.database.state.values()):
            # Of two snapshots in one cut the last tells; a person is asked (SNAP-6).
            self._settle()
        if step.overtakes and self.history.flavour not in POSTGRES:
            is_gated = self.consumer.mode is not GateMode.NONE
            self.connector.overtake(beside=step.beside and not is_gated)
            if is_gated:
                self.broker.deliver_all(self.connector)
            return
        self.connector.snapshot(initial=False)

    def _lose(self) -> None:
        """What is in its queues never comes: the snapshot stands for it (GATE-T14).

        The log has gone on since the one before, or their rows could not be told apart.
        """
        self.database.rotate(far=False)
        self.connector.lose(
            {o.change for log in self.broker.logs.values() for o in log if o.change}
        )
        if self.history.flavour in POSTGRES:
            # No producer sends again what another connector sent before its snapshot (POS-7).
            self.broker.forget()

    def _repeat(self, partition: int, start: int, records: int) -> None:
        """Rows of a snapshot share one place, so that only a gate knows those which have moved."""
        moved = self.consumer.mode is not GateMode.NONE
        self.broker.repeat(partition, start, records, reads_moved=moved)

    def _at_broker(self, step: Repeat | Grow | Expire) -> None:
        match step:
            # Without positions a repeat that ends before the newest record cannot be told, and a
            # topic with more than one partition is refused.
            case Repeat(partition, start, records) if not self._by_offset:
                self._repeat(partition, start, records)
            case Grow() if not self._by_offset:
                self.connector.stream()
                self.connector.partitions += 1
            case Expire(partition, beyond):
                places = self.connector.places()
                place = places[partition % len(places)]
                self.broker.expire(place, self.consumer.landed.get(place, 0) + beyond)
            case _:
                pass  # Not with this source.

    def _overtaken(self) -> bool:
        return any(
            start > self.consumer.landed.get(place, 0)
            for place, start in self.broker.starts.items()
        )

    def _restart(self, back: int) -> None:
        """A snapshot that breaks off leaves what it had sent.

        With a gate the next one makes that void, unless that one finds nothing at all. It does not
        break off when its last row is there, or what was streamed behind it; nor where a table is
        empty by then and was not before, as no row tells that (SNAP-6).
        """
        waiting = [record for queue in self.connector.queues.values() for record in queue]
        reads = [record for record in waiting if record.is_read]
        begun = min((read.event for read in reads), default=0)
        newest = max((log[-1].event for log in self.broker.logs.values()), default=0)
        may_break = (
            self.consumer.mode is not GateMode.NONE
            and (any if len(self.connector.gaps) == 1 else all)(self.database.state.values())
            and all(read.event >= newest for read in reads)
            and any(
                b'"snapshot": "last"' in (read.value or b"")
                for read in reads
                if read.event == begun
            )
        )
        if reads and not may_break:
            self.broker.deliver_all(self.connector)
        self.connector.restart(back)

    @property
    def _by_offset(self) -> bool:
        return self.history.flavour is Flavour.BY_OFFSET

    def _settle(self) -> None:
        self.connector.stream()
        if self.history.flavour is Flavour.TICDC:
            self.connector.watermark()
        self.broker.deliver_all(self.connector)
        for _ in range(RUNS_TO_SETTLE):
            self._run(Run())

    def _run(self, step: Run) -> None:
        size = sum(map(len, self.broker.logs.values()))
        if size == self.size_at_run:
            # What was sent is there by the next run, or two silent runs would prove nothing.
            self.broker.deliver_all(self.connector)
        self.size_at_run = size
        if self.consumer.mode is GateMode.TRANSACTION:
            self._deliver_reads()
        overtaken = self._overtaken()
        before, capped = self.frontier, capped_at(self.database, step.back)
        statement = self._statement(step, capped)
        if self._ends_at_statement(step):
            capped = None
        until = until_at(self.history.flavour, capped) if capped else statement
        published = self.consumer.run(step.limit, until, dies=step.dies)
        if overtaken:
            raise BrokenInvariantError("I8: a run passed over records that are gone")
        if published is None:
            return
        self.published = published.tables
        self.cuts += 1
        if statement is not None:
            self.statement_bound = published.frontier.bound
        self._is_forward(published.frontier)
        if self.consumer.mode is not GateMode.NONE:
            self._is_at_the_cut(published)
            if capped is not None:
                self._is_below_the_cap(before, published.frontier, capped)
        if self.consumer.unsettled() < 0:
            raise BrokenInvariantError(f"I5: {-self.consumer.unsettled()} became final twice")

    def _deliver_reads(self) -> None:
        """Rows of a snapshot are there by the run after the next, or its end could not be known."""
        queues = self.connector.queues
        for place, queue in queues.items():
            sent = [
                n for n, record in enumerate(queue, 1) if id(record) in self.sent and record.is_read
            ]
            self.broker.deliver_first(self.connector, place, max(sent, default=0))
        self.sent = {id(record) for queue in queues.values() for record in queue}

    def _is_forward(self, frontier: Frontier) -> None:
        old, self.frontier = self.frontier, frontier
        behind = [p for p, offset in old.offsets.items() if frontier.offsets[p] < offset]
        if frontier.commit_ts < old.commit_ts or frontier.bound < old.bound or behind:
            raise BrokenInvariantError(f"I3: the frontier went from {old} to {frontier}")

    def _is_at_the_cut(self, published: Published) -> None:
        """I2 and I4: one of the states between transactions, and the one that the cut names."""
        number = self._entries_below(published.frontier)
        expected = self.database.states[number]
        if published.frontier.bound == self.statement_bound:
            expected = applied(expected, self._begun(number))
        if published.tables != expected:
            raise BrokenInvariantError(
                f"I2: cut {self.cuts} is behind {number} entries of the log; the source had "
                f"{expected}, published is {published.tables}"
            )

    def _is_below_the_cap(self, old: Frontier, new: Frontier, capped: Change) -> None:
        taken = [c for e in self._below(new)[len(self._below(old)) :] for c in e.changes]
        if over := [change for change in taken if waits(self.history.flavour, change, capped)]:
            raise BrokenInvariantError(f"I9: the cap was at {capped.at}, published is {over[0].at}")

    def _ends_at_statement(self, step: Run) -> bool:
        return step.ends_there and self.consumer.mode is GateMode.TRANSACTION

    def _statement(self, step: Run, change: Change | None) -> Barrier | None:
        """The one that stands at ``change``, where a connector sent what stands there."""
        if change is None or not self._ends_at_statement(step):
            return None
        if any(self._gap_of(entry) for entry in self.database.log if change in entry.changes):
            return None
        return statement_at(self._place_of(change))

    def _begun(self, number: int) -> list[Change]:
        """Changes at the statement and below it, of entries that do not stand wholly below it."""
        return [
            change
            for entry in self.database.log[number:]
            for change in entry.changes
            if not self._gap_of(entry) and f"{self._place_of(change)}0" < self.statement_bound
        ]

    def _entries_below(self, frontier: Frontier) -> int:
        """How many entries of the log stand wholly below the frontier."""
        return len(self._below(frontier))

    def _below(self, frontier: Frontier) -> list[Entry]:
        if self.history.flavour is Flavour.TICDC:
            return [entry for entry in self.database.log if entry.end[0] < frontier.commit_ts]
        return [entry for entry in self.database.log if self._is_below(entry, frontier.bound)]

    def _is_below(self, entry: Entry, bound: str) -> bool:
        """What a snapshot read stands where that was read; a bound ends before ``~``."""
        gap = self._gap_of(entry)
        if gap is None:
            return f"{self._place_of(entry.changes[-1])}0" < bound
        read = gap.read_at
        if read is None:
            return True
        place = (read[1], 0, read[1]) if self._is_postgres else (*read, 0)
        return f"{self._text(place)}0" < bound

    def _gap_of(self, entry: Entry) -> Gap | None:
        """The newest snapshot that tells what it did, if it was never streamed."""
        gaps = [gap for gap in self.connector.gaps if gap.start <= entry.number < gap.end]
        return gaps[-1] if gaps else None

    def _place_of(self, change: Change) -> Place:
        """Of a change that was streamed; of the first one behind a snapshot no commit is known."""
        first, last = change.at
        if not self._is_postgres:
            return self._text((first, last, 1))
        for gap in self.connector.gaps:
            entries = self.database.log[gap.end : gap.end + 1]
            if any(change in entry.changes for entry in entries):
                first = max(last, gap.read_at[1] if gap.read_at else 0)
        return self._text((first, 1, last))

    def _text(self, place: tuple[int, int, int]) -> Place:
        digits = (16, 1, 16) if self._is_postgres else (8, 16, 1)
        parts = (f"{number:0{width}X}" for number, width in zip(place, digits, strict=True))
        return Place(f"0001{''.join(parts)}")

    @property
    def _is_postgres(self) -> bool:
        return self.history.flavour is Flavour.POSTGRES

    def _is_final(self, when: str) -> None:
        state = self.consumer.rows()
        if state != self.database.state:
            raise BrokenInvariantError(
                f"I1: {when} the source has {self.database.state}, published is {state}"
            )
        if self.consumer.unsettled():
            raise BrokenInvariantError(f"I5: {when} {self.consumer.unsettled()} are not final")
