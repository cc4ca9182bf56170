"""The fold as an Airflow task: spark-submit, and then what the job's result says."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException

from tidemark.lake.results import read_result, result_file, write_result
from tidemark.log import get_logger
from tidemark.model.names import PipelineName
from tidemark.model.result import CutResult, CutStatus
from tidemark.scheduling.retries import failure_of, stop_on_terminal_errors
from tidemark.scheduling.submit import (
    FoldRequest,
    Submission,
    attempt_of,
    submission,
)
from tidemark.scheduling.xcom import PLAN, Folded, Planned
from tidemark.spec import load_installation, pipeline_named
from tidemark.spec.launch import conf_folder

if TYPE_CHECKING:
    from airflow.sdk import Context

log = get_logger()


class FoldOperator(SparkSubmitOperator):
    """Submits `jobs.cut` in client mode for the order that plan left.

    Where jars, state and Spark are is known to the machine that runs the task and not to the one
    that parses the DAG, so the arguments of spark-submit are filled in when it runs.
    """

    def __init__(self, *, pipeline: PipelineName, **arguments: Any) -> None:
        super().__init__(deploy_mode="client", **arguments)
        self.pipeline = pipeline

    def execute(self, context: Context) -> Folded:  # type: ignore[override]  # it returns nothing
        """Run the job; its attempt, status and counts, for the tasks after this one."""
        task = context["ti"]
        planned: Planned = task.xcom_pull(task_ids=PLAN, key=PLAN)
        attempt = attempt_of(planned["stem"], task.try_number)
        order = FoldRequest(attempt, planned["until"], tuple(planned["tables"]), planned["reason"])
        with stop_on_terminal_errors():
            pipeline, installation = pipeline_named(self.pipeline), load_installation()
        file = result_file(installation.state, pipeline.name, attempt)
        self._fill_in(submission(pipeline, installation, order))
        failure: AirflowException | None = None
        try:
            super().execute(context)
        except AirflowException as error:
            failure = error
        result = read_result(file)
        if result is None and failure is not None:
            write_result(CutResult.died(attempt), file)
        return _conclude(result, failure)

    def _fill_in(self, submitted: Submission) -> None:
        self.application = submitted.application
        self.application_args = list(submitted.application_args)
        self.name = submitted.name
        self.driver_class_path = submitted.driver_class_path
        self.conf = dict(submitted.conf)
        self.env_vars = {"PYSPARK_PYTHON": sys.executable, "SPARK_CONF_DIR": conf_folder()}


def _conclude(result: CutResult | None, failure: AirflowException | None) -> Folded:
    """What the job's result means for the task; raises what the task has to end with."""
    # A cut that its audit blocks was folded well: to say no is the next task's part.
    blocked = result is not None and result.status is CutStatus.BLOCKED
    if failure is not None and not blocked:
        raise failure_of(result, failure) from failure
    if result is None:
        raise AirflowException("the job ended well and left no result")
    log.info("cut_folded", cut=result.cut, status=result.status, hold=result.hold)
    return Folded(
        attempt=result.attempt,
        status=result.status.value,
        cut=result.cut,
        tables=len(result.tables),
        hold=result.hold,
    )
