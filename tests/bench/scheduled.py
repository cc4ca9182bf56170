"""airflow, idle: a run of the DAG from its first task to its last, with ten rows and with none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

import psutil

from embedded.airflow import Airflow, prepare_airflow, run_dag
from embedded.home import embedded_environment
from tests.bench.figures import Figure, Target
from tests.bench.lab import Lab
from tests.bench.measure import Cost, Meter
from tests.bench.messages import Batch, row_changes, schema_change
from tests.bench.produce import send
from tests.bench.stages import seconds_of_stages
from tests.bench.throughput import TABLE
from tidemark.scheduling.xcom import PUBLISH

NAME = "scheduled"
DAG_ID = f"cut__{NAME}"
ROWS = 10
JAVA = "java"


def measure_scheduled(lab: Lab, wanted: Collection[str]) -> Sequence[Figure]:
    """Seconds of a whole run, and the Java machines that it started.

    The installation is the embedded one. A first run makes the table. Airflow runs without servers
    (``airflow dags test``), so its own start is in the figure.
    """
    home = lab.folder / "scheduled"
    pipelines = home / "pipelines"
    pipelines.mkdir(parents=True)
    lab.make_topics(NAME, [TABLE])
    lab.pipeline(NAME, NAME, [TABLE], folder=pipelines)
    settings = {
        **embedded_environment(home, lab.world.broker.servers),
        "TIDEMARK_PIPELINES": str(pipelines),
    }
    airflow = prepare_airflow(home, settings)
    send(lab.world.broker.servers, NAME, [schema_change(TABLE)])
    _run_with_rows(lab, airflow, 0)
    figures: list[Figure] = []
    if "airflow" in wanted:
        runs = [_run_with_rows(lab, airflow, number) for number in range(1, lab.rounds + 1)]
        costs = [cost for cost, _ in runs]
        figures += _figures("airflow", "run with ten rows", costs, Target(at_most=25))
        figures += _stages([stages for _, stages in runs])
    if "idle" in wanted:
        costs = [_run(airflow, PUBLISH, "skipped") for _ in range(lab.rounds)]
        figures += _figures("idle", "run with nothing to do", costs)
        machines = tuple(float(cost.started.count(JAVA)) for cost in costs)
        figures.append(Figure("idle", "JVMs started", "", machines, Target(at_most=0)))
    return figures


def _run_with_rows(lab: Lab, airflow: Airflow, number: int) -> tuple[Cost, Mapping[str, float]]:
    """What the run costs, and the seconds of its stages."""
    changes = row_changes(TABLE, Batch(rows=1_000, keys=ROWS), first=number * ROWS)
    send(lab.world.broker.servers, NAME, changes)
    began = datetime.now(UTC)
    cost = _run(airflow, PUBLISH, "success")
    ended = datetime.now(UTC)
    if JAVA not in cost.started:
        raise RuntimeError("a run that folds must start a JVM, or none would ever be seen")
    log = airflow.log_file(f"test-{DAG_ID}").read_text()
    return cost, seconds_of_stages(log, began, ended)


def _run(airflow: Airflow, task: str, expected: str) -> Cost:
    cost, report = Meter((psutil.Process(),)).measure(lambda: run_dag(airflow, DAG_ID))
    if report.state != "success" or report.tasks[task] != expected:
        raise RuntimeError(f"{report.run_id} of {DAG_ID} ended as {report.state}: {report.tasks}")
    return cost


def _stages(runs: Sequence[Mapping[str, float]]) -> list[Figure]:
    return [
        Figure("airflow", f"run with ten rows: {stage}", "s", tuple(run[stage] for run in runs))
        for stage in runs[0]
    ]


def _figures(
    benchmark: str, name: str, costs: Sequence[Cost], target: Target | None = None
) -> list[Figure]:
    seconds = tuple(cost.seconds for cost in costs)
    cpu = tuple(cost.cpu_seconds for cost in costs)
    return [
        Figure(benchmark, name, "s", seconds, target),
        Figure(benchmark, f"{name}, CPU", "s", cpu),
    ]
