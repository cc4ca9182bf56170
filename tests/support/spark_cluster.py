"""A Spark standalone cluster on this machine whose workers share no file with the driver.

Each worker, and with it its executors, is in a mount namespace of its own: the folders that the
driver works in are empty there, and all it has is Java and a Spark distribution. It has a loopback
address of its own, too, for what executors of one host write they read from each other's disk.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from embedded.ports import HOST, free_ports
from embedded.process import Program, tethered
from tidemark.jars.java import java_command
from tidemark.spec.launch import spark_home

READY_SECONDS = 60
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
SMALL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# HOME is not hidden. Spark is bound there first, for its own folder may be in one that is.
IN_ITS_OWN_MOUNTS = """
set -eu
home=$1 spark=$2; shift 2
mount --bind "$spark" "$home/spark"
while [ "$1" != -- ]; do mount -t tmpfs tidemark "$1"; shift; done
shift
exec "$@"
"""


@dataclass(frozen=True)
class Worker:
    """A worker; home: the one folder that it shares with the tests, for its executors' logs."""

    home: Path
    tether: subprocess.Popen[bytes]

    @property
    def processes(self) -> list[psutil.Process]:
        """The worker and its executors, without the tether that holds them."""
        return psutil.Process(self.tether.pid).children(recursive=True)

    def kill(self) -> None:
        """As a machine dies: the worker and all its executors at once."""
        for process in self.processes:
            process.kill()
        self.tether.wait(30)

    def sees(self, path: Path) -> bool:
        """Whether there is such a file or folder for its executors."""
        root = Path(f"/proc/{self.processes[0].pid}/root")
        return root.joinpath(*path.parts[1:]).exists()


@dataclass
class Cluster:
    """A master at ``url``, and workers of one core each to which the ``hidden`` folders are empty.

    ``folder`` gets their logs.
    """

    url: str
    folder: Path
    hidden: Sequence[Path]
    running: ExitStack
    workers: list[Worker] = field(default_factory=list)

    def add_worker(self) -> None:
        """Start one more. RuntimeError when it does not come, as without root."""
        number = len(list(self.folder.glob("worker*.log"))) + 1
        name, host = f"worker{number}", f"127.0.0.{number + 1}"
        temporary = tempfile.TemporaryDirectory(prefix=f"tidemark-{name}-", dir="/var/tmp")  # noqa: S108
        home = Path(self.running.enter_context(temporary))
        (home / "spark").mkdir()
        java = [*_java(home / "spark"), WORKER, "--host", host, "--webui-port", "0"]
        java += ["--cores", "1", "--memory", "1g", "--work-dir", str(home / "work"), self.url]
        shell = ["unshare", "--mount", "sh", "-c", IN_ITS_OWN_MOUNTS, "sh", str(home)]
        command = [*shell, str(spark_home()), *map(str, self.hidden), "--", *java]
        environment = _environment() | {
            "SPARK_HOME": str(home / "spark"),
            "SPARK_LOCAL_IP": host,
        }
        log = self.folder / f"{name}.log"
        program = Program(command, log, log.with_suffix(".pid"), environment)
        tether = self.running.enter_context(tethered(program))
        _await_line("Successfully registered", tether, log)
        self.workers.append(Worker(home, tether))

    def worker_of(self, port: int) -> Worker:
        """The worker of the executor that has a connection from ``port``."""
        for worker in self.workers:
            for process in worker.processes:
                if any(c.laddr and c.laddr.port == port for c in process.net_connections("tcp")):
                    return worker
        raise AssertionError(f"no executor calls from port {port}")

    def replace(self, worker: Worker) -> None:
        """Kill ``worker`` as a machine dies, and start another one."""
        self.workers.remove(worker)
        worker.kill()
        self.add_worker()


@contextmanager
def running_cluster(folder: Path, hidden: Sequence[Path], workers: int = 2) -> Iterator[Cluster]:
    """A master and ``workers``; see `Cluster`."""
    (port,) = free_ports(1)
    command = [*_java(spark_home()), MASTER, "--host", HOST, "--port", str(port)]
    command += ["--webui-port", "0"]
    master = Program(command, folder / "master.log", folder / "master.pid", _environment())
    with ExitStack() as running:
        _await_port(port, running.enter_context(tethered(master)), master.log)
        cluster = Cluster(f"spark://{HOST}:{port}", folder, hidden, running)
        for _ in range(workers):
            cluster.add_worker()
        yield cluster


def _java(spark: Path) -> list[str]:
    return [java_command(), *SMALL, "-cp", f"{spark}/jars/*"]


def _environment() -> dict[str, str]:
    """Nothing of the driver's: no keys of a store, no PYTHONPATH, no folder of settings."""
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": HOST,
        # Else Spark looks for the folders that it is built in.
        "SPARK_SCALA_VERSION": "2.13",
    }


def _await_port(port: int, tether: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and tether.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"Spark's master did not become ready: {log.read_text()}")


def _await_line(text: str, tether: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until and tether.poll() is None:
        if text in log.read_text():
            return
        time.sleep(0.05)
    raise RuntimeError(
        f"a Spark worker with mounts of its own did not come; that needs root: {log.read_text()}"
    )
