"""Airflow's home on this machine: SQLite, the project's DAGs, nothing else.

`run_dag` needs no server; those are in `airflow_servers`.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from embedded.home import REPOSITORY
from embedded.process import Program, tethered
from tidemark.errors import ServiceError

DAGS = REPOSITORY / "dags"
LOCAL_SETTINGS = Path(__file__).parents[1] / "deploy" / "airflow" / "airflow_local_settings.py"
USER = "admin"


@dataclass(frozen=True, slots=True)
class Airflow:
    """A prepared home, and the environment in which every process of this Airflow runs."""

    home: Path
    environment: Mapping[str, str]

    @property
    def database(self) -> Path:
        """Airflow's own SQLite file."""
        return self.home / "airflow.db"

    @property
    def password(self) -> str:
        """What `USER` signs in with."""
        return str(json.loads(self.passwords_file.read_text())[USER])

    @property
    def passwords_file(self) -> Path:
        """Names and passwords, readable for the owner alone."""
        return self.home / "passwords.json"

    def log_file(self, server: str) -> Path:
        """What a server printed."""
        return self.home / f"{server}.log"

    def pid_file(self, server: str) -> Path:
        """Which process a server is."""
        return self.home / f"{server}.pid"


@dataclass(frozen=True, slots=True)
class RunReport:
    """How a DAG run ended: its state, that of each task, and what each left by XCom."""

    run_id: str
    state: str
    tasks: Mapping[str, str]
    left: Mapping[str, Mapping[str, Any]]


def prepare_airflow(state: Path, settings: Mapping[str, str]) -> Airflow:
    """Airflow's home below ``state`` with its database.

    settings: the environment of the installation, as `embedded_environment` makes it.
    """
    home = airflow_home(state)
    home.mkdir(parents=True, exist_ok=True)
    airflow = Airflow(home, {**_inherited(), **_airflow_settings(home), **settings})
    if not airflow.passwords_file.exists():
        _write_private(airflow.passwords_file, json.dumps({USER: secrets.token_urlsafe(12)}))
    config = home / "config"  # where Airflow looks for it
    config.mkdir(exist_ok=True)
    shutil.copy(LOCAL_SETTINGS, config)
    _once(airflow, "migrated", version("apache-airflow"), "db", "migrate")
    return airflow


def airflow_home(state: Path) -> Path:
    """Where Airflow keeps what it needs, below ``state``."""
    return state.resolve() / "airflow"


def airflow_command(*words: str) -> list[str]:
    """A command of this environment's Airflow."""
    return [sys.executable, "-m", "airflow", *words]


def run_dag(
    airflow: Airflow, dag_id: str, *, conf: Mapping[str, object] | None = None
) -> RunReport:
    """Run a DAG once from first to last task with ``airflow dags test``; red runs are reported too.

    conf: what the trigger form would send.
    """
    arguments = ["--conf", json.dumps(conf)] if conf else []
    before = len(read_runs(airflow, dag_id))
    log = airflow.log_file(f"test-{dag_id}")
    test = Program(
        [*airflow_command("dags", "test", dag_id), *arguments],
        log,
        airflow.pid_file(f"test-{dag_id}"),
        airflow.environment,
    )
    with tethered(test) as run:  # so that no Spark is left when this process is killed
        run.wait()
    reports = read_runs(airflow, dag_id)[before:]
    if not reports:
        raise ServiceError(
            f"Airflow made no run of {dag_id}",
            state="no table was touched",
            next_step=f"read {log}, fix the cause, run the same command again",
        )
    return reports[-1]


def read_runs(airflow: Airflow, dag_id: str) -> list[RunReport]:
    """All runs of a DAG, oldest first."""
    with closing(sqlite3.connect(f"file:{airflow.database}?mode=ro", uri=True)) as database:
        runs = database.execute(
            "SELECT run_id, state FROM dag_run WHERE dag_id = ? ORDER BY id", (dag_id,)
        ).fetchall()
        return [_report(database, dag_id, run_id, state) for run_id, state in runs]


def _inherited() -> dict[str, str]:
    """This process's environment without settings of another Airflow."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW_")
    }
    # spark-submit is looked for on the path, and it looks there for its Python.
    programs = str(Path(sys.executable).parent)
    return {**inherited, "PATH": os.pathsep.join([programs, inherited.get("PATH", "")])}


def _airflow_settings(home: Path) -> dict[str, str]:
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(
            {"conn_type": "spark", "host": "local[*]", "extra": {"deploy-mode": "client"}}
        ),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(home / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "false",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__API__WORKERS": "1",
        # A busy machine of two cores answers a task's first request after 13 s (seen).
        "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
    }


def _once(airflow: Airflow, what: str, state: str, *words: str) -> None:
    """Run a command unless the one before it left the same ``state``."""
    marker = airflow.home / what
    if not marker.exists() or marker.read_text() != state:
        _command(airflow, *words)
        marker.write_text(state)


def _write_private(file: Path, text: str) -> None:
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as sink:
        sink.write(text)


def _command(airflow: Airflow, *words: str) -> None:
    outcome = subprocess.run(  # noqa: S603  every argument is ours
        airflow_command(*words),
        env=airflow.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if outcome.returncode != 0:
        log = airflow.log_file(words[0])
        log.write_text(outcome.stdout + outcome.stderr)
        raise ServiceError(
            f"airflow {' '.join(words)} failed",
            state="nothing was started",
            next_step=f"read {log}, fix the cause, run the same command again",
        )


def _report(database: sqlite3.Connection, dag_id: str, run_id: str, state: str) -> RunReport:
    key = (dag_id, run_id)
    tasks = database.execute(
        "SELECT task_id, state FROM task_instance WHERE dag_id = ? AND run_id = ?", key
    )
    left: dict[str, dict[str, Any]] = {}
    for task, name, value in database.execute(
        "SELECT task_id, key, value FROM xcom WHERE dag_id = ? AND run_id = ?", key
    ):
        left.setdefault(task, {})[name] = json.loads(value)
    return RunReport(run_id, state, dict(tasks.fetchall()), left)
