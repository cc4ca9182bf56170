"""A real MariaDB server on this machine, behind a socket, for as long as a block."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from embedded.ports import HOST, free_ports
from embedded.process import Program
from tests.support.killable import Killable
from tests.support.server import Column, RefusedError

DATABASE = "shop"
READY_SECONDS = 60
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/usr/sbin:/bin:/sbin"}


@dataclass(frozen=True)
class Server:
    """A server with one database; port: on 127.0.0.1, where its user root needs no password."""

    socket: Path
    port: int
    program: Killable

    def crash(self) -> None:
        """SIGKILL, and start again with what was committed."""
        self.program.kill()
        self.program.start()

    def run(self, statement: str) -> str:
        """What the client prints; raises `RefusedError` where the server refuses."""
        command = ["mariadb", "--no-defaults", f"--socket={self.socket}", "--batch", "--raw"]
        done = subprocess.run(  # noqa: S603  every argument is ours
            [*command, "--skip-column-names", "--default-character-set=utf8mb4", DATABASE],
            input=f"SET time_zone = '+00:00'; {statement};",
            env=_ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RefusedError(done.stderr.strip())
        return done.stdout

    def columns(self, table: str) -> list[Column]:
        """The columns of ``table`` in their order."""
        told = self.run(
            "SELECT JSON_ARRAY(column_name, data_type, column_type, is_nullable) FROM "
            f"information_schema.columns WHERE table_schema = '{DATABASE}' AND table_name = "
            f"'{table}' ORDER BY ordinal_position"
        )
        rows = (json.loads(line) for line in told.splitlines())
        return [Column(name, kind, text, null == "YES") for name, kind, text, null in rows]

    def key(self, table: str) -> list[str]:
        """The columns of the primary key."""
        told = self.run(
            "SELECT column_name FROM information_schema.key_column_usage WHERE table_schema = "
            f"'{DATABASE}' AND table_name = '{table}' AND constraint_name = 'PRIMARY' "
            "ORDER BY ordinal_position"
        )
        return told.splitlines()

    def rows(self, table: str, where: str = "TRUE") -> list[dict[str, str | None]]:
        """Rows by column name, each value as the server writes it; binary ones in hexadecimal."""
        columns = self.columns(table)
        values = ", ".join(_as_text(column) for column in columns)
        told = self.run(f"SELECT JSON_ARRAY({values}) FROM `{table}` WHERE {where}")
        names = [column.name for column in columns]
        return [dict(zip(names, json.loads(line), strict=True)) for line in told.splitlines()]


def _as_text(column: Column) -> str:
    name = f"`{column.name}`"
    if column.kind in {"binary", "varbinary", "blob"}:
        return f"HEX({name})"
    return f"CAST({name} + 0 AS CHAR)" if column.kind == "bit" else f"CAST({name} AS CHAR)"


@contextmanager
def running_mariadb() -> Iterator[Server]:
    """A new, empty server. RuntimeError when none is installed, or it does not become ready."""
    binary = shutil.which("mariadbd", path=_ENVIRONMENT["PATH"])
    if binary is None:
        raise RuntimeError(
            "these tests need a MariaDB server, and none is installed: apt-get install "
            "mariadb-server"
        )
    with tempfile.TemporaryDirectory(prefix="tidemark-mariadb-") as name:
        folder = Path(name)
        data, socket = folder / "data", folder / "socket"
        (port,) = free_ports(1)
        make = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root"]
        subprocess.run(  # noqa: S603  every argument is ours
            [*make, "--auth-root-authentication-method=normal", "--skip-test-db"],
            env=_ENVIRONMENT,
            capture_output=True,
            check=True,
        )
        command = [binary, "--no-defaults", f"--datadir={data}", f"--socket={socket}"]
        command += ["--user=root", f"--bind-address={HOST}", f"--port={port}"]
        command += [f"--pid-file={folder / 'pid'}", "--log-bin", "--binlog-format=ROW"]
        command += ["--innodb-flush-log-at-trx-commit=2", "--character-set-server=utf8mb4"]
        program = Program(command, folder / "log", folder / "tether.pid", _ENVIRONMENT)
        server = Killable(program, partial(_await_ready, socket, program.log))
        try:
            server.start()
            yield Server(socket, port, server)
        finally:
            server.stop()


def _await_ready(socket: Path, log: Path, tether: subprocess.Popen[bytes]) -> None:
    make = ["mariadb", "--no-defaults", f"--socket={socket}"]
    make += ["-e", f"CREATE DATABASE IF NOT EXISTS {DATABASE}"]
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and tether.poll() is None:
        done = subprocess.run(make, env=_ENVIRONMENT, capture_output=True, check=False)  # noqa: S603
        if done.returncode == 0:
            return
        time.sleep(0.1)
    raise RuntimeError(f"MariaDB did not become ready: {log.read_text()}")
