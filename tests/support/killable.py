"""A program that may be killed at any moment and started again, as a machine that fails does it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

import psutil

from embedded.process import Program, tethered


@dataclass
class Killable:
    """``program``; await_ready: returns once it answers, RuntimeError where it never does.

    The program ends with this process, however that ends.
    """

    program: Program
    await_ready: Callable[[subprocess.Popen[bytes]], None]
    _running: ExitStack = field(default_factory=ExitStack)
    _tether: int = 0

    def start(self) -> None:
        """Run it, on what it left when it ended before."""
        tether = self._running.enter_context(tethered(self.program))
        self._tether = tether.pid
        self.await_ready(tether)

    def kill(self) -> None:
        """SIGKILL to the program and all that it started."""
        for process in psutil.Process(self._tether).children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # Some end with their parent.
                process.kill()
        self._running.close()

    def stop(self) -> None:
        """End it as it is meant to end."""
        self._running.close()
