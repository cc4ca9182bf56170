"""A real, empty MariaDB server for as long as a block."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.binlog_server import ENVIRONMENT, Server, running_server


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
        data = f"--datadir={folder / 'data'}"
        make = ["mariadb-install-db", "--no-defaults", data, "--user=root"]
        subprocess.run(  # noqa: S603  every argument is ours
            [*make, "--auth-root-authentication-method=normal", "--skip-test-db"],
            env=ENVIRONMENT,
            capture_output=True,
            check=True,
        )
        command = [binary, "--no-defaults", data, "--log-bin", "--binlog-format=ROW"]
        with running_server([*command, "--character-set-server=utf8mb4"], folder) as server:
            yield server
