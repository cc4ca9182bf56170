"""Folders of files: the pipelines that come with the project, many at once, and what they share."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tidemark.errors import SpecError
from tidemark.model.cut import GateMode
from tidemark.spec import (
    Scope,
    load_installation,
    load_pipelines,
    load_suite,
    pipeline_named,
    selects,
)

PIPELINE = """\
name: {name}
description: One of many.
owner: data-platform
schedule: null
source:
  format: debezium-mysql
  gate: none
  topics: {{data: ['^{name}[.].*']}}
tables:
"""
TABLE = "  - {{source: {schema}.t{number}, expectations: none}}\n"
HEAVY = ("airflow", "confluent_kafka", "great_expectations", "pyiceberg", "pyspark", "sqlalchemy")


def write_pipeline(folder: Path, name: str, tables: int = 1) -> Path:
    rows = [TABLE.format(schema=name, number=number) for number in range(tables)]
    file = folder / f"{name}.yaml"
    file.write_text(PIPELINE.format(name=name) + "".join(rows))
    return file


def test_pipelines_of_the_project() -> None:
    inventory, shop = load_pipelines()
    assert (inventory.name, shop.name) == ("inventory", "shop")
    assert (inventory.source.gate, shop.source.gate) == (GateMode.NONE, GateMode.WATERMARK)
    assert [str(table.source) for table in shop.tables] == [
        "shop.customers",
        "shop.orders",
        "shop.order_lines",
    ]
    (pattern,) = inventory.source.topics.data
    assert selects(pattern, "dbserver1.inventory.orders")
    assert not selects(pattern, "dbserver1.transaction")


def test_suites_of_the_project_use_both_scopes() -> None:
    names = [table.suite for pipeline in load_pipelines() for table in pipeline.tables]
    suites = [load_suite(name) for name in names if name is not None]
    scopes = {part.scope for suite in suites for part in suite.expectations}
    assert scopes == {Scope.CHANGED, Scope.TABLE}


def test_installation_of_the_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIDEMARK_KAFKA", "127.0.0.1:9092")
    monkeypatch.setenv("TIDEMARK_CATALOG", f"sqlite:///{tmp_path}/catalog.db")
    for name in ("TIDEMARK_WAREHOUSE", "TIDEMARK_JARS", "TIDEMARK_STATE"):
        monkeypatch.setenv(name, str(tmp_path))
    installation = load_installation()
    assert (installation.catalog.name, installation.catalog.password) == ("lake", None)


def test_folders_follow_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_pipeline(tmp_path, "mine")
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(tmp_path))
    assert [pipeline.name for pipeline in load_pipelines()] == ["mine"]
    assert pipeline_named("mine").name == "mine"
    with pytest.raises(SpecError, match="got no pipeline 'main'; expected one of mine; did you"):
        pipeline_named("main")


def test_hundred_pipelines_load_in_less_than_a_second(tmp_path: Path) -> None:
    for number in range(100):
        write_pipeline(tmp_path, f"p{number}", tables=10)
    start = time.process_time()
    assert len(load_pipelines(tmp_path)) == 100
    assert time.process_time() - start < 1


def test_reading_specs_imports_nothing_heavy() -> None:
    program = "import sys, tidemark.spec; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not set(run.stdout.split()) & set(HEAVY)


def test_faults_of_all_files_come_at_once(tmp_path: Path) -> None:
    write_pipeline(tmp_path, "good")
    for name in ("bad", "worse"):
        file = write_pipeline(tmp_path, name)
        file.write_text(file.read_text().replace("owner", "ovner"))
    with pytest.raises(SpecError) as caught:
        load_pipelines(tmp_path)
    assert [line.partition(": got")[0] for line in caught.value.what.splitlines()] == [
        f"{tmp_path}/bad.yaml:1 -> owner",
        f"{tmp_path}/bad.yaml:3 -> ovner",
        f"{tmp_path}/worse.yaml:1 -> owner",
        f"{tmp_path}/worse.yaml:3 -> ovner",
    ]


def test_two_pipelines_cannot_fold_into_one_table(tmp_path: Path) -> None:
    write_pipeline(tmp_path, "one")
    file = write_pipeline(tmp_path, "two")
    file.write_text(file.read_text() + "target-namespace: one\n")
    with pytest.raises(SpecError) as caught:
        load_pipelines(tmp_path)
    assert caught.value.what == (
        f"{file}:10 -> tables[0].target: got 'one.t0'; expected a target of its own: "
        f"{tmp_path}/one.yaml folds into it"
    )


def test_other_ending_is_refused_and_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "shop.yml").touch()
    with pytest.raises(SpecError, match="shop.yml:1 -> .file.: got the ending .yml; expected"):
        load_pipelines(tmp_path)


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="got no folder; expected a folder with pipeline files"):
        load_pipelines(tmp_path / "none")
