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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Airflow's parser looks for pipeline files."""
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(tmp_path))
    return tmp_path


def read_dags() -> tuple[set[str], str]:
    """Ids of the DAGs, and the one import error that Airflow shows."""
    bag = DagBag(str(DAGS))
    (shown,) = bag.import_errors.values()
    return set(bag.dags), shown


def test_other_pipelines_go_on(folder: Path) -> None:
    write(folder, "good", table="good")
    write(folder, "typo", table="typo", more="limit: {}\n")
    dags, shown = read_dags()
    assert dags == {"cut__good", "maintain__good", "refold__good", "action__good"}
    assert "typo.yaml:8 -> limit: got an unknown key" in shown
    assert "did you mean 'limits'" in shown


def test_of_two_that_share_a_target_the_first_goes_on(folder: Path) -> None:
    for name in ("first", "second"):
        write(folder, name, table="shared", more="target-namespace: one\n")
    dags, shown = read_dags()
    assert dags == {"cut__first", "maintain__first", "refold__first", "action__first"}
    assert "second.yaml" in shown
    assert "a target of its own" in shown
