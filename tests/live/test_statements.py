"""Statements of every kind on real servers, followed through a real connector without a person."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.corpus.cases import read_table
from tests.corpus.compare import differences
from tests.corpus.run import in_utc, read_rows, withheld_columns, without_columns
from tests.live import mariadb, mariadb_statements, postgres, postgres_statements
from tests.live.mariadb import MariaDb
from tests.live.postgres import Postgres
from tests.live.recorder import Recorder, table_of
from tests.live.source import Script, Source
from tests.live.worker import Worker
from tests.live.workload import Workload
from tidemark.errors import TopicMissingError
from tidemark.model.names import AttemptId
from tidemark.model.result import CutStatus
from tidemark.runs.cut import run_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

STATEMENTS = 120
AT_ONCE = 10
"""Statements between two comparisons."""
TABLES = 8
PATIENCE_SECONDS = 900
FOLLOWED = 0.98
"""At least this share of what the server accepts is followed."""


@dataclass
class Followed:
    """What became of the statements: how many were made, and what stopped a table."""

    count: int = 0
    stops: list[str] = field(default_factory=list)


@dataclass
class Run:
    """One source, its connector and its pipeline."""

    world: World
    worker: Worker
    source: Source
    pipeline: PipelineSpec
    workload: Workload
    about: Callable[[list[str], str], Script]
    followed: Followed = field(default_factory=Followed)
    cuts: Iterator[int] = field(default_factory=itertools.count)
    markers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def step(self, number: int) -> None:
        """Rows, a statement, and rows behind it."""
        while len(self.workload.tables) < TABLES:
            name = f"m{number}_{len(self.workload.tables)}"
            self.workload.run(f"CREATE TABLE {name} (id int PRIMARY KEY, a int, b varchar(20))")
        self.workload.transact()
        refused = self.workload.refused
        script = self.about(self.workload.tables, f"x{number}")
        self.workload.run(*script)
        if self.workload.refused == refused:
            self.followed.count += len(script)
        self.workload.transact()

    def compare(self) -> None:
        """Cut until all has come, and compare every table that no statement stopped."""
        stopped = self.cut_until_there()
        for name, why in stopped.items():
            self.followed.stops.append(f"{name}: {why}")
            self.workload.run(f"DROP TABLE IF EXISTS {self.source.quoted(name)}")
        for name in self.workload.tables:
            expected = read_table(table_of(self.source, name))
            rows = read_rows(self.world, self.pipeline.target_namespace, name)
            is_postgres = isinstance(self.source, Postgres)
            expected = expected if is_postgres else in_utc(expected)
            if rows is None and not expected.rows:
                continue
            expected, rows = without_columns(expected, rows, withheld_columns(rows))
            found = list(differences(expected, rows, is_postgres=is_postgres))
            assert not found, name

    def cut_until_there(self) -> dict[str, str]:
        """Tables that a cut stopped, and why."""
        stopped: dict[str, str] = {}
        number, is_idle = next(self.markers), False
        self.workload.run(f"INSERT INTO marker VALUES ({number})")
        until = time.monotonic() + PATIENCE_SECONDS
        while not (is_idle and self._has_come(number)):
            assert time.monotonic() < until, f"marker {number} never came"
            self.worker.await_running(self.source.name)
            try:
                request = CutRequest(AttemptId(f"t{next(self.cuts)}"))
                result = run_cut(self.pipeline, self.world, request)
            except TopicMissingError:  # Its first record makes it, and a snapshot has none.
                number = next(self.markers)
                made = f"CREATE TABLE begun{number} (id int PRIMARY KEY)"
                self.workload.run(made, f"INSERT INTO marker VALUES ({number})")
                time.sleep(1)
                continue
            is_idle = result.status is not CutStatus.PUBLISHED
            stopped |= {name.partition(".")[2]: why for name, why in result.stopped.items()}
        return stopped

    def _has_come(self, number: int) -> bool:
        rows = read_rows(self.world, self.pipeline.target_namespace, "marker") or []
        return any(row["id"] == number for row in rows)


def pipeline_of(source: Source) -> PipelineSpec:
    """As people write it: every table of the database."""
    is_postgres = isinstance(source, Postgres)
    statements = f"{source.name}.message" if is_postgres else source.name
    return PipelineSpec.model_validate(
        {
            "name": source.name,
            "description": "a test",
            "owner": "tests",
            "schedule": None,
            "source": {
                "format": f"debezium-{'postgres' if is_postgres else 'mariadb'}",
                "gate": "transaction",
                "topics": {
                    "data": [f"^{source.name}\\.{source.namespace}\\..*"],
                    "transactions": [f"{source.name}.transaction"],
                    "schema-changes": [statements],
                },
                "signal-table": f"{source.namespace}.signals",
            },
            "other-tables": "follow",
            "publish": {"consistency": "table"},
            "tables": [{"source": f"{source.namespace}.marker", "expectations": "none"}],
        }
    )


def opened(
    name: str, database: str, rng: random.Random, worker: Worker
) -> AbstractContextManager[MariaDb] | AbstractContextManager[Postgres]:
    """A server of its own with one database."""
    if database == "postgres":
        return postgres.running_source(name, rng, tells_ddl=True)
    return mariadb.running_source(name, rng, worker.servers)


def about(source: Any, rng: random.Random) -> Callable[[list[str], str], Script]:
    """Scripts about some tables of the source."""
    if isinstance(source, Postgres):
        return postgres_statements.Statements(source, rng).about
    return mariadb_statements.Statements(source.server, rng).about


@pytest.mark.parametrize("database", ["mariadb", "postgres"])
def test_statements_are_followed(world: World, worker: Worker, database: str, seed: int) -> None:
    """Nearly all of them; tables that no statement stopped are what the source selects."""
    rng = random.Random(f"statements {database} {seed}")  # noqa: S311  repeatable, not secret
    with opened(f"statements_{database}_{seed}", database, rng, worker) as source:
        workload = Workload(source, rng)
        workload.run(*source.made())
        run = Run(world, worker, source, pipeline_of(source), workload, about(source, rng))
        worker.create(source.name, Recorder(source, worker, has_schemas=True).config)
        run.compare()  # The connector has read its snapshot.
        for number in range(STATEMENTS):
            run.step(number)
            if number % AT_ONCE == AT_ONCE - 1:
                run.compare()
        worker.delete(source.name)
    followed = run.followed
    print(f"{followed.count} statements, {len(followed.stops)} stops:", *followed.stops, sep="\n  ")
    assert len(followed.stops) <= (1 - FOLLOWED) * followed.count
