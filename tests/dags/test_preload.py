"""Airflow's scheduler and DAG processor load what their forks need, and start no thread for it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tidemark.scheduling import preload

FORKED = "tidemark.scheduling.dags"
# Python counts its own threads; libraries start others.
BEGUN = """
import json, os, sys
from airflow.jobs.job import Job
from airflow.listeners.listener import get_listener_manager
from airflow.sdk.execution_time.task_runner import TaskRunnerMarker
{begin}
print(json.dumps([list(sys.modules), len(os.listdir("/proc/self/task"))]), file=sys.stderr)
"""
TASK = "get_listener_manager().hook.on_starting(component=TaskRunnerMarker())"


def loaded(begin: str) -> tuple[list[str], int]:
    """Modules and threads of a process of Airflow that does ``begin`` as it begins."""
    outcome = subprocess.run(
        [sys.executable, "-c", BEGUN.format(begin=begin)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    modules, threads = json.loads(outcome.stderr.splitlines()[-1])
    return modules, threads


def test_a_process_that_forks_loads_what_its_forks_need() -> None:
    modules, threads = loaded("Job()")
    assert {FORKED, *preload.MODULES} <= set(modules)
    assert threads == 1


def test_a_task_loads_what_it_needs_itself() -> None:
    modules, _ = loaded(TASK)
    assert "tidemark.scheduling.preload" in modules
    assert FORKED not in modules


def test_airflow_begins_where_nothing_can_be_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(preload, "MODULES", ("tidemark.not_there",))
    preload.on_starting(object())
    assert "tidemark.not_there" in capsys.readouterr().out
