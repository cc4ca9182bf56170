"""Jobs as Airflow tasks: spark-submit, and then what the job's result says."""

from __future__ import annotations

import secrets
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psutil
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException

from tidemark.lake.results import (
    maintenance_file,
    read_maintenance,
    read_result,
    write_result,
)
from tidemark.log import get_logger
from tidemark.model.names import PipelineName
from tidemark.model.result import CutResult, CutStatus
from tidemark.scheduling.connections import load_installation_for
from tidemark.scheduling.retries import failure_of, stop_on_terminal_errors
from tidemark.scheduling.submit import (
    FoldRequest,
    Submission,
    attempt_of,
    attempt_stem,
    maintenance_submission,
    submission,
    tables_named,
)
from tidemark.scheduling.xcom import PLAN, Folded, Planned
from tidemark.spec import InstallationSpec, pipeline_named
from tidemark.spec.launch import conf_folder

if TYPE_CHECKING:
    from airflow.sdk import Context

log = get_logger()


class _JobOperator(SparkSubmitOperator):
    """Submits a job of a pipeline in client mode.

    Where jars, state and Spark are is known to the machine that runs the task and not to the one
    that parses the DAG, so the arguments of spark-submit are filled in when it runs.
    """

    def __init__(self, *, pipeline: PipelineName, **arguments: Any) -> None:
        super().__init__(deploy_mode="client", **arguments)
        self.pipeline = pipeline

    def _submit(self, context: Context, submitted: Submission) -> AirflowException | None:
        """Run the job to its end; what spark-submit raised where it failed."""
        self.application = submitted.application
        self.application_args = list(submitted.application_args)
        self.name = submitted.name
        self.driver_class_path = submitted.driver_class_path
        self.conf = dict(submitted.conf)
        self.env_vars = {"PYSPARK_PYTHON": sys.executable, "SPARK_CONF_DIR": conf_folder()}
        try:
            super().execute(context)
        except AirflowException as error:
            return error
        return None

    def on_kill(self) -> None:
        """End whatever the task has started, when it is stopped or takes too long.

        The provider ends spark-submit; a driver that hangs would live on.
        """
        started = psutil.Process().children(recursive=True)
        super().on_kill()
        for process in started:
            with suppress(psutil.NoSuchProcess):
                process.kill()


class FoldOperator(_JobOperator):
    """Submits `jobs.cut` for the order that plan left."""

    _order: FoldRequest | None = None

    def execute(self, context: Context) -> Folded:  # type: ignore[override]  # it returns nothing
        """Run the job; its attempt, status and counts, for the tasks after this one."""
        task = context["ti"]
        planned: Planned = task.xcom_pull(task_ids=PLAN, key=PLAN)
        attempt = attempt_of(planned["stem"], task.try_number)
        order = FoldRequest(
            *(attempt, planned["until"], tuple(planned["tables"]), planned["reason"]),
            dry_run=planned.get("dry_run", False),
            tag=planned.get("tag", ""),
        )
        with stop_on_terminal_errors():
            pipeline, installation = (
                pipeline_named(self.pipeline),
                load_installation_for(self.pipeline),
            )
        self._order = order
        failure = self._submit(context, submission(pipeline, installation, order))
        result = read_result(order.result(installation.state, pipeline.name))
        if failure is not None:
            self._leave_result(installation)
        return _conclude(result, failure)

    def on_kill(self) -> None:
        """As any job, and tell of the attempt, for `tidemark status` and the page."""
        super().on_kill()
        self._leave_result(load_installation_for(self.pipeline))

    def _leave_result(self, installation: InstallationSpec) -> None:
        """Have the attempt a result, where its job died before it left one."""
        if self._order is None:
            return
        file = self._order.result(installation.state, self.pipeline)
        if read_result(file) is None:
            write_result(CutResult.died(self._order.attempt), file)


class MaintainOperator(_JobOperator):
    """Submits `jobs.maintain`."""

    def execute(self, context: Context) -> dict[str, int]:  # type: ignore[override]  # as above
        """Run the job; what it did in all, and how many tables it left for the next run."""
        with stop_on_terminal_errors():
            pipeline, installation = (
                pipeline_named(self.pipeline),
                load_installation_for(self.pipeline),
            )
            tables = tables_named(context["params"]["tables"])
        run = attempt_stem(context["run_id"], secrets.token_hex(3))
        file = maintenance_file(installation.state, pipeline.name, run)
        submitted = maintenance_submission(pipeline, installation, run, tables)
        failure = self._submit(context, submitted)
        result = read_maintenance(file)
        if failure is not None:
            raise failure_of(result, failure) from failure
        if result is None:
            raise AirflowException("the job ended well and left no result")
        for table in result.tables:
            if table.skipped:
                log.warning("maintenance_skipped", table=table.table, why=table.skipped)
        counts = ("rewritten", "deletes", "manifests", "expired", "orphans", "removed")
        done = {name: sum(getattr(table, name) for table in result.tables) for name in counts}
        return {**done, "skipped": sum(bool(table.skipped) for table in result.tables)}


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
