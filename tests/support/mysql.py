"""A real, empty MySQL server for as long as a block."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.binlog_server import ENVIRONMENT, Server, running_server


@contextmanager
def running_mysql(root: Path) -> Iterator[Server]:
    """A new server with GTIDs; root: where its packages are unpacked, with the libraries it needs.

    RuntimeError when it does not become ready.
    """
    libraries = root / "usr/lib/x86_64-linux-gnu"
    loader = [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries)]
    binary = [*loader, str(root / "usr/sbin/mysqld"), "--no-defaults"]
    with tempfile.TemporaryDirectory(prefix="tidemark-mysql-") as name:
        folder = Path(name)
        command = [*binary, f"--basedir={root / 'usr'}", f"--datadir={folder / 'data'}"]
        command += [f"--lc-messages-dir={root / 'usr/share/mysql'}", "--secure-file-priv=NULL"]
        subprocess.run(  # noqa: S603  every argument is ours
            [*command, "--user=root", "--initialize-insecure"],
            env=ENVIRONMENT,
            capture_output=True,
            check=True,
        )
        command += ["--mysqlx=OFF", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"]
        with running_server(command, folder) as server:
            yield server
