"""Random lives of a table: cuts that are published or die, and all that keeps tables small between.

The source is a dictionary. After every step that publishes, the target has its rows as pyiceberg
reads them, and of erased keys nothing is left in any file of the newest snapshots.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.e2e.scenarios.test_erase import holds
from tests.e2e.scenarios.test_refold import ITEMS, SOURCES, Change, send
from tests.support.maintenance import pyiceberg_expiry, spark_maintenance
from tests.support.records import Record, postgres_row
from tests.support.stack import Stream
from tidemark.errors import ActionRefusedError
from tidemark.lake import removed
from tidemark.lake.catalog import SystemTables
from tidemark.lake.ledger import read_progress
from tidemark.model.maintenance import DAY_MS
from tidemark.runs.cut import stage_cut
from tidemark.runs.erase import erase
from tidemark.runs.maintain import maintain
from tidemark.runs.plan import plan_cut
from tidemark.runs.refold import begin_refold
from tidemark.runs.retention import keep_changelog
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World

KEYS, STEPS = 6, 16
STRANGERS = (
    spark_maintenance("rewrite_data_files", "rewrite_position_delete_files"),
    spark_maintenance("rewrite_manifests", "expire_snapshots to the last"),
    pyiceberg_expiry,
)


class Life:
    """One table, what its source has, and the time that has passed."""

    def __init__(self, world: World, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311  repeatable
        gate = sorted(SOURCES)[seed % len(SOURCES)]
        source, typed = SOURCES[gate]
        options = {"changelog": {"keep": "7d"}}
        self.stream = Stream(world, 1, source, gate, dict(typed), options).create()
        self.world, self.rows, self.place = world, dict[int, str](), 1000
        self.told: dict[int, set[str]] = {key: set() for key in range(KEYS)}
        self.now_ms = int(time.time() * 1000)
        self.log: list[str] = []

    def run(self) -> None:
        """STEPS of them; the first ones fill the table."""
        steps: list[tuple[int, Callable[[], None]]] = [
            (8, self.cut),
            (2, self.dies),
            (4, self.days_pass),
            (2, self.is_maintained),
            (2, self.strangers_maintain),
            (2, self.refolds),
            (2, self.erases),
            (1, self.truncates),
        ]
        self.cut()
        for _ in range(STEPS):
            (step,) = self.rng.choices(
                [one for _, one in steps], weights=[weight for weight, _ in steps]
            )
            self.log.append(step.__name__)
            step()
        self.settle()

    def change(self) -> None:
        """A few changes of one transaction."""
        self.place += 100
        changes: list[Change] = []
        for at in range(self.rng.randint(1, 5)):
            key = self.rng.randrange(KEYS)
            was = self.rows.get(key)
            if was is not None and self.rng.random() < 0.4:
                del self.rows[key]
                changes.append(("d", key, was))
                continue
            self.rows[key] = f"{key} at {self.place + at}"
            self.told[key].add(self.rows[key])
            changes.append(("c" if was is None else "u", key, self.rows[key]))
        send(self.stream, self.place, *changes)

    def cut(self) -> None:
        self.change()
        self.settle()

    def settle(self) -> None:
        """Run until nothing is left to do, and look."""
        for _ in range(8):
            if not plan_cut(self.stream.pipeline, self.world).has_work:
                break
            result = self.stream.cut()
            assert not result.stopped, self.log
        assert self.stream.rows() == self.rows, self.log
        progress = read_progress(self.world.catalog, SystemTables.of(self.stream.pipeline.name))
        assert (progress.refolds, progress.behind) == ({}, {}), self.log

    def dies(self) -> None:
        """A run that stages, and is gone before it publishes."""
        self.change()
        stage_cut(self.stream.pipeline, self.world, CutRequest(self.stream.attempt()))

    def days_pass(self) -> None:
        self.now_ms += self.rng.randint(1, 6) * DAY_MS
        keep_changelog(self.stream.pipeline, self.world, self.now_ms)

    def is_maintained(self) -> None:
        for done in maintain(self.stream.pipeline, self.world):
            assert not done.skipped, self.log

    def strangers_maintain(self) -> None:
        self.rng.choice(STRANGERS)(self.stream)

    def refolds(self) -> None:
        """A table without a base yet, of which records went, is refused."""
        with suppress(ActionRefusedError):
            begin_refold(self.stream.pipeline, self.world, ITEMS)
        if self.rng.random() < 0.5:
            self.settle()

    def erases(self) -> None:
        self.settle()
        key = self.rng.randrange(KEYS)
        erase(self.stream.pipeline, self.world, ITEMS, [{"id": str(key)}], "asked for")
        for name in self.told[key] - {self.rows.get(key, "")}:
            assert holds(self.stream, f"'{name}'") == set(), (self.log, name)
        assert self.stream.rows() == self.rows, self.log

    def truncates(self) -> None:
        """PostgreSQL tells it in band."""
        if self.stream.gate != "none":
            return
        self.place += 100
        value = json.loads(postgres_row("c", 1, (self.place, self.place)).value or b"")
        told = json.dumps(value | {"op": "t", "after": None})
        self.stream.send([Record(told.encode())])
        self.rows.clear()


def test_random_histories_of_a_table_that_is_kept_small(
    world: World, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KEEP-1, ERASE-1, REFOLD-1, PUB-12: whatever comes between cuts, the target has the rows."""
    monkeypatch.setattr(removed, "MARGIN_MS", -DAY_MS)
    life = Life(world, seed)
    life.run()
