"""Tables that wait for their rows: a run has the connector read them again (SCHEMA-37)."""

from __future__ import annotations

from dataclasses import replace

from tidemark.gate.reconcile import order_resync
from tidemark.log import get_logger
from tidemark.runs.orders import await_snapshot
from tidemark.runs.run import Run
from tidemark.runs.tables.plan import CutTables
from tidemark.spec import Consistency, OnStop
from tidemark.topics.signals import send_snapshot_signal

log = get_logger()


def ask_for_rows(run: Run, planned: CutTables) -> CutTables:
    """Send a signal for each table of which an incremental snapshot helps, where the file wants it.

    Once: then one is awaited, which the cut says; or the ledger does, where the stopped table holds
    the whole cut.
    """
    pipeline, snapshots = run.pipeline, planned.snapshots
    if pipeline.on_stop is OnStop.ASK:
        return planned
    for table in sorted(planned.unread):
        known = snapshots.tables.get(table)
        if known is not None and known.is_ordered:
            continue
        send_snapshot_signal(run.world.broker, pipeline.source, table)
        log.warning("snapshot_signal_sent", pipeline=pipeline.name, table=str(table))
        if pipeline.publish.consistency is Consistency.PIPELINE:
            await_snapshot(pipeline, run.world, table)
        snapshots = order_resync(snapshots, table, run.progress.frontier.reached.values())
    return replace(planned, snapshots=snapshots)
