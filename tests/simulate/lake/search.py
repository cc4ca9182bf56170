"""Draws interleavings, and holds what they leave against what must hold whatever happens."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import SetPropertiesUpdate

from tests.simulate.lake.actors import (
    ATTEMPT,
    CUT,
    LEDGER,
    TARGETS,
    Actor,
    BrokenPromiseError,
    World,
    cut,
    maintain,
    order,
    stranger,
)
from tests.simulate.lake.store import Files, MemoryPublication, MissingFileError, Store, moved
from tidemark.lake import publication
from tidemark.lake.catalog import TableId
from tidemark.lake.marks import marked
from tidemark.lake.refs import ATTEMPT_REF
from tidemark.model.maintenance import DAY_MS

STEPS = 14
HOUR_MS = 3_600_000


@dataclass
class Interleaving:
    """One history; steps: what was done, for whoever reads that something broke."""

    seed: int
    steps: list[str] = field(default_factory=list)
    running: list[tuple[str, Actor]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(f"lake {self.seed}")  # noqa: S311  repeatable, not secret
        self.store = Store(self.rng, between=self.advance)
        self.world = World(self.store, {name: {} for name in TARGETS})
        for name in (*TARGETS, LEDGER):
            self.store.create(name)
            self._first(name, {CUT: 0, ATTEMPT: 0} if name == LEDGER else {})
        self.world.contents[0] = {name: {} for name in TARGETS}

    def _first(self, name: TableId, rows: dict[int, int]) -> None:
        table = self.world.load(name)
        files = Files((self.store.put(table.metadata.location, rows),))
        snapshot = self.store.snapshot(table, None, files, Operation.APPEND)
        self.store.commit_table(table, (), moved("main", snapshot))
        table = self.world.load(name)
        update = SetPropertiesUpdate(updates=marked(table, snapshot.snapshot_id, {}))
        self.store.commit_table(table, (), (update,))

    def run(self) -> None:
        """All of it, or BrokenPromiseError."""
        choices = {
            self.begins_cut: 5,
            self.begins_maintenance: 3,
            self.stranger_begins: 2,
            self.is_ordered: 1,
            self.is_killed: 1,
            self.time_passes: 2,
            self.late_swap: 2,
            self.all_end: 2,
        }
        for _ in range(STEPS):
            (step,) = self.rng.choices(list(choices), list(choices.values()))
            self.steps.append(step.__name__)
            step()
            self.advance()
            self.check()
        self.end()

    def note(self, what: str) -> None:
        self.steps[-1] += f" {what}"

    def begins(self, name: str, actor: Actor) -> None:
        self.running.append((name, actor))

    def change_source(self) -> None:
        for rows in self.world.source.values():
            for _ in range(self.rng.randint(0, 3)):
                key = self.rng.randint(1, 5)
                if self.rng.random() < 0.3:  # noqa: PLR2004  of changes end a row
                    rows.pop(key, None)
                else:
                    rows[key] = self.store.next()

    def begins_cut(self) -> None:
        self.change_source()
        refolds, is_late = self.rng.random() < 0.15, self.rng.random() < 0.15  # noqa: PLR2004  few
        self.note("with a refold" * refolds + " whose swap comes late" * is_late)
        self.begins("cut", cut(self.world, refolds=refolds, is_late=is_late))

    def begins_maintenance(self) -> None:
        self.begins("maintenance", maintain(self.world))

    def stranger_begins(self) -> None:
        self.begins("stranger", stranger(self.world, self.rng.choice((*TARGETS, LEDGER))))

    def is_ordered(self) -> None:
        self.begins("order", order(self.world))

    def is_killed(self) -> None:
        if self.running:
            name, _ = self.running.pop(self.rng.randrange(len(self.running)))
            self.note(name)

    def time_passes(self) -> None:
        """Days only where nobody is in the midst of writing: no run takes that long."""
        idle = not self.running
        self.store.now_ms += self.rng.choice((1, 9) if idle else (1,)) * (
            DAY_MS if idle else 6 * HOUR_MS
        )

    def late_swap(self) -> None:
        if self.store.late:
            swap = self.store.late.pop(self.rng.randrange(len(self.store.late)))
            self.note("made" if swap() else "refused")

    def all_end(self) -> None:
        while self.running:
            self.advance()

    def advance(self) -> None:
        """Some steps of those that run, in any order."""
        for _ in range(self.rng.randint(0, 12)):
            idle = [one for one in self.running if not one[1].gi_running]  # type: ignore[attr-defined]
            if not idle:
                return
            one = self.rng.choice(idle)
            try:
                next(one[1])
            except StopIteration:
                self.running.remove(one)

    def check(self) -> None:
        """Main of every table has what one cut published, and can read it."""
        try:
            ledger = self.world.ledger()
            for name, rows in self.world.contents[ledger[ATTEMPT]].items():
                seen = self.store.rows_of(self.world.load(name).current_snapshot())
                if seen != rows:
                    raise BrokenPromiseError(f"{name} has {seen}, and the cut published {rows}")
        except MissingFileError as error:
            raise BrokenPromiseError(f"main names {error}, which is gone") from error
        for table in self.store.tables():
            if missing := self.store.named(table) - self.store.files.keys():
                raise BrokenPromiseError(f"{table.name()} names {sorted(missing)}, which are gone")

    def end(self) -> None:
        """What is left once nobody runs any more is what tables name."""
        self.steps.append("end")
        self.all_end()
        while self.store.late:
            self.store.late.pop()()
        self.check()
        for _ in range(2):
            for rows in self.world.source.values():
                rows[1] = self.store.next()
            number = self.world.ledger()[CUT]
            self._to_its_end(cut(self.world, refolds=False, is_late=False))
            if self.world.ledger()[CUT] != number + 1:
                raise BrokenPromiseError("a cut that was alone published nothing")
        for name in [name for name in self.store.names if "__" in name.table]:
            self._drop(name)
        for _ in range(2):
            self.store.now_ms += 10 * DAY_MS
            self._to_its_end(maintain(self.world))
        self.check()
        newest = self.world.ledger()[CUT]
        for table in self.store.tables():
            found = filter(None, map(ATTEMPT_REF.fullmatch, table.refs()))
            if dead := [match[0] for match in found if int(match["number"]) < newest]:
                raise BrokenPromiseError(f"{table.name()} has {dead} of attempts that are over")
        named = frozenset().union(*map(self.store.named, self.store.tables()))
        if left := self.store.files.keys() - named:
            raise BrokenPromiseError(f"nothing names {sorted(left)}, and nobody removes them")

    def _to_its_end(self, actor: Actor) -> None:
        for _ in actor:
            pass

    def _drop(self, name: TableId) -> None:
        """As a run does to what a refold left half made, and a person to what it displaced."""
        folder = f"{self.world.load(name).metadata.location}/"
        for path in [path for path in self.store.files if path.startswith(folder)]:
            self.store.delete(path)
        del self.store.names[name]


def interleavings(number: int, seed: int) -> Iterator[Interleaving]:
    for at in range(number):
        yield Interleaving(seed + at)


def find(number: int, seed: int) -> str | None:
    """What the first of the interleavings that breaks a promise did; None where all hold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            publication,
            "_publication_of",
            lambda catalog, due: MemoryPublication(catalog, due),
        )
        # Its updates replace what they change; a copy of all the rest takes most of the time.
        patch.setattr(
            TableMetadataV2, "__deepcopy__", lambda metadata, _=None: metadata.model_copy()
        )
        for one in interleavings(number, seed):
            try:
                one.run()
            except BrokenPromiseError as error:
                return f"{error}\nseed {one.seed}: {', '.join(one.steps)}"
    return None
