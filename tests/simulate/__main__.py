"""``python -m tests.simulate``: search many histories for one that breaks an invariant."""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.simulate.lake import search
from tests.simulate.search import find, searched
from tests.simulate.through_engine import find_in_engine

SHARE = 500


def main() -> None:
    """Exit code 1 and the shortest history found when one breaks something."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulate")
    parser.add_argument("--histories", type=int, default=20_000, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="of the first; others follow it")
    parser.add_argument("--processes", type=int, default=2, help="side by side")
    parser.add_argument(
        "--engine", type=int, default=0, metavar="N", help="every Nth through Kafka and Spark too"
    )
    parser.add_argument(
        "--interleavings", type=int, default=10_000, help="of cuts with maintenance, beside them"
    )
    options = parser.parse_args()
    _search_lake(options.interleavings, options.seed, options.processes)
    began = time.monotonic()
    shares = range(0, options.histories, SHARE)
    with ProcessPoolExecutor(options.processes) as pool:
        numbers = {
            pool.submit(find, min(SHARE, options.histories - start), options.seed + index): index
            for index, start in enumerate(shares)
        }
        for done in as_completed(numbers):
            found = done.result()
            if found is not None:
                pool.shutdown(cancel_futures=True)
                raise SystemExit(f"{found}\nseed {options.seed + numbers[done]}")
    seconds = time.monotonic() - began
    print(f"{options.histories} histories, no invariant broken, {seconds:.0f} s")
    if options.engine:
        _through_engine(options.histories, options.engine, options.seed)


def _search_lake(number: int, seed: int, processes: int) -> None:
    """Interleavings on a catalog and an object store in memory."""
    began = time.monotonic()
    shares = range(0, number, SHARE)
    with ProcessPoolExecutor(processes) as pool:
        shared = [
            pool.submit(search.find, min(SHARE, number - start), seed + start) for start in shares
        ]
        for done in as_completed(shared):
            broken = done.result()
            if broken is not None:
                pool.shutdown(cancel_futures=True)
                raise SystemExit(broken)
    seconds = time.monotonic() - began
    print(f"{number} interleavings with maintenance, no promise broken, {seconds:.0f} s")


def _through_engine(histories: int, step: int, first_seed: int) -> None:
    began = time.monotonic()
    shares = enumerate(range(0, histories, SHARE))
    chosen = [
        history
        for index, start in shares
        for history in searched(min(SHARE, histories - start), first_seed + index)
    ][step - 1 :: step]
    found = find_in_engine(chosen)
    if found is not None:
        raise SystemExit(f"{found}\nthrough the engine")
    seconds = time.monotonic() - began
    print(f"{len(chosen)} of them through the engine, no invariant broken, {seconds:.0f} s")


if __name__ == "__main__":
    main()
