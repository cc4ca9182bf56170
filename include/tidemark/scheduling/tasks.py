"""What the tasks of a cut do in Python, without a JVM.

This module is read whenever DAGs are parsed, so what is heavy is imported inside the functions.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from tidemark.errors import UNCHANGED, ActionRefusedError, SupersededError
from tidemark.log import get_logger
from tidemark.model.names import AttemptId, PipelineName, TableName
from tidemark.model.offsets import OffsetRange, Ranges, offsets_from_json, offsets_to_json
from tidemark.model.result import CutStatus
from tidemark.model.verdict import Outcome
from tidemark.scheduling.assets import events_of
from tidemark.scheduling.connections import load_installation_for
from tidemark.scheduling.links import data_docs_url
from tidemark.scheduling.retries import stop_on_terminal_errors
from tidemark.scheduling.stats import are_sent, send
from tidemark.scheduling.submit import attempt_stem, cap_of, tables_named, tag_of
from tidemark.scheduling.xcom import FOLD, PLAN, Folded, Planned
from tidemark.spec import Approval, WhenStalled, pipeline_named
from tidemark.spec.until import cut_or_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Asset, Context
    from airflow.sdk.types import (
        DagRunProtocol,
        OutletEventAccessorsProtocol,
        RuntimeTaskInstanceProtocol,
    )

    from tidemark.model.verdict import Verdict

log = get_logger()


def plan(
    pipeline: PipelineName,
    ti: RuntimeTaskInstanceProtocol,
    dag_run: DagRunProtocol,
    params: dict[str, Any],
) -> bool:
    """Whether there is anything to fold; if not, the tasks after this one are skipped."""
    from tidemark.runs.plan import plan_cut
    from tidemark.runs.stall import tell_stall
    from tidemark.runs.world import open_world

    with stop_on_terminal_errors():
        spec = pipeline_named(pipeline)
        until = cap_of(spec, params["until"], dag_run.run_type, dag_run.data_interval_end)
        tables = tables_named(params["tables"])
        world = open_world(load_installation_for(pipeline))
        tag = tag_of(params, dag_run.run_type, dag_run.data_interval_end)
        cut_plan = plan_cut(spec, world, until, tag)
        if not cut_plan.has_work:
            tell_stall(spec, world)
    planned = Planned(
        sentence=cut_plan.sentence,
        unread=cut_plan.unread_records,
        stem=attempt_stem(dag_run.run_id, secrets.token_hex(3)),
        until=until.text if until else "",
        tables=tables,
        reason=params["reason"] or "",
        dry_run=bool(params["dry_run"]),
        tag=tag,
        starts=starts_for_lineage(cut_plan.unread),
    )
    ti.xcom_push(PLAN, planned)
    shown = {name: what for name, what in planned.items() if name != "starts"}
    log.info("cut_planned", pipeline=pipeline, has_work=cut_plan.has_work, **shown)
    return cut_plan.has_work


def starts_for_lineage(unread: Ranges) -> dict[str, dict[str, int]]:
    """The first offset of each partition that has any; none where nobody tells OpenLineage."""
    try:
        from airflow.providers.openlineage.conf import is_disabled
    except ImportError:
        return {}
    if is_disabled():
        return {}
    return offsets_to_json({place: span.start for place, span in unread.items() if span.count})


def audit(
    pipeline: PipelineName, ti: RuntimeTaskInstanceProtocol
) -> tuple[dict[str, int], tuple[Verdict, ...]]:
    """Tables by outcome of the audit that ran in fold, and the verdicts somebody is asked about.

    Red where verdicts block and nobody is asked. Skipped where fold found no new cut, or red where
    that stalls.
    """
    from tidemark.runs.accept import blocking
    from tidemark.runs.publish import read_verdicts
    from tidemark.runs.world import data_docs_folder, open_world

    folded: Folded = ti.xcom_pull(task_ids=FOLD)
    if folded["status"] == CutStatus.IDLE:
        stall(pipeline)
        raise AirflowSkipException(f"there is no new cut to publish: {folded['hold']}")
    with stop_on_terminal_errors():
        installation, spec = load_installation_for(pipeline), pipeline_named(pipeline)
        attempt = AttemptId(folded["attempt"])
        verdicts = read_verdicts(spec, open_world(installation), attempt, folded["cut"])
    for verdict in verdicts:
        log.info("verdict", table=verdict.table, outcome=verdict.outcome, suite=verdict.suite)
        for check in verdict.failures:
            log.warning(
                "expectation_failed",
                table=verdict.table,
                check=check.name,
                severity=check.severity,
                observed=check.observed,
            )
    file = data_docs_folder(installation, spec.name) / "index.html"
    docs = data_docs_url(spec.name) or str(file)
    log.info("data_docs", page=docs)
    blocking_verdicts = blocking(verdicts)
    is_faulty = any(verdict.faults for verdict in blocking_verdicts)
    if blocking_verdicts and (is_faulty or spec.publish.approval is Approval.NEVER):
        raise AirflowFailException(_blocked(pipeline, folded, blocking_verdicts, docs))
    outcomes = [verdict.outcome for verdict in verdicts]
    return {outcome.value: outcomes.count(outcome) for outcome in Outcome}, blocking_verdicts


def accept(pipeline: PipelineName, folded: Folded, reason: str) -> None:
    """Have what fold staged published, as somebody accepts what its expectations found, if any."""
    from tidemark.runs.accept import accept_audit, blocking
    from tidemark.runs.publish import read_verdicts
    from tidemark.runs.world import open_world

    attempt = AttemptId(folded["attempt"])
    with stop_on_terminal_errors():
        spec, world = pipeline_named(pipeline), open_world(load_installation_for(pipeline))
        if blocking(read_verdicts(spec, world, attempt, folded["cut"])):
            accept_audit(spec, world, attempt, reason)


def publish(
    pipeline: PipelineName,
    ti: RuntimeTaskInstanceProtocol,
    outlet_events: OutletEventAccessorsProtocol,
) -> dict[str, int | str]:
    """Publish the attempt that fold staged last and audit let pass; safe to repeat.

    An attempt that another one overtook changes nothing and ends as skipped.
    """
    from tidemark.runs.publish import changed_tables, publish_tagged
    from tidemark.runs.stall import tell_stall
    from tidemark.runs.world import open_world

    folded: Folded = ti.xcom_pull(task_ids=FOLD)
    with stop_on_terminal_errors():
        spec = pipeline_named(pipeline)
        world = open_world(load_installation_for(pipeline))
        try:
            result, tag = publish_tagged(spec, world, AttemptId(folded["attempt"]))
        except SupersededError as error:
            raise AirflowSkipException(f"superseded: {error}") from error
        events = events_of(spec, result, changed_tables(spec, world.catalog, result))
    _send_events(events, ti, outlet_events)
    if spec.limits.when_stalled is WhenStalled.WARN:
        tell_stall(spec, world)
    return {"cut": result.cut, "tables": len(result.tables), **({"tag": tag} if tag else {})}


def _send_events(
    events: Sequence[tuple[Asset, Mapping[str, str | int]]],
    ti: RuntimeTaskInstanceProtocol,
    outlet_events: OutletEventAccessorsProtocol,
) -> None:
    """Have the task end with ``events``: Airflow makes one of every outlet that it has then."""
    ti.task.outlets = [asset for asset, _ in events]
    for asset, extra in events:
        outlet_events[asset].extra = dict(extra)


def action(
    pipeline: PipelineName,
    ti: RuntimeTaskInstanceProtocol,
    outlet_events: OutletEventAccessorsProtocol,
    params: dict[str, Any],
) -> str:
    """Do what the form says (`Action`); what was done."""
    from tidemark.runs.publish import changed_tables
    from tidemark.runs.world import open_world
    from tidemark.scheduling.actions import act

    with stop_on_terminal_errors():
        spec, world = pipeline_named(pipeline), open_world(load_installation_for(pipeline))
        done = act(spec, world, params)
        result = done.published
        changed = changed_tables(spec, world.catalog, result) if result else ()
        events = events_of(spec, result, changed) if result else ()
    _send_events(events, ti, outlet_events)
    log.info("action_done", pipeline=pipeline, action=params["action"], done=done.sentence)
    return done.sentence


def tell_metrics(pipeline: PipelineName, _: Context) -> None:
    """Send the metrics of ``pipeline``, where Airflow sends any; a callback of its tasks.

    The task has ended by then, and ends no other way for what goes wrong here.
    """
    from tidemark.runs.metrics import read_samples
    from tidemark.runs.world import open_world

    if not are_sent():
        return
    try:
        spec, world = pipeline_named(pipeline), open_world(load_installation_for(pipeline))
        send(read_samples(spec, world))
    except Exception as error:  # of a backend of somebody's own, too
        log.warning("metrics_not_sent", pipeline=pipeline, error=type(error).__name__)


def published_lineage(
    pipeline: PipelineName, ti: RuntimeTaskInstanceProtocol
) -> OperatorLineage[Any, Any]:
    """What the cut that `publish` published was made of, for OpenLineage."""
    from tidemark.runs.lineage import read_published_cut
    from tidemark.runs.world import open_world
    from tidemark.scheduling.lineage import lineage_of_cut

    folded: Folded = ti.xcom_pull(task_ids=FOLD)
    planned: Planned = ti.xcom_pull(task_ids=PLAN, key=PLAN)
    installation = load_installation_for(pipeline)
    cut = read_published_cut(
        pipeline_named(pipeline), open_world(installation), AttemptId(folded["attempt"])
    )
    starts = offsets_from_json(planned.get("starts", {}))
    read = {
        place: OffsetRange(start, cut.ends.get(place, start)) for place, start in starts.items()
    }
    return lineage_of_cut(cut, read, installation)


def audited_lineage(
    pipeline: PipelineName, ti: RuntimeTaskInstanceProtocol
) -> OperatorLineage[Any, Any]:
    """What `audit` read and found, for OpenLineage."""
    from tidemark.runs.lineage import read_audited_tables
    from tidemark.runs.world import open_world
    from tidemark.scheduling.lineage import lineage_of_audit

    folded: Folded = ti.xcom_pull(task_ids=FOLD)
    installation = load_installation_for(pipeline)
    spec, world = pipeline_named(pipeline), open_world(installation)
    tables = read_audited_tables(spec, world, AttemptId(folded["attempt"]), folded["cut"])
    return lineage_of_audit(tables, installation)


def stall(pipeline: PipelineName) -> None:
    """Fail the run where what it published goes no further for too long (GATE-O1).

    A task behind `publish`, as a task that fails has no asset events.
    """
    from tidemark.runs.stall import tell_stall
    from tidemark.runs.world import open_world

    with stop_on_terminal_errors():
        tell_stall(pipeline_named(pipeline), open_world(load_installation_for(pipeline)))


def refold(pipeline: PipelineName, params: dict[str, Any]) -> str:
    """Order a refold as the form says, or cancel one; the name of the table that is made."""
    from tidemark.runs.refold import begin_refold, cancel_refold
    from tidemark.runs.world import open_world

    with stop_on_terminal_errors():
        spec, world = pipeline_named(pipeline), open_world(load_installation_for(pipeline))
        table, into = _table(params), params["into"] or ""
        if params["cancel"]:
            cancel_refold(spec, world, table)
            return ""
        begun = begin_refold(spec, world, table, into=into, as_of=_as_of(params["as_of"]))
    log.info("refold_ordered", table=str(table), into=begun.target, done_by=f"cut__{pipeline}")
    return begun.target


def _as_of(text: str | None) -> int | datetime | None:
    """The cut or the time that the form says."""
    if not text:
        return None
    as_of = cut_or_time(text)
    if as_of is None:
        raise ActionRefusedError(
            f"{text!r} is neither the number of a cut nor a time",
            state=UNCHANGED,
            next_step="trigger again with one of them",
        )
    return as_of


def resync(pipeline: PipelineName, params: dict[str, Any]) -> str:
    """Order a resync as the form says, or complete one; what the connector has to be told."""
    from tidemark.runs.orders import begin_resync, end_resync
    from tidemark.runs.world import open_world
    from tidemark.topics.signals import signal_data

    with stop_on_terminal_errors():
        spec, world = pipeline_named(pipeline), open_world(load_installation_for(pipeline))
        table = _table(params)
        if params["complete"]:
            end_resync(spec, world, table)
            return ""
        is_sent = begin_resync(spec, world, table)
    if is_sent:
        log.info("snapshot_signal_sent", table=str(table), topic=spec.source.signal_topic)
        return ""
    log.warning("snapshot_signal_needed", type="execute-snapshot", data=signal_data(table))
    return signal_data(table)


def _table(params: dict[str, Any]) -> TableName:
    """The table that the form names."""
    if not params["table"]:
        raise AirflowFailException(
            "the form names no table\n  state: nothing was changed\n"
            "  next:  trigger the DAG again, and choose a table"
        )
    return TableName.parse(params["table"])


def _blocked(pipeline: PipelineName, folded: Folded, blocking: Sequence[Verdict], docs: str) -> str:
    tables = ", ".join(verdict.table for verdict in blocking)
    accept = f"; if the findings are right: tidemark accept {pipeline} --reason TEXT"
    return (
        f"the audit of cut {folded['cut']} blocks: {tables}\n"
        "  state: main of every table is as it was; the staged branches are kept\n"
        f"  next:  look at the failed expectations above and at {docs}; fix the data or the "
        f"suite, then clear fold{'' if any(verdict.faults for verdict in blocking) else accept}"
    )
