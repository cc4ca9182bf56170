"""One recording: a database, its connector, and a workload in stages."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from embedded.home import JARS
from tests.live import mariadb, mysql, postgres
from tests.live.recorder import Recorder
from tests.live.source import Source
from tests.live.worker import Worker
from tests.live.workload import Workload

STAGES = 4
EVERYTHING = {
    "truncate": 0.05,
    "alter": 0.1,
    "rearrange": 0.05,
    "snapshot": 0.04,
    "kill": 0.02,
    "crash": 0.02,
}
KINDS: Mapping[str, Mapping[str, float]] = {
    "postgres-plain": {"truncate": 0.05},
    "postgres-snapshots": {"truncate": 0.05, "snapshot": 0.05, "kill": 0.02},
    "postgres-ddl": {"truncate": 0.05, "alter": 0.15, "rearrange": 0.1},
    "postgres-everything": EVERYTHING,
    "mariadb-plain": {"truncate": 0.05},
    "mariadb-snapshots": {"truncate": 0.05, "snapshot": 0.05, "kill": 0.02},
    "mariadb-ddl": {"truncate": 0.05, "alter": 0.15, "rearrange": 0.1},
    "mariadb-everything": EVERYTHING,
    "mysql-plain": {"truncate": 0.05},
    "mysql-snapshots": {"truncate": 0.05, "snapshot": 0.05, "kill": 0.02},
    "mysql-ddl": {"truncate": 0.05, "alter": 0.15, "rearrange": 0.1},
    "mysql-everything": EVERYTHING,
}
"""Kind of recording -> what happens beside transactions, and how likely it is at each step."""


def record(kind: str, seed: int, steps: int, worker: Worker, folder: Path) -> None:
    """Write the case ``folder``."""
    rng = random.Random(f"{kind} {seed}")  # noqa: S311  repeatable, not secret
    database, _, _ = kind.partition("-")
    name = f"{kind.replace('-', '_')}_{seed}"
    with _source(database, name, rng, worker, tells_ddl="alter" in KINDS[kind]) as source:
        workload = Workload(source, rng)
        recorder = Recorder(source, worker, _has_schemas(kind, seed))
        workload.run(*source.made())
        workload.fill()
        recorder.start()
        recorder.end_stage("snapshot")
        for number in range(1, STAGES + 1):
            workload.log.append(f"-- stage {number}")
            chances = dict(KINDS[kind])
            for _ in range(steps):
                killed = _step(chances, workload, worker, rng)
                if killed and database == "postgres":
                    # Its connector loses what it had not read yet of a table that is renamed or
                    # dropped while it is away: it knows the tables that are there as it starts.
                    chances.pop("rearrange", None)
            recorder.end_stage(f"stage {number}")
        worker.delete(source.name)
        recorder.write(folder, workload.log)


def _has_schemas(kind: str, seed: int) -> bool:
    """Without record schemas the types of PostgreSQL's columns are unknown once they change."""
    return kind in {"postgres-ddl", "postgres-everything"} or seed % 2 == 1


def _source(
    database: str, name: str, rng: random.Random, worker: Worker, *, tells_ddl: bool
) -> AbstractContextManager[Source]:
    if database == "postgres":
        return postgres.running_source(name, rng, tells_ddl=tells_ddl)
    if database == "mysql":
        return mysql.running_source(name, rng, worker.servers, JARS.parent / "mysql/root")
    return mariadb.running_source(name, rng, worker.servers)


def _step(
    chances: Mapping[str, float], workload: Workload, worker: Worker, rng: random.Random
) -> bool:
    """What happens next; whether the worker or the server was killed."""
    killed = False
    for what, chance in chances.items():
        if rng.random() >= chance:
            continue
        if what == "kill":
            workload.log.append("-- the worker is killed")
            worker.crash()
            killed = True
        elif what == "crash":
            workload.log.append("-- the server is killed")
            workload.source.crash()
            killed = True
        else:
            getattr(workload, what)()
    workload.transact()
    return killed
