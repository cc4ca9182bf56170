"""A pipeline of three tables and its source: cuts that are published, wait, or die."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.corpus.kill import kill_somewhere
from tests.support.dying import Statements, dies
from tests.support.named_files import NamedFiles
from tests.support.shop import (
    TABLES,
    Contents,
    Shop,
    expected_of,
)
from tests.support.stack import Stream, counted
from tidemark.errors import NoAttemptError, SupersededError
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.forks import has_fork
from tidemark.lake.ledger import read_progress
from tidemark.model.names import AttemptId
from tidemark.model.result import CutResult, CutStatus
from tidemark.model.target_mode import TargetMode
from tidemark.runs.cut import stage_cut
from tidemark.runs.plan import plan_cut
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World


@dataclass(frozen=True)
class Attempt:
    """An attempt that was staged, and what the source held then; is_over: it may be superseded."""

    attempt: AttemptId
    contents: Contents
    is_over: bool = False


class Runs:
    """A pipeline, what its source has, and what of it is published."""

    def __init__(self, world: World, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rng = random.Random(f"year {seed}")  # noqa: S311  repeatable, not secret
        mode = self.rng.choice((TargetMode.HISTORY, TargetMode.APPEND))
        self.world, self.patch, self.shop = world, monkeypatch, Shop(self.rng, mode)
        layout = {"partition-by": ["bucket(2, id)"]} if self.rng.random() < 0.4 else {}
        layout |= {"sort-by": ["id"]} if self.rng.random() < 0.4 else {}
        every = {"expectations": "none"}
        tables: list[dict[str, Any]] = [
            {"source": "shop.items", **every, **layout},
            {"source": "shop.notes", **every},
            {"source": "shop.events", **every, "mode": mode},
        ]
        options = {
            "tables": tables,
            "publish": {"consistency": "table"},
            "changelog": {"keep": "7d"},
            "maintenance": {"keep-days": 1, "small-files": 2, "max-delete-files": 2},
        }
        kind = "debezium-mysql"
        self.stream = Stream(world, 3, kind, "none", {}, options, has_statements=True).create()
        self.system = SystemTables.of(self.stream.pipeline.name)
        self.namespaces = (self.stream.name, self.system.ledger.namespace)
        self.targets = [TableId(self.stream.name, name) for name in TABLES]
        self.named, self.steps = NamedFiles(), list[str]()
        self.published = self.shop.contents()
        self.as_of: dict[int, dict[str, Any]] = {}
        self.waiting: Attempt | None = None
        self.now_ms, self.copies, self.statements = time.time_ns() // 10**6, 0, 200
        self.units: int | None = 0

    def note(self, what: str) -> None:
        """Say more of the step."""
        self.steps[-1] += f" {what}"

    def send(self) -> None:
        """Some changes of rows."""
        self.shop.change(self.rng.randint(1, 8))
        self._deliver()

    def send_all(self) -> None:
        """A change of each table."""
        self.shop.change_all()
        self._deliver()

    def _deliver(self) -> None:
        units = self.shop.send(self.stream)
        self.units = None if self.units is None else self.units + units

    def cuts(self) -> None:
        self.send()
        self.settles()

    def settles(self) -> list[CutResult]:
        """Cut until nothing is left to do."""
        self._deliver()
        results: list[CutResult] = []
        while plan_cut(self.stream.pipeline, self.world).has_work:
            with Statements(self.world.catalog).counted() as asked:
                results.append(self.stream.cut())
            self.statements = max(asked.number, 1)
            assert not results[-1].stopped
            assert results[-1].status in (CutStatus.PUBLISHED, CutStatus.IDLE)
            assert len(results) < 9, results
        if self.units is not None:
            counts = [counted(result) for result in results]
            ended = sum(sum(count.values()) - count.get("held", 0) for count in counts)
            assert ended == self.units, (counts, self.units)
        self.settled()
        return results

    def settled(self) -> None:
        """All that was sent is published."""
        self.published, self.units, self.waiting = self.shop.contents(), 0, None
        self.as_of[self.cut_number()] = {
            name: expected_of(self.published, name, self.shop.mode) for name in TABLES
        }

    def cut_number(self) -> int:
        return read_progress(self.world.catalog, self.system).cut

    def stages(self) -> None:
        self.send()
        request = CutRequest(self.stream.attempt())
        staged = stage_cut(self.stream.pipeline, self.world, request)
        assert not staged.stopped
        if staged.status is CutStatus.STAGED:
            self.waiting = Attempt(request.attempt, self.shop.contents())

    def publishes(self) -> None:
        """What waits; superseded by what came since, or where it changes columns, by much."""
        if self.waiting is None:
            return
        wait, self.waiting = self.waiting, None
        is_forked = any(
            has_fork(self.world.catalog, self.system.ledger.namespace, target)
            for target in self.targets
        )
        try:
            publish_cut(self.stream.pipeline, self.world, wait.attempt)
        except (SupersededError, NoAttemptError):
            assert wait.is_over or is_forked
            self.note("superseded")
        else:
            self.is_published(wait.contents)

    def is_published(self, contents: Contents) -> None:
        """A cut was; a table that is refolded stands where it stood, until the cut behind that."""
        progress = read_progress(self.world.catalog, self.system)
        apart = {table.table for table in (*progress.refolds, *progress.behind)}
        moved = {name: getattr(contents, name) for name in TABLES if name not in apart}
        self.published, self.waiting, self.units = replace(self.published, **moved), None, None

    def supersedes(self) -> None:
        """What waits need not be published any more, and records are folded once more."""
        self.units = None
        if self.waiting is not None:
            self.waiting = Attempt(self.waiting.attempt, self.waiting.contents, is_over=True)

    def dies(self) -> None:
        """A run whose catalog is gone from some statement on."""
        self.send()
        last = self.rng.randrange(self.statements)
        self._ends_early(
            lambda: dies(self.world.catalog, last, self.stream.cut), f"behind statement {last}"
        )

    def is_killed(self) -> None:
        """A process of its own, and SIGKILL."""
        self.send()
        attempt = self.stream.attempt()
        self._ends_early(
            lambda: kill_somewhere(self.stream.pipeline, self.world, attempt, self.rng), "killed"
        )

    def _ends_early(self, run: Callable[[], bool], how: str) -> None:
        before = self.cut_number()
        has_died = run()
        self.note(how if has_died else "not in time")
        if self.cut_number() > before:
            self.note("published")
            self.is_published(self.shop.contents())
