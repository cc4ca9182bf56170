"""What each task and each reading of a DAG file needs, loaded by the processes that fork them.

Airflow runs a task, and reads a DAG file, in a fork that ends with it: what its parent has not
loaded, each fork loads again.
"""

from __future__ import annotations

from importlib import import_module

from airflow.listeners import hookimpl

from tidemark.log import get_logger

MODULES = (
    "tidemark.scheduling.dags",
    "tidemark.gate.as_of",
    "tidemark.topics.client",
    "pyiceberg.catalog.rest",
    "pyiceberg.catalog.sql",
)
"""None of them starts a thread, as numpy and pyarrow do: a fork has only the thread that forked."""

log = get_logger()


@hookimpl
def on_starting(component: object) -> None:
    """What Airflow calls as its scheduler, DAG processor or triggerer begins, and in each task."""
    from airflow.sdk.execution_time.task_runner import TaskRunnerMarker

    if isinstance(component, TaskRunnerMarker):
        return
    for module in MODULES:
        try:
            import_module(module)
        except Exception as error:  # tasks and DAGs say what is wrong; the scheduler goes on
            log.warning("not_preloaded", module=module, error=type(error).__name__)
