"""What people order, and what the source does to its tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from tests.support.shop import (
    KEYS,
    TABLES,
    read_copy,
)
from tests.support.stack import counted
from tests.support.tellers import with_values
from tests.support.years.upkeep import Upkeep
from tidemark.errors import ActionRefusedError
from tidemark.lake.ledger import read_progress
from tidemark.lake.removed import read_removed
from tidemark.model.names import TableName
from tidemark.model.quarantine import Selection
from tidemark.model.result import CutStatus
from tidemark.runs.accept import accept_audit
from tidemark.runs.cut import stage_cut
from tidemark.runs.erase import erase
from tidemark.runs.orders import begin_resync, drop_entries, end_resync, replay_entries
from tidemark.runs.refold import begin_refold, cancel_refold
from tidemark.runs.run import CutRequest

TOO_MUCH = 3_000_000_000


class Orders(Upkeep):
    """Runs beside maintenance and people."""

    def alters(self) -> None:
        self.shop.alter_columns()
        if self.rng.random() < 0.7:
            self.cuts()
        else:
            self.stages()

    def truncates(self) -> None:
        self.shop.truncate()
        self.cuts()

    def refolds(self) -> None:
        name = self.rng.choice(TABLES)
        self.note(name)
        if self.refold(name) and self.rng.random() < 0.7:
            if self.rng.random() < 0.5:
                self.amid()
            self.settles()

    def refold(self, name: str) -> bool:
        """False where the changelog does not tell all rows any more."""
        table = TableName("shop", name)
        is_whole = table not in read_removed(self.world.catalog, self.system)
        if name == "events" and not is_whole:
            return False
        with suppress(ActionRefusedError) if not is_whole else nullcontext():
            begin_refold(self.stream.pipeline, self.world, table)
        if table not in read_progress(self.world.catalog, self.system).refolds:
            self.note("refused")
            return False
        self.supersedes()
        return True

    def gives_up_a_refold(self) -> None:
        self.settles()
        name = self.rng.choice(TABLES)
        if not self.refold(name):
            return
        stage_cut(self.stream.pipeline, self.world, CutRequest(self.stream.attempt()))
        self.amid()
        cancel_refold(self.stream.pipeline, self.world, TableName("shop", name))
        self.cuts()

    def copies_as_of(self) -> None:
        """The table as it was with an older cut, beside its target."""
        self.settles()
        name = self.rng.choice(("notes", "events"))
        table = TableName("shop", name)
        cut = self.rng.choice(sorted(self.as_of))
        self.copies += 1
        copy = f"{name}_copy_{self.copies}"
        if table in read_removed(self.world.catalog, self.system):
            return
        begin_refold(self.stream.pipeline, self.world, table, into=copy, as_of=cut)
        self.units = None
        self.settles()
        self.note(f"{name} as of {cut}")
        assert read_copy(self.stream, name, copy, self.shop.mode) == self.as_of[cut][name]

    def erases(self) -> None:
        self.settles()
        name, number = self.rng.choice(("items", "events")), self.rng.randrange(KEYS)
        self.note(f"{name} {number}")
        keys = [{"id": str(number)}]
        erase(self.stream.pipeline, self.world, TableName("shop", name), keys, "asked for")
        self.shop.erase(name, number)
        self.units = None
        self.as_of.clear()
        self.settled()

    def is_blocked(self) -> None:
        """By its audit; it is accepted, or discarded by the next run, whose suite is another."""
        self.settles()
        before = self.published
        with self._expecting("empty"):
            self.send_all()
            attempt = self.stream.attempt()
            pipeline = self.stream.pipeline
            blocked = stage_cut(pipeline, self.world, CutRequest(attempt))
            assert blocked.status is CutStatus.BLOCKED
            self.check()
            self.amid()
            assert self.published is before
            if self.rng.random() < 0.5:
                self.note("accepted")
                accept_audit(self.stream.pipeline, self.world, attempt, "looked at")
                self.is_published(self.shop.contents())
        self.settles()

    @contextmanager
    def _expecting(self, suite: str) -> Iterator[None]:
        options = self.stream.options
        tables = [
            {**table, "expectations": suite if table["source"] == "shop.items" else "none"}
            for table in options["tables"]
        ]
        self.stream.options = {**options, "tables": tables}
        try:
            yield
        finally:
            self.stream.options = options

    def is_quarantined(self) -> None:
        """A value that does not fit; it is given up, or its column takes it afterwards."""
        self.settles()
        columns = [name for name, kind in self.shop.items.columns.items() if kind == "int"]
        if not columns or not self.shop.items.rows:
            return
        column, number = columns[0], self.rng.choice(sorted(self.shop.items.rows))
        before = dict(self.shop.items.rows[number])
        self.shop.put_item(number, name="bad", **{column: 1})
        self.shop.unsent[-1] = with_values(self.shop.unsent[-1], **{column: TOO_MUCH})
        self.shop.items.rows[number] = before
        results = self.settles()
        assert sum(counted(result).get("quarantined", 0) for result in results) == 1
        self.amid()
        everything = Selection()
        if self.rng.random() < 0.5:
            self.note("given up")
            drop_entries(self.stream.pipeline, self.world, everything, "asked for")
        else:
            self.note("tried again")
            replay_entries(self.stream.pipeline, self.world, everything)
            self.units = None
            self.settles()
            self.shop.items.rows[number] = {**before, "name": "bad", column: TOO_MUCH}
            self.shop.widen(column)
            self.units = None
        self.settles()

    def is_read_again(self) -> None:
        """An incremental snapshot of items beside changes."""
        self.settles()
        self.reads_again()

    def reads_again(self) -> None:
        table = TableName("shop", "items")
        self.units = None
        begin_resync(self.stream.pipeline, self.world, table)
        self.shop.snapshot_items()
        self.send()
        self.amid()
        self.settles()
        end_resync(self.stream.pipeline, self.world, table)
        self.amid()
        self.settles()
