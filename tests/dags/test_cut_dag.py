"""From a pipeline file to the graph, form, schedule and words of its DAG."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.providers.smtp.notifications.smtp import SmtpNotifier
from airflow.sdk import DAG, Asset, CronDataIntervalTimetable
from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineReference
from airflow.sdk.exceptions import ParamValidationError

from tidemark.scheduling.audit_operator import AuditOperator
from tidemark.scheduling.dags import build_cut_dag
from tidemark.scheduling.submit import CUT_JOB
from tidemark.spec import PipelineSpec

SHOP: dict[str, Any] = {
    "name": "shop",
    "description": "What the web shop sold.",
    "owner": "sales-data",
    "schedule": "*/10 * * * *",
    "start-date": "2026-01-01",
    "source": {
        "format": "ticdc-canal-json",
        "gate": "watermark",
        "topics": {"data": ["shop"]},
    },
    "target-namespace": "web",
    "tables": [
        {"source": "shop.orders", "expectations": "orders"},
        {"source": "shop.odd|`name`", "target": "odd names", "expectations": "none"},
    ],
}


def dag_of(**fields: Any) -> DAG:
    return build_cut_dag(PipelineSpec.model_validate({**SHOP, **fields}))


def test_tasks_follow_each_other() -> None:
    dag = dag_of()
    assert dag.dag_id == "cut__shop"
    assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {
        "plan": {"fold"},
        "fold": {"audit"},
        "audit": {"publish"},
        "publish": set(),
    }
    assert {task.owner for task in dag.tasks} == {"sales-data"}


def test_the_audit_is_where_somebody_is_asked() -> None:
    """PUB-7: before anything is published; the form of the answer has a field for the reason."""
    audit = dag_of(limits={"task-timeout": 90}).get_task("audit")
    assert isinstance(audit, AuditOperator)
    assert audit.options == ["Publish", "Discard"]
    assert audit.response_timeout == timedelta(minutes=90)
    assert audit.execution_timeout == timedelta(minutes=90), "of its own work, not of the answer"
    assert list(audit.params) == ["reason"]


def test_stall_fails_a_task_behind_what_is_published() -> None:
    """GATE-O1: Airflow makes asset events of a task that ends well, so publish has to."""
    dag = dag_of(limits={"when-stalled": "fail"})
    assert dag.get_task("publish").downstream_task_ids == {"stall"}
    stall = dag.get_task("stall")
    assert (stall.downstream_task_ids, stall.outlets, stall.retries) == (set(), [], 2)


def test_schedule_has_intervals_that_can_cap_a_cut() -> None:
    dag = dag_of()
    assert isinstance(dag.schedule, CronDataIntervalTimetable)
    assert dag.start_date == datetime(2026, 1, 1, tzinfo=UTC)


def test_a_run_is_late_once_its_tables_are_older_than_the_file_allows() -> None:
    late = AsyncCallback(SmtpNotifier, {"to": "sales-data@example.org"})
    spec = PipelineSpec.model_validate({**SHOP, "freshness": "45 min"})
    declared = build_cut_dag(spec, late).deadline
    assert isinstance(declared, list)
    (alert,) = declared
    assert (alert.interval, alert.callback) == (timedelta(minutes=45), late)
    assert alert.reference == DeadlineReference.DAGRUN_QUEUED_AT
    assert build_cut_dag(spec).deadline is None, "nobody is to be called"
    assert build_cut_dag(PipelineSpec.model_validate(SHOP), late).deadline is None, "no limit"


@pytest.mark.parametrize(("stalled", "tasks"), [("warn", 4), ("fail", 5)])
def test_a_run_has_the_time_of_all_tries_of_its_tasks(stalled: str, tasks: int) -> None:
    dag = dag_of(limits={"task-timeout": 9, "when-stalled": stalled})
    assert dag.dagrun_timeout == tasks * 3 * timedelta(minutes=9 + 1)


def test_pipeline_without_schedule_runs_by_hand_alone() -> None:
    dag = dag_of(schedule=None, **{"start-date": None})
    assert dag.schedule is None
    assert dag.start_date is None


def test_every_target_is_an_outlet_of_publish() -> None:
    dag = dag_of()
    outlets = dag.get_task("publish").outlets
    assert [(each.name, each.uri) for each in outlets if isinstance(each, Asset)] == [
        ("web.orders", "iceberg://web/orders"),
        ("web.odd names", "iceberg://web/odd%20names"),
    ]
    assert all(not task.outlets for task in dag.tasks if task.task_id != "publish")


def test_words_of_the_file_are_shown() -> None:
    doc = dag_of().doc_md
    assert doc is not None
    assert doc.startswith("What the web shop sold.\n")
    assert "| `shop.orders` | `web.orders` | apply | orders |" in doc
    assert r"| `shop.odd\|'name'` | `web.odd names` | apply | none |" in doc
    assert "followed" not in doc


def test_other_tables_that_are_followed_are_mentioned() -> None:
    assert "Every other table" in (dag_of(**{"other-tables": "follow"}).doc_md or "")


@pytest.mark.parametrize(
    "answers",
    [
        {"until": None},
        {"until": "2026-11-21T13:00:00+00:00"},
        {"until": "2026-11-21T13:00:00.000Z"},
        {"until": "458911423758336001"},
        {"tables": None},
        {"tables": []},
        {"tables": ["shop.orders"]},
        {"reason": None},
        {"reason": ""},
        {"reason": "the suite was fixed"},
        {"hold": True},
        {"dry_run": None},
        {"dry_run": True},
    ],
    ids=str,
)
def test_form_accepts(answers: dict[str, Any]) -> None:
    dag = dag_of()
    dag.params.update(answers)
    dag.params.validate()


@pytest.mark.parametrize(
    "answers",
    [
        {"until": "yesterday"},
        {"until": "2026-11-21T13:00:00Z, or so"},
        {"until": "45891142375"},
        {"until": 5},
        {"tables": ["shop.customers"]},
        {"tables": ["shop.orders", "shop.orders"]},
        {"reason": 5},
        {"reason": "x" * 501},
        {"dry_run": "yes"},
    ],
    ids=lambda answers: str(answers)[:40],
)
def test_form_refuses(answers: dict[str, Any]) -> None:
    dag = dag_of()
    with pytest.raises(ParamValidationError):
        dag.params.update(answers)


CANAL = {"format": "canal-json", "gate": "none", "topics": {"data": ["shop"]}}


@pytest.mark.parametrize(
    ("source", "takes"),
    [
        (SHOP["source"], "a commitTs such as 458911423758336001"),
        ({**CANAL, "format": "debezium-mariadb"}, "such as binlog.000003:1547"),
        ({**CANAL, "format": "debezium-postgres"}, "such as 0/16B3748"),
    ],
    ids=["tidb", "mariadb", "postgres"],
)
def test_form_asks_for_a_position_as_the_source_shows_it(
    source: dict[str, Any], takes: str
) -> None:
    dag = dag_of(source=source)
    asked = dag.params.get_param("until")
    assert takes in str(asked.description)
    assert "format" not in asked.schema, "the calendar of the form would take nothing but a time"
    dag.params.update({"until": takes.split()[-1]})
    dag.params.validate()


def test_form_has_a_calendar_where_there_is_nothing_but_time() -> None:
    asked = dag_of(source=CANAL).params.get_param("until")
    assert asked.schema["format"] == "date-time"
    assert "position" not in str(asked.description)


def test_form_of_a_pipeline_that_follows_takes_any_table() -> None:
    dag = dag_of(**{"other-tables": "follow"})
    dag.params.update({"tables": ["shop.customers"]})
    dag.params.validate()


def test_job_that_is_submitted_is_there() -> None:
    assert CUT_JOB.is_file()
