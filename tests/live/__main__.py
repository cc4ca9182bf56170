"""Record cases: a real database, a real connector, and what must come out of its records."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from embedded.broker import running_broker
from embedded.home import JARS
from tests.live.record import KINDS, record
from tests.live.worker import running_worker


def main(arguments: Sequence[str]) -> int:
    """Record one case for each seed."""
    parser = argparse.ArgumentParser(prog="python -m tests.live", description=__doc__)
    parser.add_argument("into", type=Path, metavar="DIR", help="where a folder for each is made")
    parser.add_argument("kinds", nargs="+", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[0], help="what all chances follow from"
    )
    parser.add_argument("--steps", type=int, default=60, help="of each of the stages")
    given = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory(prefix="live-") as name,
        running_broker(Path(name), JARS) as servers,
        running_worker(Path(name), JARS.parent / "connect", servers) as worker,
    ):
        for kind in given.kinds:
            for seed in given.seeds:
                folder = given.into / f"{kind}-{seed}"
                record(kind, seed, given.steps, worker, folder)
                sys.stdout.write(f"{folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
