"""Resync: a person has one table read anew, or says that a snapshot of it is whole. No JVM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tidemark.errors import UNCHANGED, OrderRefusedError
from tidemark.gate.reconcile import complete_resync, order_resync
from tidemark.lake.catalog import SystemTables
from tidemark.lake.ledger import record_order
from tidemark.log import get_logger
from tidemark.model.names import TableName
from tidemark.model.progress import Progress
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

log = get_logger()


def begin_resync(pipeline: PipelineSpec, world: World, table: TableName) -> None:
    """Wait for an incremental snapshot of ``table``; other tables go on, and so does this one.

    What the snapshot will not contain is removed once `end_resync` says that it is whole (SNAP-8).
    """
    if pipeline.source.format.is_canal:
        raise OrderRefusedError(
            f"pipeline {pipeline.name} reads {pipeline.source.format}, which sends no snapshots",
            state=UNCHANGED,
            next_step="fold the table into a new target from a new changefeed or instance",
        )

    def ordered(progress: Progress) -> Progress:
        return replace(progress, snapshots=order_resync(progress.snapshots, table))

    _record(pipeline, world, ordered, f"resync {table}")


def end_resync(pipeline: PipelineSpec, world: World, table: TableName) -> None:
    """The snapshot of ``table`` is whole: the next cut removes what it did not contain."""

    def completed(progress: Progress) -> Progress:
        if table not in progress.snapshots.tables:
            raise OrderRefusedError(
                f"no snapshot of {table} is awaited in pipeline {pipeline.name}",
                state=UNCHANGED,
                next_step=f"order one: tidemark resync {pipeline.name} {table}",
            )
        snapshots = complete_resync(progress.snapshots, table)
        return replace(progress, snapshots=snapshots, quiet_settles=True)

    _record(pipeline, world, completed, f"resync {table} --complete")


def _record(
    pipeline: PipelineSpec, world: World, change: Callable[[Progress], Progress], order: str
) -> None:
    record_order(world.catalog, SystemTables.of(pipeline.name), change, order)
    log.info("order_recorded", pipeline=pipeline.name, order=order)
