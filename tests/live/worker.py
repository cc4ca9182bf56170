"""A real Kafka Connect worker with Debezium's connectors, which may be killed at any moment."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.error import URLError

from embedded.ports import HOST, free_ports
from embedded.process import Program
from tests.support.killable import Killable
from tidemark.jars.java import java_command

READY_SECONDS = 120
FLUSH_SECONDS = 5
"""How long sent records may stay without a stored offset: after a kill they come again."""


@dataclass
class Worker:
    """A worker of one; folder: its log. jars: with the folders ``worker`` and ``debezium``."""

    folder: Path
    jars: Path
    servers: str
    port: int

    @cached_property
    def program(self) -> Killable:
        """What it sent since its offsets were stored comes again, once it was killed."""
        properties = self.folder / "worker.properties"
        properties.write_text("".join(f"{k}={v}\n" for k, v in self._properties().items()))
        java = [java_command(), "-Xmx768m", "-cp", f"{self.jars / 'worker'}/*"]
        command = [*java, "-Dlog4j2.level=WARN", _MAIN, str(properties)]
        files = self.folder / "worker.log", self.folder / "worker.pid"
        return Killable(Program(command, *files), self._await_ready)

    def crash(self) -> None:
        """SIGKILL, and start again with the connectors that it had before."""
        self.program.kill()
        self.program.start()

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """A connector, once it runs. RuntimeError when it fails."""
        self.ask("PUT", f"/connectors/{name}/config", config)
        self.await_running(name)

    def await_running(self, name: str) -> None:
        """Until the connector's task runs. RuntimeError when it fails."""
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until:
            with suppress(OSError, URLError):
                tasks = self.ask("GET", f"/connectors/{name}/status")["tasks"]
                if tasks and all(task["state"] == "RUNNING" for task in tasks):
                    return
                failed = [task["trace"] for task in tasks if task["state"] == "FAILED"]
                if failed:
                    raise RuntimeError(f"connector {name} failed: {failed[0]}")
            time.sleep(0.2)
        raise RuntimeError(f"connector {name} does not run")

    def _await_ready(self, tether: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until and tether.poll() is None:
            with suppress(OSError, URLError):
                self.ask("GET", "/connectors")
                return
            time.sleep(0.2)
        log = self.program.program.log.read_text()
        raise RuntimeError(f"Kafka Connect did not become ready: {log[-4000:]}")

    def delete(self, name: str) -> None:
        """Stop the connector and forget it."""
        self.ask("DELETE", f"/connectors/{name}")

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """What the worker answers."""
        request = urllib.request.Request(  # noqa: S310  http to ourselves
            f"http://{HOST}:{self.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return json.loads(answer.read() or b"null")

    def _properties(self) -> Mapping[str, str]:
        kept = {
            f"{kind}.storage.{name}": value
            for kind in ("offset", "config", "status")
            for name, value in (("topic", f"_connect.{kind}"), ("replication.factor", "1"))
        }
        return {
            "bootstrap.servers": self.servers,
            "group.id": "live",
            "key.converter": _CONVERTER,
            "value.converter": _CONVERTER,
            "listeners": f"http://{HOST}:{self.port}",
            "plugin.path": str(self.jars),
            "plugin.discovery": "service_load",
            "offset.flush.interval.ms": str(FLUSH_SECONDS * 1000),
            # One worker has nobody to wait for.
            "scheduled.rebalance.max.delay.ms": "0",
            **kept,
        }


@contextmanager
def running_worker(folder: Path, jars: Path, servers: str) -> Iterator[Worker]:
    """A worker that runs as long as the block."""
    (port,) = free_ports(1)
    worker = Worker(folder, jars, servers, port)
    try:
        worker.program.start()
        yield worker
    finally:
        worker.program.stop()


_MAIN = "org.apache.kafka.connect.cli.ConnectDistributed"
_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
