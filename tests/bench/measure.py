"""What a piece of work costs: time, CPU of this program and its JVM, and peak memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import psutil

Result = TypeVar("Result")

INTERVAL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run; started: names of the programs that were started meanwhile."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    started: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Meter:
    """Measures ``processes`` and what is started meanwhile; the broker is not among them."""

    processes: tuple[psutil.Process, ...]

    def measure(self, work: Callable[[], Result]) -> tuple[Cost, Result]:
        """Do ``work``; what it cost, and its result."""
        with _Watch(self.processes) as watch:
            cpu_before, began = self._cpu_seconds(), time.perf_counter()
            result = work()
            seconds, cpu_after = time.perf_counter() - began, self._cpu_seconds()
        cpu_seconds = cpu_after - cpu_before - watch.own_cpu_seconds
        return Cost(seconds, cpu_seconds, watch.peak_bytes, tuple(watch.started.values())), result

    def _cpu_seconds(self) -> float:
        """Of the processes and of all children that they waited for."""
        return sum(sum(process.cpu_times()[:4]) for process in self.processes)

    def resident_bytes(self) -> int:
        """Memory of the processes now."""
        return sum(process.memory_info().rss for process in self.processes)


class _Watch:
    """Looks at memory and new programs in a thread of its own, as long as the block runs."""

    def __init__(self, processes: tuple[psutil.Process, ...]) -> None:
        self.peak_bytes = 0
        self.own_cpu_seconds = 0.0
        self.started: dict[int, str] = {}
        self._processes = processes
        self._there_before = {child.pid for child in psutil.Process().children(recursive=True)}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            self.peak_bytes = max(self.peak_bytes, self._resident_bytes())
            self.own_cpu_seconds = time.thread_time()
            if self._is_over.wait(INTERVAL_SECONDS):
                return

    def _resident_bytes(self) -> int:
        children = psutil.Process().children(recursive=True)
        new = [child for child in children if child.pid not in self._there_before]
        total = 0
        for process in (*self._processes, *new):
            with suppress(psutil.NoSuchProcess):  # it may end while it is looked at
                total += process.memory_info().rss
                if process in new:
                    self.started[process.pid] = process.name()
        return total


def take_turns(
    competitors: Mapping[str, Callable[[int], Result]], rounds: int
) -> Mapping[str, list[Result]]:
    """Run the competitors in turn, A B A B; what each gave, round by round.

    Each gets the number of the round. Round 0 comes on top: it warms up and does not count.
    """
    given: dict[str, list[Result]] = {name: [] for name in competitors}
    for number in range(rounds + 1):
        for name, run in competitors.items():
            result = run(number)
            if number > 0:
                given[name].append(result)
    return given
