"""Airflow's four servers on this machine, for the length of a block or until they are stopped.

The UI and the APIs are reachable on 127.0.0.1 alone.
"""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
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

READY_SECONDS = 120
# In the order of their start. Without their log servers, which would listen on every address: logs
# are files on this machine.
SERVERS: Mapping[str, Sequence[str]] = {
    "api-server": ("--host", HOST),
    "dag-processor": (),
    "triggerer": ("--skip-serve-logs",),
    "scheduler": ("--skip-serve-logs",),
}
HEALTHY_PARTS = frozenset({"metadatabase", "dag_processor", "triggerer", "scheduler"})


@contextmanager
def running_airflow(airflow: Airflow) -> Iterator[str]:
    """Address (URL) of the UI and the APIs, which serve as long as the block runs."""
    url = _free_url()
    tethers: dict[str, subprocess.Popen[bytes]] = {}
    with ExitStack() as stack:

        def start(server: str, program: Program) -> None:
            tethers[server] = stack.enter_context(tethered(program))

        try:
            _start_in_order(airflow, url, start, lambda server: tethers[server].poll() is None)
            yield url
        finally:
            for tether in tethers.values():  # all at once; leaving the stack waits for each
                tether.terminate()


def start_airflow(airflow: Airflow) -> str:
    """Address (URL) of servers that run on until `stop_airflow`; the running ones if there are."""
    if all(find_recorded(airflow.pid_file(server)) for server in SERVERS):
        return _address_file(airflow).read_text()
    _stop(airflow)
    url = _free_url()
    _address_file(airflow).write_text(url)
    try:
        _start_in_order(
            airflow,
            url,
            lambda _, program: start_detached(program),
            lambda server: find_recorded(airflow.pid_file(server)) is not None,
        )
    except BaseException:
        _stop(airflow)
        raise
    return url


def stop_airflow(state: Path) -> bool:
    """Stop the servers of `start_airflow`; false when none was running any more."""
    return _stop(Airflow(airflow_home(state), {}))


def _stop(airflow: Airflow) -> bool:
    with ThreadPoolExecutor() as pool:
        return any(list(pool.map(stop_recorded, map(airflow.pid_file, SERVERS))))


def _programs(airflow: Airflow, url: str) -> Mapping[str, Program]:
    """The servers, which know that the APIs are at ``url``."""
    environment = {
        **airflow.environment,
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__API__PORT": url.rpartition(":")[2],
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
    }
    return {
        server: Program(
            airflow_command(server, *arguments),
            airflow.log_file(server),
            airflow.pid_file(server),
            environment,
        )
        for server, arguments in SERVERS.items()
    }


def _address_file(airflow: Airflow) -> Path:
    return airflow.home / "address"


def _free_url() -> str:
    return f"http://{HOST}:{free_ports(1)[0]}"


def _start_in_order(
    airflow: Airflow,
    url: str,
    start: Callable[[str, Program], object],
    is_alive: Callable[[str], bool],
) -> None:
    """Start all servers, the scheduler once the APIs answer; return when all are healthy."""
    began = time.monotonic()
    programs = _programs(airflow, url)
    *first, last = programs
    for server in first:
        start(server, programs[server])
    # A task that finds no API fails, and its retry is a minute away.
    _await_healthy(airflow, url, {"metadatabase"}, lambda: [s for s in first if not is_alive(s)])
    start(last, programs[last])
    _await_healthy(airflow, url, HEALTHY_PARTS, lambda: [s for s in programs if not is_alive(s)])
    took_ms = round((time.monotonic() - began) * 1000)
    get_logger().info("airflow_ready", url=url, took_ms=took_ms)


def _await_healthy(
    airflow: Airflow, url: str, parts: Collection[str], ended: Callable[[], list[str]]
) -> None:
    until = time.monotonic() + READY_SECONDS
    while not _healthy_parts(url).issuperset(parts):
        gone = ended()
        if gone:
            raise _not_started(airflow, gone[0], "it ended at once")
        if time.monotonic() > until:
            raise _not_started(airflow, "api-server", f"not healthy after {READY_SECONDS} s")
        time.sleep(0.2)


def _healthy_parts(url: str) -> set[str]:
    """Which parts say of themselves that they are healthy; none while nobody answers."""
    try:
        with urllib.request.urlopen(f"{url}/api/v2/monitor/health", timeout=5) as answer:  # noqa: S310  our own server
            parts = json.load(answer)
    except (URLError, TimeoutError, ConnectionError):
        return set()
    return {part for part, told in parts.items() if told["status"] == "healthy"}


def _not_started(airflow: Airflow, server: str, why: str) -> ServiceError:
    return ServiceError(
        f"Airflow's {server} did not start: {why}",
        state="no table was touched",
        next_step=f"read {airflow.log_file(server)}, fix the cause, run the same command again",
    )
