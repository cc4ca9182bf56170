"""A real MariaDB or MySQL server on this machine, asked by MariaDB's client over its socket."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
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
ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/usr/sbin:/bin:/sbin"}


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
        command = [*_client(self.socket), "--batch", "--raw", "--skip-column-names"]
        done = subprocess.run(  # noqa: S603  every argument is ours
            [*command, "--default-character-set=utf8mb4", DATABASE],
            input=f"SET time_zone = '+00:00'; {statement};",
            env=ENVIRONMENT,
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
def running_server(command: Sequence[str], folder: Path) -> Iterator[Server]:
    """The server that ``command`` starts, for as long as a block; folder: of its files.

    RuntimeError when it does not become ready.
    """
    socket = folder / "socket"
    (port,) = free_ports(1)
    options = [f"--socket={socket}", f"--bind-address={HOST}", f"--port={port}", "--user=root"]
    options += [f"--pid-file={folder / 'pid'}", "--innodb-flush-log-at-trx-commit=2"]
    files = folder / "log", folder / "tether.pid"
    program = Program([*command, *options], *files, ENVIRONMENT)
    server = Killable(program, partial(_await_ready, socket, program.log))
    try:
        server.start()
        yield Server(socket, port, server)
    finally:
        server.stop()


def _await_ready(socket: Path, log: Path, tether: subprocess.Popen[bytes]) -> None:
    make = [*_client(socket), "-e", f"CREATE DATABASE IF NOT EXISTS {DATABASE}"]
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and tether.poll() is None:
        done = subprocess.run(make, env=ENVIRONMENT, capture_output=True, check=False)  # noqa: S603
        if done.returncode == 0:
            return
        time.sleep(0.1)
    raise RuntimeError(f"the server did not become ready: {log.read_text()}")


def _client(socket: Path) -> list[str]:
    return ["mariadb", "--no-defaults", "--skip-ssl", f"--socket={socket}", "--user=root"]
