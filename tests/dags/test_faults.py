"""A pipeline file with faults takes its own DAG away and no other one."""

from __future__ import annotations

from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag

from tests.dags.test_parse_budget import PIPELINE, TABLE

DAGS = Path(__file__).parents[2] / "dags"


def write(folder: Path, name: str, *, table: str, more: str = "") -> None:
    text = PIPELINE.format(name=name) + TABLE.format(name=table, number=1) + more
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_other_pipelines_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "good", table="good")
    write(tmp_path, "typo", table="typo", more="limit: {}\n")
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(tmp_path))
    bag = DagBag(str(DAGS))
    assert set(bag.dags) == {"cut__good"}
    (shown,) = bag.import_errors.values()
    assert "typo.yaml:8 -> limit: got an unknown key" in shown
    assert "did you mean 'limits'" in shown


def test_of_two_that_share_a_target_the_first_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        write(tmp_path, name, table="shared", more="target-namespace: one\n")
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(tmp_path))
    bag = DagBag(str(DAGS))
    assert set(bag.dags) == {"cut__first"}
    (shown,) = bag.import_errors.values()
    assert "second.yaml" in shown
    assert "a target of its own" in shown
