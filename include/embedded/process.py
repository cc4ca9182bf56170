"""Programs of the embedded stack, which end with whoever started them or run on detached."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tidemark.errors import ServiceError

STOP_SECONDS = 20
"""How long a program may take to end by itself before it is killed."""


@dataclass(frozen=True)
class Program:
    """What to run, and the files that tell about it: what it printed, and who it is."""

    command: Sequence[str]
    log: Path
    pid_file: Path
    environment: Mapping[str, str] | None = None


@contextmanager
def tethered(program: Program) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program that ends with the block and with this process, however either ends.

    The value is the tether: it lives exactly as long as the program, and ends with its exit code.
    """
    # The program is not our child but the tether's, which holds the other end of a pipe. When we
    # leave the block, are interrupted or are killed with SIGKILL, the kernel closes our end, and
    # the tether, out of reach in a session of its own, stops the program and all its descendants.
    # This needs no signal handler here, and works from any thread and on every Unix.
    with (
        program.log.open("wb") as log,
        subprocess.Popen(  # noqa: S603  the commands are those of the embedded stack
            [sys.executable, "-m", "embedded.tether", *program.command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=program.environment,
            start_new_session=True,
        ) as tether,
    ):
        _record(program.pid_file, tether.pid)
        yield tether


def start_detached(program: Program) -> psutil.Process:
    """Run a program that outlives this process, until `stop_recorded` of its ``pid_file``."""
    with program.log.open("wb") as log:
        child = subprocess.Popen(  # noqa: S603  the commands are those of the embedded stack
            program.command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=program.environment,
            start_new_session=True,
        )
    child.returncode = 0  # nobody waits for it: no warning when this handle goes
    return _record(program.pid_file, child.pid)


def find_recorded(pid_file: Path) -> psutil.Process | None:
    """The program that ``pid_file`` records, if it is still running."""
    try:
        record = json.loads(pid_file.read_text())
        process = psutil.Process(record["pid"])
        # Pids are given out again, but not within the same seconds.
        is_recorded = abs(process.create_time() - record["created"]) < 2
    except (FileNotFoundError, psutil.NoSuchProcess):
        return None
    return process if is_recorded and not has_ended(process) else None


def require_stopped(pid_file: Path) -> None:
    """Raise ServiceError when the program that ``pid_file`` records is still running."""
    process = find_recorded(pid_file)
    if process is not None:
        raise ServiceError(
            f"a {pid_file.stem} is running on {pid_file.parent} already, as process {process.pid}",
            state="it runs on undisturbed",
            next_step="use it, stop it first (make down), or take another state folder",
        )


def stop_recorded(pid_file: Path) -> bool:
    """Stop the program that ``pid_file`` records; false when it was not running any more."""
    process = find_recorded(pid_file)
    if process is not None:
        stop_tree(process)
    pid_file.unlink(missing_ok=True)
    return process is not None


def stop_tree(root: psutil.Process) -> None:
    """Ask a program to end; after STOP_SECONDS kill it, and in any case what it leaves behind."""
    try:
        tree = [root, *root.children(recursive=True)]
        root.terminate()
    except psutil.NoSuchProcess:
        return
    _await_end([root])
    for process in tree:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _await_end(tree)


def has_ended(process: psutil.Process) -> bool:
    """True also while nobody collected its exit code: process 1 of many containers never does."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _record(pid_file: Path, pid: int) -> psutil.Process:
    process = psutil.Process(pid)
    pid_file.write_text(json.dumps({"pid": pid, "created": process.create_time()}))
    return process


def _await_end(processes: Sequence[psutil.Process]) -> None:
    until = time.monotonic() + STOP_SECONDS
    while time.monotonic() < until and not all(has_ended(process) for process in processes):
        time.sleep(0.05)
