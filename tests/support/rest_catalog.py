"""A real REST catalog on this machine: Iceberg's own server over SQLite, for as long as a block."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark
import requests

from embedded.home import REPOSITORY, STATE
from embedded.ports import HOST, free_ports
from embedded.process import Program, tethered
from tidemark.jars.java import java_command

JARS = STATE / "rest"
SERVER = REPOSITORY / "tests" / "rest" / "RestCatalogServer.java"
HADOOP = ("hadoop-client-api-*.jar", "hadoop-client-runtime-*.jar")
READY_SECONDS = 30
CREDENTIAL = "tidemark:secret-of-the-catalog"


@contextmanager
def running_rest_catalog(folder: Path, warehouse: str) -> Iterator[str]:
    """URI of a new server; ``folder`` gets its database and its log.

    RuntimeError when the server is not installed, or does not become ready.
    """
    if not (JARS / "installed").exists():
        raise RuntimeError(f"no REST catalog is in {JARS}: make {JARS.relative_to(REPOSITORY)}")
    (port,) = free_ports(1)
    hadoop = [str(jar) for mask in HADOOP for jar in (_spark_jars()).glob(mask)]
    class_path = os.pathsep.join([f"{JARS}/*", *hadoop])
    java = [java_command(), "-Xmx256m", "-cp", class_path, str(SERVER)]
    command = [*java, HOST, str(port), str(folder / "rest.db"), warehouse]
    program = Program(command, folder / "rest.log", folder / "rest.pid")
    with tethered(program) as tether:
        uri = f"http://{HOST}:{port}"
        _await_ready(uri, tether, program.log)
        yield uri


def rest_block(uri: str, warehouse: str) -> Mapping[str, str]:
    """What an installation says of the catalog at ``uri``."""
    return {
        "name": "lake",
        "type": "rest",
        "uri": uri,
        "credential": CREDENTIAL,
        "warehouse": warehouse,
    }


def _spark_jars() -> Path:
    return Path(pyspark.__file__).parent / "jars"


def _await_ready(uri: str, tether: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and tether.poll() is None:
        try:
            requests.get(f"{uri}/v1/config", timeout=5)  # It asks for a token.
        except requests.ConnectionError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"the REST catalog did not become ready: {log.read_text()[-4000:]}")
