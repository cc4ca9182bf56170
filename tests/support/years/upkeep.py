"""What maintenance does, ours and that of strangers, and what must hold whatever it does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from pyiceberg.table import Table

from tests.support.dying import dies
from tests.support.maintenance import load, pyiceberg_expiry
from tests.support.named_files import age, path_of
from tests.support.shop import (
    TABLES,
    expected_of,
    read_contents,
)
from tests.support.strangers import LABELS, maintain_as_stranger
from tests.support.years.runs import Runs
from tidemark.lake.catalog import TableId, folder_of
from tidemark.lake.forks import has_fork
from tidemark.lake.history import existing_tables, read_history
from tidemark.lake.marks import foreign_change, read_published
from tidemark.lake.refs import ATTEMPT_REF
from tidemark.model.maintenance import DAY_MS
from tidemark.model.verdict import Outcome
from tidemark.runs import maintain as maintenance
from tidemark.runs.maintain import FORKED, maintain
from tidemark.runs.publish import read_verdicts
from tidemark.runs.retention import keep_changelog

HOUR_MS = 3_600_000


class Upkeep(Runs):
    """Runs beside maintenance."""

    def is_maintained(self) -> None:
        self.later(self.rng.choice((0, DAY_MS + HOUR_MS)))
        for done in maintain(self.stream.pipeline, self.world):
            assert done.skipped in ("", FORKED), done

    def maintenance_dies(self) -> None:
        self.later(self.rng.choice((0, DAY_MS + HOUR_MS)))
        last = self.rng.randrange(60)
        died = dies(
            self.world.catalog, last, lambda: list(maintain(self.stream.pipeline, self.world))
        )
        self.note(f"behind statement {last}" if died else "not in time")

    def later(self, millis: int) -> None:
        """Have maintenance run when so much time has passed."""
        now_ms = time.time_ns() // 10**6 + millis
        self.patch.setattr(maintenance, "_now_ms", lambda: now_ms)

    def stranger_maintains(self) -> None:
        """On any tables that there are, forks and copies too."""
        targets, own = (self.names_in(folder) for folder in self.namespaces)
        self.note(maintain_as_stranger(self.stream, self.rng, targets, own))

    def stranger_expires(self) -> None:
        """By pyiceberg, which leaves the files."""
        pyiceberg_expiry(self.stream)

    def stranger_labels(self) -> None:
        table, label = self.rng.choice(self.targets), self.rng.choice(LABELS)
        label(self.stream, table, len(self.steps))
        self.note(f"{label.__name__} {table.table}")

    def time_passes(self) -> None:
        """Files get old enough to be removed; so does a fork, which nothing publishes then."""
        if any(
            has_fork(self.world.catalog, self.system.ledger.namespace, target)
            for target in self.targets
        ):
            self.waiting = None
        age(self.folders(), 4 * DAY_MS / 1000)

    def days_pass(self) -> None:
        """Bases are made, and records go that these stand for."""
        self.now_ms += self.rng.randint(1, 6) * DAY_MS
        self.note(f"{keep_changelog(self.stream.pipeline, self.world, self.now_ms)} records go")

    def amid(self) -> None:
        """What may happen between two steps that belong together."""
        amid = (
            self.is_maintained,
            self.stranger_maintains,
            self.time_passes,
            self.stranger_expires,
            self.maintenance_dies,
        )
        if self.rng.random() < 0.6:
            step = self.rng.choice(amid)
            self.note(f"[{step.__name__}]")
            step()

    def names_in(self, namespace: str) -> list[TableId]:
        names = existing_tables(self.world.catalog, namespace)
        return [TableId(namespace, name) for name in sorted(names)]

    def tables(self) -> Iterator[tuple[TableId, Table]]:
        """All but forks, which name files of their tables that these may have no more."""
        for name in (name for space in self.namespaces for name in self.names_in(space)):
            if not ATTEMPT_REF.match(name.table):
                yield name, load(self.stream, name)

    def folders(self) -> list[Path]:
        root = path_of(folder_of(self.world.catalog))
        return [root / namespace for namespace in self.namespaces]

    def check(self) -> None:
        """Rows, who made them, and that their files are there."""
        for name, rows in read_contents(self.stream, TABLES, self.shop.mode).items():
            assert rows == expected_of(self.published, name, self.shop.mode), name
        for target in self.targets:
            table = load(self.stream, target)
            assert foreign_change(table, read_published(table)) == ""
        self._check_audits()
        missing = {str(name): self.named.missing(table) for name, table in self.tables()}
        assert not any(missing.values()), missing

    def _check_audits(self) -> None:
        newest = read_history(self.world.catalog, self.system).published
        assert newest is not None
        result = newest.result
        verdicts = read_verdicts(self.stream.pipeline, self.world, result.attempt, result.cut)
        passed = {one.snapshot_id for one in verdicts if one.outcome is not Outcome.BLOCK}
        assert {table.snapshot_id for table in result.tables} <= passed
