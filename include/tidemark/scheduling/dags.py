"""From a pipeline file to its DAG; the only module that makes operators."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from airflow.providers.standard.operators.python import PythonOperator, ShortCircuitOperator
from airflow.sdk import DAG, Label, Param
from airflow.sdk.definitions.callback import Callback

from tidemark.scheduling.assets import asset_of
from tidemark.scheduling.audit_operator import REASON, AuditOperator
from tidemark.scheduling.forms import (
    action_form,
    cut_form,
    maintain_form,
    refold_form,
    resync_form,
)
from tidemark.scheduling.publish_operator import PublishOperator
from tidemark.scheduling.shown import code
from tidemark.scheduling.submit_operator import FoldOperator, MaintainOperator
from tidemark.scheduling.tasks import (
    action,
    plan,
    publish,
    refold,
    resync,
    stall,
    tell_metrics,
)
from tidemark.scheduling.timing import (
    RETRIES,
    RETRY_DELAY,
    deadline_of,
    intervals_of,
    longest_attempts,
    moments_of,
    start_of,
)
from tidemark.scheduling.xcom import (
    ACTION,
    AUDIT,
    FOLD,
    MAINTAIN,
    PLAN,
    PUBLISH,
    REFOLD,
    RESYNC,
    STALL,
)
from tidemark.spec import OtherTables, PipelineSpec, WhenStalled, sound_pipelines

UNFINISHED = ("on_retry_callback", "on_failure_callback", "on_skipped_callback")
"""What Airflow calls behind a task that did not do its work."""
MAINTENANCE_DOC = """\
Rewrites small files and files with many deleted rows, expires old snapshots, and removes files that
no snapshot names: of every target, and of the pipeline's own tables. Where the pipeline file says
for how long, it removes old records from the changelog. Cuts go on beside it, and no row changes.

What is due: `tidemark maintain {pipeline} --dry-run`.
"""
REFOLD_DOC = """\
Folds one table again from the changelog, as the pipeline file declares it now: with another key,
mode or mask, or after somebody changed or dropped its target. This DAG records the request, and the
next runs of `cut__{pipeline}` do the work. Readers keep the target until the new one, audited and
compared with it, takes its place.
"""
RESYNC_DOC = """\
Has one table read again by an incremental snapshot of the connector, while all tables go on. Where
the pipeline file names `source.signal-topic`, the signal is sent; else the log of the task has it.
When the connector has read the table, trigger this DAG once more with `complete`: the next run of
`cut__{pipeline}` removes the rows that the snapshot did not contain.
"""
ACTION_DOC = """\
What cuts wait for and an operator has to decide: a cut that its audit blocks, quarantined changes,
a transaction that will never be whole, a schema change that stops tables, a log of the source that
has started over. What to fill in beside the action stands in the message that stops the pipeline,
and on its page (*Browse*, *Tidemark*). The next run of `cut__{pipeline}` goes on with it.

An erasure of keys waits for nothing: it takes the name of a file with keys, and runs Spark.
"""


def build_cut_dags(late: Callback | None = None) -> None:
    """The DAG of each pipeline whose file has no faults; Airflow finds them in the calling file.

    late: what Airflow calls when a run takes longer than ``freshness`` in its pipeline file.
    """
    for pipeline in sound_pipelines():
        build_cut_dag(pipeline, late)


def build_cut_dag(pipeline: PipelineSpec, late: Callback | None = None) -> DAG:
    """The DAG that publishes one cut a run: plan, fold, audit, publish.

    A scheduled or backfill run takes what happened before the end of its data interval. Runs never
    overlap, and beside a backfill no two folds do; should they do so all the same, the lake lets
    one of them win. Tasks wait in Airflow's default pool: a pool that somebody has to make keeps a
    new pipeline waiting for ever (docs/adr/0019). Where the file wants that, a run whose cut is
    blocked by expectations waits for an answer before it publishes, as does one whose form says so,
    and one whose cuts have gone no further for too long fails behind it. Metrics are sent whenever
    a task may have ended the run.
    """
    callback = partial(tell_metrics, pipeline.name)
    with DAG(
        dag_id=f"cut__{pipeline.name}",
        description=f"Publish what changed in {pipeline.target_namespace}",
        doc_md=_doc(pipeline),
        schedule=intervals_of(pipeline.schedule),
        start_date=start_of(pipeline),
        catchup=False,
        max_active_runs=1,
        params=cut_form(pipeline),
        tags={"tidemark", "cut", pipeline.source.format.value},
        default_args={**_default_args(pipeline), **dict.fromkeys(UNFINISHED, callback)},
        deadline=deadline_of(pipeline, late),
    ) as dag:
        name: dict[str, Any] = {"pipeline": pipeline.name}
        planned = ShortCircuitOperator(
            task_id=PLAN, python_callable=plan, op_kwargs=name, on_success_callback=callback
        )
        folded = FoldOperator(task_id=FOLD, pipeline=pipeline.name)
        asks: dict[str, Any] = {"reason": REASON}
        audited = AuditOperator(task_id=AUDIT, pipeline=pipeline, params=asks)
        published = PublishOperator(
            task_id=PUBLISH,
            python_callable=publish,
            op_kwargs=name,
            outlets=[asset_of(pipeline, table) for table in pipeline.tables],
            on_success_callback=callback,
        )
        planned >> Label("there is something to fold") >> folded
        folded >> audited >> Label("nothing blocks") >> published
        if pipeline.limits.when_stalled is WhenStalled.FAIL:
            published >> PythonOperator(task_id=STALL, python_callable=stall, op_kwargs=name)
    dag.dagrun_timeout = len(dag.tasks) * longest_attempts(pipeline)
    return dag


def build_maintain_dags() -> None:
    """As `build_cut_dags`, the DAGs that maintain the tables."""
    for pipeline in sound_pipelines():
        build_maintain_dag(pipeline)


def build_maintain_dag(pipeline: PipelineSpec) -> DAG:
    """The DAG that rewrites files, expires snapshots and removes orphans of a pipeline's tables.

    Cuts go on beside it. A run that was missed is not made up for: the next one does it all.
    """
    with DAG(
        dag_id=f"maintain__{pipeline.name}",
        description=f"Keep the tables of {pipeline.target_namespace} fast to read",
        doc_md=MAINTENANCE_DOC.format(pipeline=pipeline.name),
        schedule=moments_of(pipeline.maintenance.schedule),
        catchup=False,
        max_active_runs=1,
        params=maintain_form(pipeline),
        tags={"tidemark", "maintain"},
        default_args=_default_args(pipeline),
        dagrun_timeout=longest_attempts(pipeline),
    ) as dag:
        MaintainOperator(task_id=MAINTAIN, pipeline=pipeline.name)
    return dag


def build_refold_dags() -> None:
    """As `build_cut_dags`, the DAGs that have a target built again from the changelog."""
    for pipeline in sound_pipelines():
        build_refold_dag(pipeline)


def build_refold_dag(pipeline: PipelineSpec) -> DAG:
    """The DAG that records a refold; runs of the pipeline do the work."""
    what = f"Build a target of {pipeline.target_namespace} again"
    with _by_hand(pipeline, REFOLD, what, REFOLD_DOC, refold_form(pipeline)) as dag:
        name = {"pipeline": pipeline.name}
        PythonOperator(task_id=REFOLD, python_callable=refold, op_kwargs=name)
    return dag


def build_resync_dags() -> None:
    """As `build_cut_dags`, the DAGs that have a table read again; Canal has no snapshots."""
    for pipeline in sound_pipelines():
        if not pipeline.source.format.is_canal:
            build_resync_dag(pipeline)


def build_resync_dag(pipeline: PipelineSpec) -> DAG:
    """The DAG that asks for an incremental snapshot of a table, and says when it is whole."""
    what = f"Have a table of {pipeline.target_namespace} read again"
    with _by_hand(pipeline, RESYNC, what, RESYNC_DOC, resync_form(pipeline)) as dag:
        name = {"pipeline": pipeline.name}
        PythonOperator(task_id=RESYNC, python_callable=resync, op_kwargs=name)
    return dag


def build_action_dags() -> None:
    """As `build_cut_dags`, the DAGs by which an operator decides what cuts wait for."""
    for pipeline in sound_pipelines():
        build_action_dag(pipeline)


def build_action_dag(pipeline: PipelineSpec) -> DAG:
    """The DAG that does what `tidemark accept`, `quarantine`, `skip`, `handover` and `erase` do."""
    what = f"Decide what cuts of {pipeline.target_namespace} wait for"
    with _by_hand(pipeline, ACTION, what, ACTION_DOC, action_form(pipeline)) as dag:
        name = {"pipeline": pipeline.name}
        PythonOperator(task_id=ACTION, python_callable=action, op_kwargs=name)
    return dag


def _by_hand(
    pipeline: PipelineSpec, family: str, what: str, doc: str, params: dict[str, Param]
) -> DAG:
    """A DAG without a schedule."""
    return DAG(
        dag_id=f"{family}__{pipeline.name}",
        description=what,
        doc_md=doc.format(pipeline=pipeline.name),
        schedule=None,
        catchup=False,
        max_active_runs=1,
        params=params,
        tags={"tidemark", family},
        default_args=_default_args(pipeline),
        dagrun_timeout=longest_attempts(pipeline),
    )


def _default_args(pipeline: PipelineSpec) -> dict[str, Any]:
    return {
        "owner": pipeline.owner,
        "max_active_tis_per_dag": 1,
        "retries": RETRIES,
        "retry_delay": RETRY_DELAY,
        "execution_timeout": timedelta(minutes=pipeline.limits.task_timeout),
    }


def _doc(pipeline: PipelineSpec) -> str:
    rows = [
        f"| {code(str(table.source))} | {code(f'{pipeline.target_namespace}.{table.target}')} "
        f"| {table.truncate} | {table.suite or 'none'} |"
        for table in pipeline.tables
    ]
    followed = (
        ["", "Every other table of the stream is followed too, without expectations."]
        if pipeline.other_tables is OtherTables.FOLLOW
        else []
    )
    return "\n".join(
        [
            pipeline.description,
            "",
            "| source | target | truncate | expectations |",
            "| --- | --- | --- | --- |",
            *rows,
            *followed,
            "",
            f"Source: {pipeline.source.format}, gate `{pipeline.source.gate}`. "
            f"Its status: `tidemark status {pipeline.name}`.",
        ]
    )
