"""Runs the program of its arguments until that ends, or until standard input is closed.

Whoever holds the other end of that pipe need not do anything to stop the program: ending, in
whatever way, is enough.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import psutil

from embedded.process import stop_tree


def main() -> int:
    """Run the program; its exit code."""
    is_enough = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: is_enough.set())
    program = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)  # noqa: S603  `tethered`
    for wait in (_read_to_end, program.wait):
        threading.Thread(target=_signal_after, args=(wait, is_enough), daemon=True).start()
    is_enough.wait()
    if program.poll() is None:
        stop_tree(psutil.Process(program.pid))
    return program.wait()


def _signal_after(wait: Callable[[], object], event: threading.Event) -> None:
    wait()
    event.set()


def _read_to_end() -> None:
    # Not sys.stdin: its lock, held by a daemon thread, aborts the interpreter when it ends.
    while os.read(0, 1):
        pass


if __name__ == "__main__":
    sys.exit(main())
