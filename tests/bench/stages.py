"""Where the seconds of a run go: the times that stand in the log of ``airflow dags test``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

STAGES: Mapping[str, str] = {
    "Airflow starts": "Filling up the DagBag",
    "it reads the DAG files twice": "[DAG TEST] starting task_id=plan",
    "it starts an API for its tasks": " Task started ",
    "plan": "[DAG TEST] end task task_id=plan",
    "fold is submitted": "Spark-Submit cmd",
    "spark-submit finds its arguments": "Using incubator modules",
    "JVM, Python and session start": "event=spark_started",
    "records are landed": "event=landed",
    "the table is staged": "event=table_staged",
    "the cut is staged": "event=cut_staged",
    "JVM and Python end": " cut_folded ",
    "audit": "[DAG TEST] end task task_id=audit",
    "publish": "[DAG TEST] end task task_id=publish",
}
"""Each by what the log says at its end, in their order."""
REST = "Airflow ends"


def seconds_of_stages(log: str, began: datetime, ended: datetime) -> dict[str, float]:
    """Seconds of each stage of a run that publishes; its log must tell of all of them."""
    seconds: dict[str, float] = {}
    lines = _timed(log)
    for stage, last in STAGES.items():
        at = next((at for at, line in lines if last in line), None)
        if at is None:
            raise ValueError(f"the log does not say {last!r} behind what came before")
        seconds[stage] = (at - began).total_seconds()
        began = at
    return {**seconds, REST: (ended - began).total_seconds()}


def _timed(log: str) -> Iterator[tuple[datetime, str]]:
    """Lines that begin with a time, with it."""
    for line in log.splitlines():
        word, _, rest = line.partition(" ")
        try:
            yield datetime.fromisoformat(word), f" {rest}"
        except ValueError:
            continue
