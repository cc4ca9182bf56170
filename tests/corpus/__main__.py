"""The command line: cases in, one line a case and variant out, exit code 1 when one failed."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.corpus.cases import find_cases
from tests.corpus.run import Options, run_case, running_world
from tidemark.log import configure


def main(arguments: Sequence[str]) -> int:
    """Run the cases; the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    cases = find_cases(given.folders, None if given.variants == "all" else given.variants)
    if given.rest and given.kills:
        parser.error("--kills is for the catalog that the job knows, without --rest")
    if not cases:
        parser.error("no such case in these folders")
    options = Options(
        more_cuts=given.cuts,
        partitions=given.partitions,
        redeliver=given.redeliver,
        leave_out=given.leave_out,
        ungated=given.ungated,
        refold=given.refold,
        retain=given.retain,
        kills=given.kills,
        seed=given.seed,
        stands_for=given.stands_for,
    )
    configure(level=logging.CRITICAL)
    failed = 0
    with (
        tempfile.TemporaryDirectory(prefix="corpus-") as state,
        running_world(Path(state), on_rest=given.rest) as world,
    ):
        for number, case in enumerate(cases, start=1):
            outcome = run_case(case, f"case_{number}", world, options)
            failed += bool(outcome.faults)
            _tell(str(outcome))
    _tell(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("folders", nargs="+", type=_folder, metavar="DIR")
    parser.add_argument("--variants", default="all", help="all, or the name of one")
    parser.add_argument(
        "--cuts", default=0, type=_more_cuts, help="stages, or random:N for N more micro-batches"
    )
    parser.add_argument("--partitions", default=1, type=int, help="of topics that rows spread over")
    parser.add_argument("--redeliver", action="store_true", help="send random stretches again")
    parser.add_argument(
        "--leave-out", action="store_true", help="have updates leave out what they do not change"
    )
    parser.add_argument(
        "--ungated",
        action="store_true",
        help="without BEGIN and END, as by default",
    )
    parser.add_argument(
        "--refold",
        action="store_true",
        help="at the end, fold each table again from the changelog, as of each stage",
    )
    parser.add_argument(
        "--retain", action="store_true", help="remove the records of more than two stages before"
    )
    parser.add_argument(
        "--kills", default=0, type=int, metavar="N", help="kill so many runs of the job, anywhere"
    )
    parser.add_argument("--rest", action="store_true", help="with a REST catalog")
    parser.add_argument(
        "--stands-for", metavar="CODE", help="do not compare tables while they are blocked for it"
    )
    parser.add_argument("--seed", default=0, type=int, help="what all chances follow from")
    return parser


def _folder(text: str) -> Path:
    folder = Path(text)
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return folder


def _more_cuts(text: str) -> int:
    kind, _, number = text.partition(":")
    if text == "stages":
        return 0
    if kind != "random" or not number.isdecimal():
        raise argparse.ArgumentTypeError("stages or random:N")
    return int(number)


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
