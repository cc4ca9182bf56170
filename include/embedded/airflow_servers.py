"""Airflow's servers on this machine, for the length of a block or until they are stopped.

The UI and the APIs are reachable on 127.0.0.1 alone.
"""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import URLError

from embedded.airflow import Airflow, airflow_command, airflow_home
from embedded.ports import HOST, free_ports
from embedded.process import (
    Program,
    find_recorded,
    start_detached,
    stop_recorded,
    tethered,
)
from tidemark.errors import ServiceError
from tidemark.log import get_logger

READY_SECONDS = 240
EXECUTION_API = "execution-api"
# In the order of their start. Without their log servers, which would listen on every address: logs
# are files on this machine. Tasks have an API server of their own: Airflow's writes its access log
# on the thread that all requests share, and waits there for SQLite's lock, which the request of a
# starting task may hold until it gets that thread.
SERVERS: Mapping[str, Sequence[str]] = {
    "api-server": ("api-server", "--host", HOST, "--apps", "core"),
    EXECUTION_API: ("api-server", "--host", HOST, "--apps", "execution"),
    "dag-processor": ("dag-processor",),
    "triggerer": ("triggerer", "--skip-serve-logs"),
    "scheduler": ("scheduler", "--skip-serve-logs"),
}
PARTS = frozenset({"metadatabase", "dag_processor", "triggerer", "scheduler", EXECUTION_API})


class _Addresses(NamedTuple):
    """Where the API servers answer (URLs): the one with the UI, the one that tasks ask."""

    ui: str
    execution: str


@contextmanager
def running_airflow(airflow: Airflow) -> Iterator[str]:
    """Address (URL) of the UI and its API, which serve as long as the block runs."""
    addresses = _free_addresses()
    tethers: dict[str, subprocess.Popen[bytes]] = {}
    with ExitStack() as stack:

        def start(server: str, program: Program) -> None:
            tethers[server] = stack.enter_context(tethered(program))

        try:
            _start_in_order(
                airflow, addresses, start, lambda server: tethers[server].poll() is None
            )
            yield addresses.ui
        finally:
            for tether in tethers.values():  # all at once; leaving the stack waits for each
                tether.terminate()


def start_airflow(airflow: Airflow) -> str:
    """Address (URL) of servers that run on until `stop_airflow`; the running ones if there are."""
    if all(find_recorded(airflow.pid_file(server)) for server in SERVERS):
        return _address_file(airflow).read_text()
    _stop(airflow)
    addresses = _free_addresses()
    _address_file(airflow).write_text(addresses.ui)
    try:
        _start_in_order(
            airflow,
            addresses,
            lambda _, program: start_detached(program),
            lambda server: find_recorded(airflow.pid_file(server)) is not None,
        )
    except BaseException:
        _stop(airflow)
        raise
    return addresses.ui


def stop_airflow(state: Path) -> bool:
    """Stop the servers of `start_airflow`; false when none was running any more."""
    return _stop(Airflow(airflow_home(state), {}))


def _stop(airflow: Airflow) -> bool:
    with ThreadPoolExecutor() as pool:
        return any(list(pool.map(stop_recorded, map(airflow.pid_file, SERVERS))))


def _programs(airflow: Airflow, addresses: _Addresses) -> Mapping[str, Program]:
    """The servers, which know each other's addresses."""
    environment = {
        **airflow.environment,
        "AIRFLOW__API__BASE_URL": addresses.ui,
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{addresses.execution}/execution/",
    }
    ports = {
        "api-server": addresses.ui.rpartition(":")[2],
        EXECUTION_API: addresses.execution.rpartition(":")[2],
    }
    return {
        server: Program(
            airflow_command(*words, *(("--port", ports[server]) if server in ports else ())),
            airflow.log_file(server),
            airflow.pid_file(server),
            environment,
        )
        for server, words in SERVERS.items()
    }


def _address_file(airflow: Airflow) -> Path:
    return airflow.home / "address"


def _free_addresses() -> _Addresses:
    return _Addresses(*(f"http://{HOST}:{port}" for port in free_ports(2)))


def _start_in_order(
    airflow: Airflow,
    addresses: _Addresses,
    start: Callable[[str, Program], object],
    is_alive: Callable[[str], bool],
) -> None:
    """Start all servers, the scheduler once the APIs answer; return when all are healthy."""
    began = time.monotonic()
    programs = _programs(airflow, addresses)
    *first, last = programs
    for server in first:
        start(server, programs[server])
    # A task that finds no API fails, and its retry is a minute away.
    served = frozenset({"metadatabase", EXECUTION_API})
    _await_healthy(airflow, addresses, served, lambda: [s for s in first if not is_alive(s)])
    start(last, programs[last])
    _await_healthy(airflow, addresses, PARTS, lambda: [s for s in programs if not is_alive(s)])
    took_ms = round((time.monotonic() - began) * 1000)
    get_logger().info("airflow_ready", url=addresses.ui, took_ms=took_ms)


def _await_healthy(
    airflow: Airflow, addresses: _Addresses, parts: Set[str], ended: Callable[[], list[str]]
) -> None:
    until = time.monotonic() + READY_SECONDS
    while parts - _healthy_parts(addresses):
        gone = ended()
        if gone:
            raise _not_started(airflow, gone[0], "it ended at once")
        if time.monotonic() > until:
            raise _not_started(airflow, "api-server", f"not healthy after {READY_SECONDS} s")
        time.sleep(0.2)


def _healthy_parts(addresses: _Addresses) -> set[str]:
    """Which parts say of themselves that they are healthy."""
    parts = _answer(f"{addresses.ui}/api/v2/monitor/health")
    parts[EXECUTION_API] = _answer(f"{addresses.execution}/execution/health")
    return {part for part, health in parts.items() if health.get("status") == "healthy"}


def _answer(url: str) -> dict[str, Any]:
    """What a server answers; nothing while it does not."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310  our own server
            answered: dict[str, Any] = json.load(answer)
    except (URLError, TimeoutError, ConnectionError):
        return {}
    return answered


def _not_started(airflow: Airflow, server: str, why: str) -> ServiceError:
    return ServiceError(
        f"Airflow's {server} did not start: {why}",
        state="no table was touched",
        next_step=f"read {airflow.log_file(server)}, fix the cause, run the same command again",
    )
