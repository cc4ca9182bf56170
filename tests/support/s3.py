"""A real S3 endpoint on this machine, reachable on 127.0.0.1 alone, for as long as a block."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.fs

from embedded.home import REPOSITORY, STATE
from embedded.ports import HOST, free_ports
from embedded.process import Program, tethered

PYTHON = STATE / "moto" / "bin" / "python"
SERVER = REPOSITORY / "tests" / "cluster" / "serve_s3.py"
READY_SECONDS = 30
HELD_SECONDS = 60
REGION = "us-east-1"
ACCESS_KEY = "cluster-reader-and-writer"
SECRET_KEY = "secret-of-the-store"  # noqa: S105  of a server that ends with its test


@dataclass(frozen=True, slots=True)
class Store:
    """An S3 server with one bucket; hold: a file, see serve_s3.py."""

    endpoint: str
    bucket: str
    hold: Path

    def keep_waiting(self, path: str) -> None:
        """Let the next upload to a path that matches ``path`` wait until `let_go`."""
        self.hold.with_suffix(".port").unlink(missing_ok=True)
        self.hold.write_text(path)

    def await_held(self) -> int:
        """The port from which the upload comes that waits."""
        held, until = self.hold.with_suffix(".port"), time.monotonic() + HELD_SECONDS
        while time.monotonic() < until:
            if held.exists():
                return int(held.read_text())
            time.sleep(0.01)
        raise AssertionError(f"no upload to {self.hold.read_text()} came")

    def let_go(self) -> None:
        """No upload waits any longer."""
        self.hold.unlink(missing_ok=True)


@contextmanager
def running_s3(folder: Path) -> Iterator[Store]:
    """A new server with an empty bucket; ``folder`` gets its log.

    RuntimeError when the server is not installed, or does not become ready.
    """
    if not PYTHON.exists():
        raise RuntimeError(f"no S3 server is in {PYTHON.parents[1]}: make test-cluster brings it")
    (port,) = free_ports(1)
    hold = folder / "hold"
    command = [str(PYTHON), str(SERVER), str(port), ACCESS_KEY, str(hold)]
    program = Program(command, folder / "s3.log", folder / "s3.pid")
    with tethered(program) as tether:
        _await_ready(port, tether, program.log)
        store = Store(f"http://{HOST}:{port}", "lake", hold)
        filesystem = pyarrow.fs.S3FileSystem(
            access_key=ACCESS_KEY,
            secret_key=SECRET_KEY,
            endpoint_override=store.endpoint,
            region=REGION,
            allow_bucket_creation=True,
        )
        filesystem.create_dir(store.bucket)
        yield store


def _await_ready(port: int, tether: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and tether.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"the S3 server did not become ready: {log.read_text()}")
