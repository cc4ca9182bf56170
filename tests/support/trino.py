"""A real Trino server on this machine, on 127.0.0.1, whose catalog is the one of our tables."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from embedded.home import REPOSITORY, STATE
from embedded.ports import HOST, free_ports
from embedded.process import Program, tethered
from tests.support.s3 import ACCESS_KEY, SECRET_KEY
from tests.support.shared_lake import PASSWORD, SharedLake

HOME = STATE / "trino"
JAVA_VARIABLE = "TRINO_JAVA_HOME"
READY_SECONDS = 120
STATEMENT_SECONDS = 120
_JVM = """\
-Xmx1G
-XX:+UseSerialGC
-XX:TieredStopAtLevel=1
-Djdk.attach.allowAttachSelf=true
--enable-native-access=ALL-UNNAMED
"""
_READER = REPOSITORY / "docs" / "reading.md"


@dataclass(frozen=True, slots=True)
class Trino:
    """A server, at ``http://host:port``."""

    address: str

    def run(self, statement: str) -> list[dict[str, Any]]:
        """The rows of one statement, column -> value as JSON has it; AssertionError: its error."""
        rows: list[dict[str, Any]] = []
        answer = self._answer(requests.post, f"{self.address}/v1/statement", statement)
        while "nextUri" in answer:
            answer = self._answer(requests.get, answer["nextUri"])
            assert "error" not in answer, f"{statement}: {answer['error']['message']}"
            columns = [column["name"] for column in answer.get("columns", ())]
            rows += [dict(zip(columns, row, strict=True)) for row in answer.get("data", ())]
        return rows

    def _answer(self, method: Callable[..., requests.Response], *what: str) -> dict[str, Any]:
        answer = method(*what, headers={"X-Trino-User": "tests"}, timeout=STATEMENT_SECONDS)
        answer.raise_for_status()
        return dict(answer.json())


@contextmanager
def running_trino(folder: Path, lake: SharedLake) -> Iterator[Trino]:
    """A new server with the catalog ``lake``; ``folder`` gets its settings and log.

    RuntimeError when Trino or its Java is not installed, or it does not become ready.
    """
    java_home = os.environ.get(JAVA_VARIABLE, "")
    if not (HOME / "installed").exists():
        raise RuntimeError(f"no Trino is in {HOME}: make test-trino brings it")
    if not java_home:
        raise RuntimeError(f"{JAVA_VARIABLE} names no Java: set it to the home of Java 24 or newer")
    (port,) = free_ports(1)
    address = f"http://{HOST}:{port}"
    etc = folder / "etc"
    server = {
        "coordinator": "true",
        "node-scheduler.include-coordinator": "true",
        "http-server.http.port": str(port),
        "node.bind-ip": HOST,
        "node.internal-address": HOST,
        "discovery.uri": address,
    }
    node = {"node.environment": "tests", "node.data-dir": str(folder / "data")}
    _write(etc / "config.properties", server)
    _write(etc / "node.properties", node)
    _write(etc / "catalog" / "lake.properties", catalog_properties(lake))
    (etc / "jvm.config").write_text(_JVM)
    command = [str(HOME / "server" / "bin" / "launcher"), "run", "--etc-dir", str(etc)]
    path = f"{java_home}/bin{os.pathsep}{os.environ['PATH']}"
    program = Program(
        command,
        folder / "trino.log",
        folder / "trino.pid",
        {"JAVA_HOME": java_home, "PATH": path},
    )
    with tethered(program) as tether:
        trino = Trino(address)
        _await_ready(trino, tether, program.log)
        yield trino


def catalog_properties(lake: SharedLake) -> dict[str, str]:
    """Those that docs/reading.md gives readers, at this lake, and what maintenance needs."""
    text = _READER.read_text()
    block = re.search(r"## Trino\n.*?```properties\n(.*?)```", text, re.DOTALL)
    assert block is not None, f"{_READER} has no properties of Trino"
    given = dict(line.split("=", 1) for line in block[1].splitlines())
    assert given.pop("iceberg.security") == "read-only"
    here = {
        "iceberg.jdbc-catalog.connection-url": f"jdbc:{lake.uri}",
        "iceberg.jdbc-catalog.connection-user": lake.user,
        "iceberg.jdbc-catalog.connection-password": PASSWORD,
        "iceberg.jdbc-catalog.default-warehouse-dir": lake.warehouse,
        "s3.endpoint": lake.store.endpoint,
    }
    assert set(here) <= set(given)
    return (
        given
        | here
        | {
            "s3.path-style-access": "true",
            "s3.aws-access-key": ACCESS_KEY,
            "s3.aws-secret-key": SECRET_KEY,
            "iceberg.expire-snapshots.min-retention": "0s",
            "iceberg.remove-orphan-files.min-retention": "0s",
        }
    )


def _write(path: Path, properties: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))


def _await_ready(trino: Trino, tether: subprocess.Popen[bytes], log: Path) -> None:
    why, until = "", time.monotonic() + READY_SECONDS
    while time.monotonic() < until and tether.poll() is None:
        try:
            trino.run("SELECT 1")
        except (AssertionError, requests.RequestException) as error:
            why = str(error)
        else:
            return
        time.sleep(0.5)
    raise RuntimeError(f"Trino did not become ready: {why}, {log.read_text()[-2000:]}")
