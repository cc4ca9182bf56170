"""The jars of jars.xml, each one the very file that jars.lock names by SHA-256.

A set lies in a folder of its own below the jars folder (``JARS/spark``, ``JARS/broker``), because
the sets hold different versions of the same library.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import find_spec
from itertools import repeat
from pathlib import Path

from tidemark.errors import JarsError
from tidemark.jars.java import java_command

DECLARATION = Path(__file__).with_name("jars.xml")
LOCK = Path(__file__).with_name("jars.lock")


class JarSet(StrEnum):
    """A configuration of jars.xml."""

    SPARK = "spark"
    S3 = "s3"
    BROKER = "broker"


def fetch_jars(jar_set: JarSet, into: Path, *, lock: Path = LOCK) -> Path:
    """Folder ``into/<set>`` with exactly the locked jars; downloads only if it is not so already.

    Raises JarsError when a jar cannot be had or is not the locked one; then ``into/<set>`` is
    as it was.
    """
    folder, locked = into / jar_set, read_lock(jar_set, lock)
    if not _faults(folder, locked):
        return folder
    into.mkdir(parents=True, exist_ok=True)
    with _resolved(jar_set, beside=into) as downloaded:
        _require_none(jar_set, _faults(downloaded, locked))
        shutil.rmtree(folder, ignore_errors=True)
        downloaded.rename(folder)
    return folder


def verify_jars(jar_set: JarSet, jars: Path, *, lock: Path = LOCK) -> list[Path]:
    """Class path of a fetched set, after each of its jars matched the lock. Raises JarsError."""
    folder, locked = jars / jar_set, read_lock(jar_set, lock)
    _require_none(jar_set, _faults(folder, locked))
    return [folder / name for name in sorted(locked)]


def jar_faults(jar_set: JarSet, folder: Path, *, lock: Path = LOCK) -> list[str]:
    """How ``folder`` differs from the locked jars of a set, one sentence per jar."""
    return _faults(folder, read_lock(jar_set, lock))


def read_lock(jar_set: JarSet, lock: Path = LOCK) -> dict[str, str]:
    """File name -> SHA-256 of every jar of a set."""
    entries = (line.split(maxsplit=1) for line in lock.read_text().splitlines())
    prefix = f"{jar_set}/"
    return {
        path.removeprefix(prefix): digest for digest, path in entries if path.startswith(prefix)
    }


def write_lock(lock: Path = LOCK) -> None:
    """Resolve every set anew and record what came, in the form that sha256sum --check reads."""
    lines: list[str] = []
    for jar_set in JarSet:
        with _resolved(jar_set, beside=lock.parent) as downloaded:
            for jar in sorted(downloaded.iterdir()):
                lines.append(f"{_sha256(jar)}  {jar_set}/{jar.name}\n")
    lock.write_text("".join(lines))


def _faults(folder: Path, locked: Mapping[str, str]) -> list[str]:
    present = {path.name for path in folder.glob("*")}
    faults = [f"{folder / name} is missing" for name in sorted(locked.keys() - present)]
    faults += [f"{folder / name} is not locked" for name in sorted(present - locked.keys())]
    for name in sorted(present & locked.keys()):
        digest = _sha256(folder / name)
        if digest != locked[name]:
            faults.append(f"{folder / name} has SHA-256 {digest}, locked is {locked[name]}")
    return faults


def _require_none(jar_set: JarSet, faults: list[str]) -> None:
    if not faults:
        return
    others = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    raise JarsError(
        f"the {jar_set} jars are not those of {LOCK.name}: {faults[0]}{others}",
        state="nothing was started",
        next_step="fetch them again: make setup; if jars.xml was changed on purpose, write the "
        "lock: python -m tidemark.jars lock",
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as jar:
        return hashlib.file_digest(jar, "sha256").hexdigest()


@contextmanager
def _resolved(jar_set: JarSet, *, beside: Path) -> Iterator[Path]:
    """Folder with a set as Ivy resolves it now, without what other builds left in a cache."""
    with tempfile.TemporaryDirectory(dir=beside, prefix=".ivy-") as work:
        folder = Path(work) / "jars"
        outcome = subprocess.run(  # noqa: S603  every argument is ours
            [
                java_command(),
                *("-jar", str(_ivy_jar())),
                *("-ivy", str(DECLARATION), "-confs", jar_set),
                *("-cache", os.path.join(work, "cache"), "-types", "jar", "bundle"),
                *("-retrieve", f"{folder}/[artifact]-[revision].[ext]"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if outcome.returncode != 0:
            raise _unresolved(jar_set, outcome.stdout + outcome.stderr)
        yield folder


def _ivy_jar() -> Path:
    spec = find_spec("pyspark")
    roots = spec.submodule_search_locations if spec else None
    jars = [jar for root in roots or () for jar in Path(root).glob("jars/ivy-*.jar")]
    if not jars:
        raise JarsError(
            "pyspark, which brings Ivy to fetch jars with, is not installed",
            state="nothing was fetched",
            next_step="make setup",
        )
    return jars[0]


def _unresolved(jar_set: JarSet, output: str) -> JarsError:
    reasons = re.findall(r"^\s*(?:::\s*)?(\S+#\S+: .+|.*(?:FAILED|Exception).*)$", output, re.M)
    return JarsError(
        f"Ivy could not fetch the {jar_set} jars: {'; '.join(reasons[:3]) or output[-400:]}",
        state="no jar was replaced",
        next_step=f"check the network and the coordinates in {DECLARATION}, and fetch again",
    )


def main() -> None:
    """Fetch sets into a folder, or write the lock."""
    parser = argparse.ArgumentParser(prog="python -m tidemark.jars")
    verbs = parser.add_subparsers(dest="verb", required=True)
    fetch = verbs.add_parser("fetch", help="fetch what is missing, and verify all")
    fetch.add_argument("into", type=Path, help="folder that holds a folder per set")
    fetch.add_argument("sets", nargs="*", type=JarSet, default=tuple(JarSet), help="which sets")
    verbs.add_parser("lock", help="resolve jars.xml anew and write jars.lock")
    arguments = parser.parse_args()
    if arguments.verb == "lock":
        write_lock()
    else:
        with ThreadPoolExecutor() as threads:  # most of the time is waiting for the registry
            list(threads.map(fetch_jars, arguments.sets, repeat(arguments.into.resolve())))
