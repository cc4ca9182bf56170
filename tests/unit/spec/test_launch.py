"""With what the driver's JVM starts: the jars, and the archive where there is one."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tidemark.spec.launch import (
    CLASS_PATH,
    JAVA_OPTIONS,
    LOCAL_FILES,
    archive_of,
    archived_class_path,
    launch_arguments,
    launch_settings,
)

MINE = "-XX:SharedArchiveFile=/mine.jsa"


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    """A folder of jars whose name has to be quoted, without an archive."""
    folder = tmp_path / "it's all here" / "spark"
    folder.mkdir(parents=True)
    return folder


def test_without_an_archive_jars_are_all_that_is_added(jars: Path) -> None:
    assert launch_settings(jars, {}) == {**LOCAL_FILES, CLASS_PATH: f"{jars}/*"}
    assert launch_settings(jars, {JAVA_OPTIONS: "-Xss4m"}) == {
        **LOCAL_FILES,
        CLASS_PATH: f"{jars}/*",
        JAVA_OPTIONS: "-Xss4m",
    }


def test_an_archive_is_used_with_the_class_path_it_is_made_for(jars: Path) -> None:
    archive_of(jars).touch()
    launched = launch_settings(jars, {JAVA_OPTIONS: "-Xss4m"})
    assert launched[CLASS_PATH] == archived_class_path(jars)
    first, archive, *silent = shlex.split(launched[JAVA_OPTIONS])
    assert (first, archive) == ("-Xss4m", f"-XX:SharedArchiveFile={archive_of(jars)}")
    assert silent
    assert all(option.startswith("-Xlog:cds") for option in silent)


def test_an_archive_that_the_settings_name_stays(jars: Path) -> None:
    archive_of(jars).touch()
    launched = launch_settings(jars, {JAVA_OPTIONS: MINE})
    assert launched == {**LOCAL_FILES, CLASS_PATH: f"{jars}/*", JAVA_OPTIONS: MINE}


def test_a_file_system_that_the_settings_name_stays(jars: Path) -> None:
    chosen = dict.fromkeys(LOCAL_FILES, "org.apache.hadoop.fs.LocalFileSystem")
    assert launch_settings(jars, chosen) == {**chosen, CLASS_PATH: f"{jars}/*"}


@pytest.mark.parametrize("is_archived", [False, True], ids=["no archive", "archive"])
def test_a_class_path_of_the_settings_comes_after_the_jars(jars: Path, is_archived: bool) -> None:
    if is_archived:
        archive_of(jars).touch()
    class_path = launch_settings(jars, {CLASS_PATH: "/more/*"})[CLASS_PATH]
    assert class_path.startswith(f"{jars}/*")
    assert class_path.endswith(":/more/*")


@pytest.mark.parametrize("is_archived", [False, True], ids=["no archive", "archive"])
def test_jars_of_s3_come_behind_those_of_spark(jars: Path, is_archived: bool) -> None:
    if is_archived:
        archive_of(jars).touch()
    class_path = launch_settings(jars, {CLASS_PATH: "/more/*"}, on_s3=True)[CLASS_PATH]
    assert class_path == f"{archived_class_path(jars)}:/more/*:{jars.parent}/s3/*"


def test_arguments_are_what_a_jvm_needs_and_no_secret() -> None:
    given = {
        "spark.driver.memory": "1g",
        "spark.driver.keystore.password": "hunter2",
        "spark.sql.catalog.lake.jdbc.password": "hunter2",
        "spark.sql.catalog.lake.uri": "jdbc:postgresql://db/lake",
        **LOCAL_FILES,
    }
    assert launch_arguments(given) == {"spark.driver.memory": "1g", **LOCAL_FILES}


def test_an_archive_is_no_jar_of_its_set(jars: Path) -> None:
    assert archive_of(jars).parent == jars.parent


def test_spark_is_the_one_that_the_environment_names(
    jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert archived_class_path(jars) == f"{jars}/*:/opt/spark/jars/*"
