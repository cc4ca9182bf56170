"""What is measured, in which applications: each is a program with a JVM of its own."""

from __future__ import annotations

import multiprocessing
import sys
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.bench.aged import measure_aged
from tests.bench.figures import Figure
from tests.bench.fold import measure_fold
from tests.bench.lab import Lab, running_lab
from tests.bench.scan import measure_scan
from tests.bench.scheduled import measure_scheduled
from tests.bench.setting import Setting, setting_of
from tests.bench.small import measure_small
from tests.bench.throughput import measure_throughput
from tests.bench.worn import measure_worn

Measure = Callable[[Lab, Collection[str]], Sequence[Figure]]
Measures = Mapping[tuple[str, ...], Measure]  # by the names under which they may be asked for
APPLICATIONS: Mapping[str, Measures] = {
    "600m": {("raw", "land", "cut"): measure_throughput},
    "1g": {
        ("fold",): lambda lab, _: measure_fold(lab),
        ("scan",): lambda lab, _: measure_scan(lab),
        ("small",): lambda lab, _: measure_small(lab),
        ("aged",): lambda lab, _: measure_aged(lab),
        ("worn",): lambda lab, _: measure_worn(lab),
        ("airflow", "idle"): measure_scheduled,
    },
}
"""What is measured together, by the heap of the application that does. A cut does not need more
than the first; the plain MERGE into the large table, with which `fold` is compared, does not end
in it."""
HEAPS: Mapping[str, Sequence[str]] = {
    heap: [name for names in measures for name in names] for heap, measures in APPLICATIONS.items()
}
NAMES = tuple(name for names in HEAPS.values() for name in names)


def measure_in_application(
    heap: str, scale: float, wanted: Collection[str]
) -> tuple[Setting, Sequence[Figure], str]:
    """What is ``wanted``, measured by a program of its own, as a JVM keeps the heap it began with.

    A measure that fails, and why is told then, takes nothing away from those before it.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as program:
        return program.submit(_measure, heap, scale, wanted).result()


def _measure(
    heap: str, scale: float, wanted: Collection[str]
) -> tuple[Setting, Sequence[Figure], str]:
    figures: list[Figure] = []
    with running_lab(scale, heap) as lab:
        setting = setting_of(lab, HEAPS)
        try:
            for names, measure in APPLICATIONS[heap].items():
                if not set(names).isdisjoint(wanted):
                    sys.stderr.write(f"measuring {', '.join(names)}\n")
                    figures.extend(measure(lab, wanted))
        except Exception:  # noqa: BLE001  not every error of a JVM gets through to a program
            return setting, figures, traceback.format_exc()
    return setting, figures, ""
