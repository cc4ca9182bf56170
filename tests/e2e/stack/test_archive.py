"""The archive of classes: setup leaves one that Java takes; a stale one does not matter."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded.archive import is_current, make_archive
from tidemark.jars.java import java_command
from tidemark.spec.launch import CLASS_PATH, JAVA_OPTIONS, archive_of, launch_settings


@pytest.fixture
def copied(jars: Path, tmp_path: Path) -> Path:
    """The Spark jars and their archive in a folder that a test may spoil."""
    spark = tmp_path / "spark"
    spark.mkdir()
    for jar in (jars / "spark").glob("*.jar"):
        (spark / jar.name).symlink_to(jar.resolve())
    shutil.copy(archive_of(jars / "spark"), archive_of(spark))
    archive_of(spark).chmod(0o600)
    return spark


def java_says(spark: Path) -> tuple[int, str]:
    """Exit code and words of a JVM that starts as Spark's would, but for what it shares."""
    launched = launch_settings(spark, {})
    options = shlex.split(launched.get(JAVA_OPTIONS, ""))
    command = [java_command(), *options, "-cp", launched[CLASS_PATH], "-version"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.returncode, (ended.stdout + ended.stderr).replace(", sharing", "")


def test_setup_leaves_an_archive_that_is_not_made_again(jars: Path) -> None:
    before = archive_of(jars / "spark").stat().st_ino
    made = make_archive(jars.resolve())
    assert made is not None
    assert made.stat().st_ino == before


def add_a_jar(spark: Path) -> None:
    shutil.copy(next(spark.glob("commons-pool2-*.jar")), spark / "another.jar")


def change_a_jar(spark: Path) -> None:
    jar = next(spark.glob("commons-pool2-*.jar"))
    content = jar.read_bytes()
    jar.unlink()
    jar.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(add_a_jar, id="another jar"),
        pytest.param(change_a_jar, id="a jar of another time"),
        pytest.param(lambda spark: archive_of(spark).write_text("no archive"), id="another file"),
    ],
)
def test_a_stale_archive_is_passed_over_in_silence(
    copied: Path, spoil: Callable[[Path], object]
) -> None:
    assert is_current(archive_of(copied), copied)
    spoil(copied)
    assert not is_current(archive_of(copied), copied)
    with_it = java_says(copied)
    archive_of(copied).unlink()
    assert not is_current(archive_of(copied), copied)
    assert with_it == java_says(copied)
    assert with_it[0] == 0
