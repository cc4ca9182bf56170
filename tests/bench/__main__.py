"""The command line: which measures, at which scale; a table out, and JSON where it is wanted."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.fold import measure_fold
from tests.bench.lab import Lab, running_lab
from tests.bench.report import show, write_json
from tests.bench.scan import measure_scan
from tests.bench.scheduled import measure_scheduled
from tests.bench.setting import setting_of
from tests.bench.small import measure_small
from tests.bench.throughput import measure_throughput
from tidemark.errors import TidemarkError

Measure = Callable[[Lab, Collection[str]], Sequence[Figure]]
MEASURES: Mapping[tuple[str, ...], Measure] = {
    ("raw", "land", "cut"): measure_throughput,
    ("fold",): lambda lab, _: measure_fold(lab),
    ("scan",): lambda lab, _: measure_scan(lab),
    ("small",): lambda lab, _: measure_small(lab),
    ("airflow", "idle"): measure_scheduled,
}
"""What is measured together, with the names under which it may be asked for."""
NAMES = tuple(name for names in MEASURES for name in names)


def main(arguments: Sequence[str]) -> int:
    """Measure and report; the exit code."""
    given = _parser().parse_args(arguments)
    with running_lab(given.scale) as lab:
        setting = setting_of(lab)
        figures: list[Figure] = []
        try:
            figures.extend(_measure(lab, given.only))
        finally:
            show(figures, setting)  # a measure that fails takes nothing away from those before it
    if given.json is not None:
        write_json(
            given.json, figures, setting, shlex.join(["python", "-m", "tests.bench", *arguments])
        )
    return 0


def _measure(lab: Lab, wanted: Collection[str]) -> Iterator[Figure]:
    for names, measure in MEASURES.items():
        if not wanted or not set(names).isdisjoint(wanted):
            sys.stderr.write(f"measuring {', '.join(names)}\n")
            yield from measure(lab, wanted or names)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=NAMES, default=(), metavar="NAME", help=", ".join(NAMES)
    )
    parser.add_argument("--scale", type=_scale, default=1.0, help="factor of all counts")
    parser.add_argument("--json", type=Path, metavar="PATH", help="file for the figures")
    return parser


def _scale(text: str) -> float:
    scale = float(text)
    if not 0 < scale <= 1:
        raise argparse.ArgumentTypeError("above 0, and at most 1")
    return scale


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except TidemarkError as error:
        sys.exit(str(error))
