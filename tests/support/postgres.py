"""A real PostgreSQL server on this machine, reachable on 127.0.0.1 alone, for as long as a block.

The binaries are those of the system; on Debian, of the package postgresql-15 or a newer one.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

import psutil
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import create_engine, make_url, text

from embedded.ports import HOST, free_ports
from embedded.process import Program
from tests.support.killable import Killable

USER = "tidemark"
"""Superuser of the server; everybody on this machine is let in without a password."""
READY_SECONDS = 60
_ENVIRONMENT = {"LC_ALL": "C", "PATH": os.defpath}
_SETTINGS = {"listen_addresses": HOST, "max_connections": "200", "fsync": "off"}


@dataclass(frozen=True)
class PostgresServer:
    """A server on ``port``, where `USER` is let in."""

    port: int
    program: Killable

    @property
    def uri(self) -> str:
        """``postgresql://host:port/database``."""
        return f"postgresql://{HOST}:{self.port}/postgres"

    def crash(self) -> None:
        """SIGKILL, and start again with what was committed."""
        self.program.kill()
        self.program.start()


@contextmanager
def running_postgres(
    more: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[PostgresServer]:
    """A new, empty server.

    more: settings beside those that the tests of catalogs need.
    RuntimeError when PostgreSQL is not installed, or does not become ready.
    """
    binaries = _binaries()
    # Not below a folder of pytest: that one is closed to the ordinary user that a root must take.
    with tempfile.TemporaryDirectory(prefix="tidemark-postgres-") as name:
        folder = Path(name)
        as_user = _as_ordinary_user(folder)
        (port,) = free_ports(1)
        data = folder / "data"
        _initialize([*as_user, str(binaries / "initdb")], data)
        settings = {**_SETTINGS, **more, "port": str(port), "unix_socket_directories": str(folder)}
        arguments = [f"--{name}={value}" for name, value in settings.items()]
        command = [*as_user, str(binaries / "postgres"), "-D", str(data), *arguments]
        program = Program(command, folder / "log", folder / "tether.pid", _ENVIRONMENT)
        server = Killable(program, partial(_await_ready, binaries, port, program.log))
        try:
            server.start()
            yield PostgresServer(port, server)
        finally:
            _stop(data)
            server.stop()


def make_catalog_user(uri: str) -> str:
    """Name of a user with the rights that docs/deployment.md asks for, on a catalog that is new."""
    engine = create_engine(make_url(uri).set(drivername="postgresql+psycopg2", username=USER))
    SqlCatalog("lake", uri=engine.url.render_as_string(), warehouse="file:///nowhere")
    tables = "iceberg_tables, iceberg_namespace_properties"
    with engine.begin() as connection:
        connection.execute(text("CREATE USER catalog_user"))
        connection.execute(
            text(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO catalog_user")
        )
    engine.dispose()
    return "catalog_user"


def _binaries() -> Path:
    """Folder of the server's programs, of the newest version if there are several."""
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    found = max(installed, key=lambda path: int(path.parts[-3]), default=None)
    elsewhere = shutil.which("initdb")
    if found is None and elsewhere is None:
        raise RuntimeError(
            "these tests need a PostgreSQL server, and none is installed: "
            "apt-get install postgresql-15 (initdb in PATH or /usr/lib/postgresql/*/bin)"
        )
    return (found or Path(elsewhere or "")).resolve().parent


def _as_ordinary_user(folder: Path) -> Sequence[str]:
    """What to put before a command, as PostgreSQL refuses to run as root; ``folder`` is theirs."""
    if os.getuid() != 0:
        return ()
    shutil.chown(folder, "postgres", "postgres")
    return ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups")


def _initialize(initdb: Sequence[str], data: Path) -> None:
    options = [f"--username={USER}", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
    outcome = subprocess.run(  # noqa: S603  every argument is ours
        [*initdb, *options, "-D", str(data)],
        env=_ENVIRONMENT,
        cwd=data.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if outcome.returncode != 0:
        raise RuntimeError(f"initdb failed: {outcome.stderr}")


def _await_ready(binaries: Path, port: int, log: Path, tether: subprocess.Popen[bytes]) -> None:
    ask = [str(binaries / "pg_isready"), f"--host={HOST}", f"--port={port}", "--quiet"]
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and tether.poll() is None:
        if subprocess.run(ask, env=_ENVIRONMENT, check=False).returncode == 0:  # noqa: S603
            return
        time.sleep(0.05)
    raise RuntimeError(f"PostgreSQL did not become ready: {log.read_text()}")


def _stop(data: Path) -> None:
    """Close all connections and end; at the tether's SIGTERM the server would wait for clients."""
    pid_file = data / "postmaster.pid"
    if pid_file.exists():
        with suppress(psutil.NoSuchProcess):
            psutil.Process(int(pid_file.read_text().split()[0])).send_signal(signal.SIGINT)
