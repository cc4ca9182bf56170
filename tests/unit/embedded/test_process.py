"""Programs of the embedded stack end with whoever started them, however that one ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from embedded.process import (
    Program,
    find_recorded,
    has_ended,
    require_stopped,
    start_detached,
    stop_recorded,
    tethered,
)
from tidemark.errors import ServiceError

# A program with a descendant that a polite request does not end.
COMMAND = ["sh", "-c", "(trap '' TERM; sleep 600) & echo $!; wait"]
# Where the tests run in the background SIGINT is ignored, and that is inherited.
PARENT = f"""
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
from embedded.process import Program, tethered
with tethered(Program({COMMAND!r}, Path(sys.argv[1]), Path(sys.argv[2]))):
    time.sleep(600)
"""


def await_descendant(log: Path) -> psutil.Process:
    """The descendant of COMMAND, once that named it."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if log.exists() and log.read_text().endswith("\n"):
            return psutil.Process(int(log.read_text()))
        time.sleep(0.02)
    raise AssertionError(f"nothing in {log}")


def all_end(programs: list[psutil.Process]) -> bool:
    until = time.monotonic() + 5
    while time.monotonic() < until and not all(map(has_ended, programs)):
        time.sleep(0.02)
    return all(map(has_ended, programs))


def test_program_ends_with_the_block(tmp_path: Path) -> None:
    with tethered(Program(COMMAND, tmp_path / "log", tmp_path / "pid")) as tether:
        descendant = await_descendant(tmp_path / "log")
        assert tether.poll() is None
    assert has_ended(descendant)


def test_tether_ends_with_the_program_and_its_exit_code(tmp_path: Path) -> None:
    command = ["sh", "-c", "echo words; exit 3"]
    with tethered(Program(command, tmp_path / "log", tmp_path / "pid")) as tether:
        assert tether.wait(timeout=10) == 3
    assert (tmp_path / "log").read_text() == "words\n"


@pytest.mark.parametrize("cause", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_program_ends_with_its_parent(cause: signal.Signals, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(log), str(tmp_path / "pid")], stderr=subprocess.DEVNULL
    ) as parent:
        descendant = await_descendant(log)
        programs = psutil.Process(parent.pid).children(recursive=True)
        assert descendant in programs
        parent.send_signal(cause)
    assert all_end(programs)


def test_detached_program_runs_until_it_is_stopped(tmp_path: Path) -> None:
    pid_file = tmp_path / "sleeper.pid"
    started = start_detached(Program(COMMAND, tmp_path / "log", pid_file))
    descendant = await_descendant(tmp_path / "log")
    assert find_recorded(pid_file) == started
    with pytest.raises(ServiceError, match=f"a sleeper is running .* as process {started.pid}"):
        require_stopped(pid_file)
    assert stop_recorded(pid_file)
    assert has_ended(started)
    assert has_ended(descendant)
    assert not stop_recorded(pid_file)
    require_stopped(pid_file)


def test_pid_given_to_another_program_is_left_alone(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    pid_file.write_text(json.dumps({"pid": os.getpid(), "created": 0}))
    assert not stop_recorded(pid_file)
