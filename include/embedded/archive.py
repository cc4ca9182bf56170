"""The archive of the classes that a cut uses, which Spark's JVM starts from (`spec.launch`).

The JVM writes it at the end of a rehearsal, a run of the product itself in a folder of its own.
"""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from embedded.broker import running_broker
from embedded.home import embedded_environment
from embedded.process import Program, tethered
from tidemark.errors import ServiceError, TidemarkError
from tidemark.jars.fetch import JarSet
from tidemark.jars.java import java_command
from tidemark.log import configure
from tidemark.spec import load_installation
from tidemark.spec.launch import (
    ARCHIVE_OPTION,
    CLASS_PATH,
    JAVA_OPTIONS,
    LOCAL_FILES,
    SILENT,
    archive_of,
    archived_class_path,
    spark_home,
)

REHEARSAL = Path(__file__).with_name("rehearsal.py")
REHEARSAL_SECONDS = 600


def make_archive(jars: Path) -> Path | None:
    """The archive of the Spark jars below ``jars``; recreated only if the JVM refuses it.

    None where the JVM has no classes of its own in an archive, for ours would build on that one.
    Raises ServiceError when the rehearsal fails; then there is no archive.
    """
    spark = jars / JarSet.SPARK
    archive = archive_of(spark)
    if is_current(archive, spark):
        return archive
    archive.unlink(missing_ok=True)  # the rehearsal runs without one
    if not _accepts():
        return None
    with tempfile.TemporaryDirectory(dir=jars, prefix=".rehearsal-") as folder:
        sys.stderr.write("making the archive of classes that Spark starts from, once\n")
        made = Path(folder) / archive.name
        _rehearse(jars, Path(folder), made)
        made.replace(archive)  # at once: a JVM that maps half an archive dies
    return archive


def is_current(archive: Path, spark: Path) -> bool:
    """Whether the JVM of this machine starts from ``archive`` with the jars as they are now."""
    return archive.exists() and _accepts(
        f"{ARCHIVE_OPTION}{archive}", *SILENT.split(), "-cp", archived_class_path(spark)
    )


def _accepts(*options: str) -> bool:
    """Whether the JVM starts from its archives, and would rather not start than without them."""
    with tempfile.TemporaryDirectory() as folder:  # where it tells of its death by half an archive
        asked = subprocess.run(  # noqa: S603  every argument is ours
            [java_command(), "-Xshare:on", *options, "-version"],
            cwd=folder,
            capture_output=True,
            check=False,
        )
    return asked.returncode == 0


def _rehearse(jars: Path, folder: Path, archive: Path) -> None:
    with running_broker(folder, jars) as servers:
        settings = embedded_environment(folder, servers, jars)
        os.environ.update(settings, PYSPARK_PYTHON=sys.executable)
        log = folder / "rehearsal.log"
        program = Program(_command(archive), log, folder / "rehearsal.pid")
        code = None
        with tethered(program) as rehearsal, suppress(subprocess.TimeoutExpired):
            code = rehearsal.wait(REHEARSAL_SECONDS)
    if code != 0 or not archive.exists():
        moved_log = jars / log.name
        log.replace(moved_log)
        raise ServiceError(
            "the rehearsal did not end in time"
            if code is None
            else f"the rehearsal ended with code {code}",
            state="there is no archive of classes, so Spark starts more slowly",
            next_step=f"read {moved_log}; to try again: make setup",
        )


def _command(archive: Path) -> list[str]:
    spark = load_installation().spark
    write = shlex.quote(f"-XX:ArchiveClassesAtExit={archive}")
    conf = {
        **LOCAL_FILES,
        **spark.conf,
        CLASS_PATH: archived_class_path(spark.jars),
        JAVA_OPTIONS: f"{spark.conf.get(JAVA_OPTIONS, '')} {write}".lstrip(),
    }
    arguments = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    submit = spark_home() / "bin" / "spark-submit"
    return [str(submit), "--master", "local[*]", *arguments, str(REHEARSAL)]


def main() -> None:
    """Make the archive if there is none that fits; without it everything works all the same."""
    configure(level=logging.WARNING)
    parser = argparse.ArgumentParser(prog="python -m embedded.archive")
    parser.add_argument("jars", type=Path, help="folder of all fetched sets")
    make_archive(parser.parse_args().jars.resolve())


if __name__ == "__main__":
    try:
        main()
    except TidemarkError as error:
        sys.stderr.write(f"{error}\n")
