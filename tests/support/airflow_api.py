"""The REST API of a running Airflow, asked as its UI asks it."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from http.client import HTTPMessage
from typing import Any

from embedded.airflow import USER
from tests.support.trigger_form import red_fields, untouched

WAIT_SECONDS = 300


class Api:
    """The REST API as the UI uses it."""

    def __init__(self, url: str, password: str) -> None:
        self.url, self.headers = url, {"Content-Type": "application/json"}
        token = self.ask("/auth/token", {"username": USER, "password": password})["access_token"]
        self.headers["Authorization"] = f"Bearer {token}"

    def ask(
        self, path: str, content: object | None = None, method: str | None = None
    ) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310  our own server
            self.url + path,
            None if content is None else json.dumps(content).encode(),
            self.headers,
            method=method,
        )
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            found: dict[str, Any] = json.load(answer)
        return found

    def page(self, path: str) -> tuple[str, HTTPMessage]:
        """A page for people, and its headers."""
        request = urllib.request.Request(self.url + path, headers=self.headers)  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.read().decode(), answer.headers

    def form(self, dag_id: str) -> dict[str, Any]:
        """What the untouched form of a DAG sends; its button has to be open."""
        params = self.ask(f"/api/v2/dags/{dag_id}/details")["params"]
        assert red_fields(params) == [], f"the form of {dag_id} cannot be sent"
        return untouched(params)

    def trigger(self, dag_id: str, **answers: object) -> dict[str, Any]:
        """Start a run as the form does with some fields filled in, and wait for its end."""
        return self.ended(dag_id, self.begin(dag_id, **answers))

    def begin(self, dag_id: str, **answers: object) -> str:
        """Start a run as the form does with some fields filled in; its id."""
        content = {
            "logical_date": datetime.now(UTC).isoformat(),
            "data_interval_start": None,
            "data_interval_end": None,
            "conf": {**self.form(dag_id), **answers},
        }
        run: str = self.ask(f"/api/v2/dags/{dag_id}/dagRuns", content)["dag_run_id"]
        return run

    def asked(self, dag_id: str, run: str, task: str) -> dict[str, Any]:
        """Wait until a task asks a person; what it asks."""
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            try:
                return self.ask(_question(dag_id, run, task))
            except urllib.error.HTTPError as error:
                assert error.code == 404  # noqa: PT017  any other one ends the wait
                time.sleep(0.5)
        raise AssertionError(f"{task} of {run} asks nobody")

    def answer(self, dag_id: str, run: str, task: str, option: str, **fields: str) -> None:
        """Answer what a task asks, as the UI does."""
        content = {"chosen_options": [option], "params_input": {"reason": None, **fields}}
        self.ask(_question(dag_id, run, task), content, "PATCH")

    def found(self, dag_id: str, beside: str = "cut__shop") -> None:
        """Have the file of the DAG ``beside`` read again, and wait until the other is there."""
        token = self._awaited(beside)["file_token"]
        try:
            self.ask(f"/api/v2/parseDagFile/{token}", method="PUT")
        except urllib.error.HTTPError as error:  # it was asked for a moment ago
            assert error.code == 409  # noqa: PT017  any other one fails the test
        self._awaited(dag_id)

    def _awaited(self, dag_id: str) -> dict[str, Any]:
        """The details of a DAG, when it is there."""
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            try:
                return self.ask(f"/api/v2/dags/{dag_id}/details")
            except urllib.error.HTTPError as error:
                assert error.code == 404  # noqa: PT017  any other one ends the wait
                time.sleep(0.5)
        raise AssertionError(f"{dag_id} is not there")

    def scheduled(self, dag_id: str) -> None:
        """Wait until the first run that the scheduler made of a DAG has ended well."""
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            runs = self.ask(f"/api/v2/dags/{dag_id}/dagRuns")["dag_runs"]
            if any(run["state"] in {"success", "failed"} for run in runs):
                assert [run["state"] for run in runs] == ["success"]
                return
            time.sleep(0.5)
        raise AssertionError(f"no run of {dag_id} was scheduled")

    def backfill(self, dag_id: str, start: str, end: str, **options: object) -> dict[str, Any]:
        """Have intervals run that begin from ``start`` to ``end``, as the form of the UI does."""
        order = {
            "dag_id": dag_id,
            "from_date": start,
            "to_date": end,
            "run_backwards": False,
            "dag_run_conf": None,
            "reprocess_behavior": "none",
            "max_active_runs": 1,
        }
        return self.ask("/api/v2/backfills", {**order, **options})

    def backfilled(self, dag_id: str) -> None:
        """Wait until all runs of backfills of a DAG have ended, and let another one begin.

        Airflow allows one at a time, and marks it as complete up to half a minute late: it is
        cancelled, which leaves runs that have ended as they are.
        """
        for backfill in self.ask(f"/api/v2/backfills?dag_id={dag_id}")["backfills"]:
            if backfill["completed_at"]:
                continue
            for run in self.ask(f"/api/v2/dags/{dag_id}/dagRuns?run_type=backfill")["dag_runs"]:
                self.ended(dag_id, run["dag_run_id"])
            try:
                self.ask(f"/api/v2/backfills/{backfill['id']}/cancel", method="PUT")
            except urllib.error.HTTPError as error:  # it was marked meanwhile
                assert error.code == 409  # noqa: PT017  any other one fails the test

    def events(self, run: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Name of the asset and extra of each event that a run emitted."""
        query = urllib.parse.urlencode(
            {"source_dag_id": run["dag_id"], "source_run_id": run["dag_run_id"], "limit": 100}
        )
        told = self.ask(f"/api/v2/assets/events?{query}")["asset_events"]
        return sorted((event["name"], event["extra"]) for event in told)

    def log(self, run: Mapping[str, Any], task: str) -> str:
        """What the first try of a task logged."""
        runs = f"/api/v2/dags/{run['dag_id']}/dagRuns/{urllib.parse.quote(run['dag_run_id'])}"
        lines = self.ask(f"{runs}/taskInstances/{task}/logs/1")["content"]
        return "\n".join(line if isinstance(line, str) else line["event"] for line in lines)

    def ended(self, dag_id: str, run_id: str) -> dict[str, Any]:
        path = f"/api/v2/dags/{dag_id}/dagRuns/{urllib.parse.quote(run_id)}"
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            run = self.ask(path)
            if run["state"] in {"success", "failed"}:
                return run
            time.sleep(0.5)
        raise AssertionError(f"{run_id} of {dag_id} is still {run['state']}")


def _question(dag_id: str, run: str, task: str) -> str:
    runs = f"/api/v2/dags/{dag_id}/dagRuns/{urllib.parse.quote(run)}"
    return f"{runs}/taskInstances/{task}/-1/hitlDetails"
