"""What every DAG of the project has to keep, whoever adds one."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from airflow.dag_processing.dagbag import DagBag
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG
from airflow.sdk.bases.operator import BaseOperator
from airflow.serialization.decoders import decode_timetable
from airflow.serialization.encoders import encode_timetable
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import TimeRestriction

from tests.support.trigger_form import emptied, red_fields, starred_fields, untouched
from tidemark.spec import PipelineSpec, load_pipelines

DAGS = Path(__file__).parents[2] / "dags"
FAMILIES = ("cut", "maintain", "refold", "action")
BAG = DagBag(str(DAGS), collect_dags=True)
ALL = sorted(BAG.dags.values(), key=lambda dag: dag.dag_id)
TASKS = [task for dag in ALL for task in dag.tasks]

each_dag = pytest.mark.parametrize("dag", ALL, ids=lambda dag: dag.dag_id)
each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.dag_id}.{task.task_id}")


def test_every_file_is_read_without_errors() -> None:
    assert BAG.import_errors == {}


def test_every_pipeline_has_its_dags() -> None:
    pipelines = load_pipelines()
    wanted = {f"{family}__{pipeline.name}" for family in FAMILIES for pipeline in pipelines}
    wanted |= {f"resync__{p.name}" for p in pipelines if not p.source.format.is_canal}
    assert set(BAG.dags) == wanted


@pytest.mark.parametrize("pipeline", load_pipelines(), ids=lambda pipeline: pipeline.name)
def test_maintenance_of_a_new_pipeline_waits_for_its_hour(pipeline: PipelineSpec) -> None:
    """A stack that is started at noon does not begin with all of the night's work."""
    dag = BAG.dags[f"maintain__{pipeline.name}"]
    timetable = decode_timetable(encode_timetable(dag.timetable))
    assert dag.start_date is None, "a start that is past would have a run made up for"
    first = timetable.next_dagrun_info(
        last_automated_data_interval=None, restriction=TimeRestriction(None, None, catchup=False)
    )
    assert first is not None
    assert first.run_after > datetime.now(UTC)


@each_dag
def test_runs_never_overlap(dag: DAG) -> None:
    assert dag.max_active_runs == 1, (
        f"{dag.dag_id}: max_active_runs={dag.max_active_runs}, so two runs may stage one cut; "
        "build it as tidemark.scheduling.dags does, which sets 1"
    )


@each_dag
def test_nothing_is_caught_up_unasked(dag: DAG) -> None:
    assert not dag.catchup, f"{dag.dag_id}: missed intervals are backfilled by a person, not alone"


@each_dag
def test_its_runs_end_though_they_wait_for_a_slot_for_ever(dag: DAG) -> None:
    assert dag.dagrun_timeout is not None
    assert dag.dagrun_timeout >= timedelta(hours=12) * len(dag.tasks)


@each_dag
def test_it_says_what_it_is_for(dag: DAG) -> None:
    assert dag.doc_md
    assert dag.description
    assert {"tidemark", dag.dag_id.partition("__")[0]} <= set(dag.tags)


@each_dag
def test_its_form_can_be_sent_as_it_is(dag: DAG) -> None:
    params = {name: dag.params.get_param(name).dump() for name in dag.params}
    assert red_fields(params) == [], f"{dag.dag_id}: the button of the form is locked"
    assert starred_fields(params) == [], f"{dag.dag_id}: no field has to be filled in"
    for sent in (untouched(params), emptied(params)):
        taken = deepcopy(dag.params)
        taken.update(sent)
        assert taken.validate() == sent


@each_dag
def test_its_form_explains_itself(dag: DAG) -> None:
    for name in dag.params:
        param = dag.params.get_param(name)
        assert param.description, f"{dag.dag_id}: parameter {name} explains nothing in the form"
        assert param.schema.get("type"), f"{dag.dag_id}: parameter {name} takes anything"


@each_task
def test_it_waits_for_nothing_that_somebody_has_to_make(task: BaseOperator) -> None:
    assert task.pool == "default_pool", f"{task.task_id}: where pool {task.pool} lacks, it hangs"
    assert task.max_active_tis_per_dag == 1


@each_task
def test_it_is_owned_and_tried_again(task: BaseOperator) -> None:
    assert task.owner not in {"", "airflow"}, f"{task.task_id}: nobody is asked when it stops"
    assert task.retries
    assert task.retry_delay.total_seconds() >= 30


@each_task
def test_it_ends_though_it_hangs(task: BaseOperator) -> None:
    assert task.execution_timeout == timedelta(hours=12)


@each_task
def test_only_a_fold_and_maintenance_start_a_jvm(task: BaseOperator) -> None:
    assert isinstance(task, SparkSubmitOperator) == (task.task_id in {"fold", "maintain"})


LATE = """\
# A DAG file of somebody's own: who is told when a run is late.
from airflow.providers.smtp.notifications.smtp import SmtpNotifier
from airflow.sdk import AsyncCallback

from tidemark.scheduling.dags import build_cut_dags

build_cut_dags(late=AsyncCallback(SmtpNotifier, {"to": "sales-data@example.org"}))
"""


def test_airflow_stores_what_it_calls_when_a_run_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipelines, dags = tmp_path / "pipelines", tmp_path / "dags"
    for folder in (pipelines, dags):
        folder.mkdir()
    shop = load_pipelines()[-1]
    declared = shop.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    text = yaml.safe_dump({**declared, "freshness": "2 h"})
    (pipelines / f"{shop.name}.yaml").write_text(text)
    (dags / "cut.py").write_text(LATE)
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(pipelines))
    bag = DagBag(str(dags), collect_dags=True)
    assert bag.import_errors == {}
    stored = DagSerialization.to_dict(bag.dags[f"cut__{shop.name}"])["dag"]
    (alert,) = stored["deadline"]
    assert (alert["name"], alert["interval"]["__data__"]) == ("freshness", 7_200)
    called = alert["callback"]["__data__"]
    assert called["path"] == "airflow.providers.smtp.notifications.smtp.SmtpNotifier"
    assert called["kwargs"] == {"to": "sales-data@example.org"}
