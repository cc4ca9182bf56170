"""A real, empty MariaDB server for as long as a block."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from embedded.ports import HOST, free_ports
from embedded.process import Program
from tests.support.binlog_server import ENVIRONMENT, Server, killable_server


@contextmanager
def running_mariadb() -> Iterator[Server]:
    """A new, empty server. RuntimeError when none is installed, or it does not become ready."""
    binary = shutil.which("mariadbd", path=ENVIRONMENT["PATH"])
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
            env=ENVIRONMENT,
            capture_output=True,
            check=True,
        )
        command = [binary, "--no-defaults", f"--datadir={data}", f"--socket={socket}"]
        command += ["--user=root", f"--bind-address={HOST}", f"--port={port}"]
        command += [f"--pid-file={folder / 'pid'}", "--log-bin", "--binlog-format=ROW"]
        command += ["--innodb-flush-log-at-trx-commit=2", "--character-set-server=utf8mb4"]
        program = Program(command, folder / "log", folder / "tether.pid", ENVIRONMENT)
        server = killable_server(program, socket)
        try:
            server.start()
            yield Server(socket, port, server)
        finally:
            server.stop()
