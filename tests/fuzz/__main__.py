"""``python -m tests.fuzz``: every target in a process of its own, for some seconds each."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

FOUND = Path(".state") / "fuzz"
LONGEST = 4096
SLOW_SECONDS = 5


def main() -> None:
    """Exit code 1 when a target failed; its input is kept, and the message says where."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("targets", nargs="*", help="all, if none is named")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _fuzz(options.targets[0], options.seconds)
    FOUND.mkdir(parents=True, exist_ok=True)
    from tests.fuzz.targets import TARGETS

    names = options.targets or list(TARGETS)
    arguments = ["--child", "--seconds", str(options.seconds)]
    failed = [
        name
        for name in names
        if subprocess.run([sys.executable, "-m", "tests.fuzz", name, *arguments]).returncode
    ]
    if failed:
        raise SystemExit(f"{', '.join(failed)}: the input is in {FOUND}")


def _fuzz(name: str, seconds: int) -> None:
    """Does not return: the fuzzer ends the process."""
    import atheris  # type: ignore[import-untyped]

    with atheris.instrument_imports(include=["tidemark", "sqlglot"]):
        from tests.fuzz.targets import TARGETS, runner
    target = TARGETS[name]
    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    if not target.is_document:
        for number, text in enumerate(target.seeds()):
            (folder / str(number)).write_bytes(text.encode()[:LONGEST])
    atheris.Setup(
        [
            name,
            str(folder),
            f"-max_total_time={seconds}",
            f"-max_len={LONGEST}",
            f"-timeout={SLOW_SECONDS}",
            f"-artifact_prefix={FOUND}/{name}-",
            "-verbosity=0",
            "-print_final_stats=1",
        ],
        runner(target, atheris.FuzzedDataProvider),
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
