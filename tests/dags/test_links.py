"""Where the page serves Data Docs, and the button that leads there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization

from tidemark.scheduling.dags import build_cut_dag
from tidemark.scheduling.links import DataDocsLink
from tidemark.spec import load_pipelines

(PIPELINE, *_) = load_pipelines()


@pytest.mark.parametrize(
    ("base", "link"),
    [
        ("", ""),
        (
            "https://air.example/team/",
            f"https://air.example/team/tidemark/pipelines/{PIPELINE.name}/docs/",
        ),
        (
            "http://localhost:8080",
            f"http://localhost:8080/tidemark/pipelines/{PIPELINE.name}/docs/",
        ),
    ],
)
def test_button_leads_to_the_page_where_its_address_is_known(
    monkeypatch: pytest.MonkeyPatch, base: str, link: str
) -> None:
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", base)
    task = SimpleNamespace(op_kwargs={"pipeline": PIPELINE.name})
    assert DataDocsLink().get_link(task, ti_key=None) == link


def test_airflow_knows_the_button_of_the_audit() -> None:
    dag: DAG = build_cut_dag(PIPELINE)
    known = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    assert known.get_task("audit").extra_links == ["Data Docs"]
