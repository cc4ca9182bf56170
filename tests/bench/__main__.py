"""The command line: which measures, at which scale; a table out, and JSON where it is wanted."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench.applications import HEAPS, NAMES, measure_in_application
from tests.bench.figures import Figure
from tests.bench.report import show, write_json
from tests.bench.setting import Setting
from tidemark.errors import TidemarkError


def main(arguments: Sequence[str]) -> int:
    """Measure and report; the exit code."""
    given = _parser().parse_args(arguments)
    figures: list[Figure] = []
    settings: list[Setting] = []
    failure = ""
    for heap, names in HEAPS.items():
        wanted = [name for name in names if name in (given.only or NAMES)]
        if wanted and not failure:
            setting, found, failure = measure_in_application(heap, given.scale, wanted)
            settings.append(setting)
            figures += found
    show(figures, settings[0])
    if failure:
        sys.stderr.write(failure)
    elif given.json is not None:
        command = shlex.join(["python", "-m", "tests.bench", *arguments])
        write_json(given.json, figures, settings[0], command)
    return 1 if failure else 0


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
