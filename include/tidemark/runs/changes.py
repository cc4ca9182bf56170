"""The changes of a target between two published cuts, for jobs that read increments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame

from tidemark.errors import UNCHANGED, ActionRefusedError
from tidemark.lake.catalog import SystemTables, catalog_errors
from tidemark.lake.evolve import read_target
from tidemark.lake.feed import changed_rows
from tidemark.lake.history import read_history
from tidemark.lake.ledger import UNKNOWN, newest_snapshots, read_progress
from tidemark.lake.sql import SYSTEM_COLUMNS
from tidemark.model.columns import POSITION
from tidemark.model.names import TableName, quote
from tidemark.model.target_mode import TargetMode
from tidemark.runs.targets import targets_of
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec


@contextmanager
def changes_between(
    pipeline: PipelineSpec, world: World, table: TableName, before: int, after: int
) -> Iterator[DataFrame]:
    """What the target of ``table`` lost and got between the cuts ``before`` and ``after``.

    before: 0 for all rows that are there at ``after``. Out: ``_change_type`` (INSERT, DELETE,
    UPDATE_BEFORE, UPDATE_AFTER) beside the target's columns as they are now; read it while it is
    open. Applied to the rows of the one cut it gives those of the other (FEED-1). Raises
    ActionRefusedError where a cut is unknown, or its snapshot is not kept any more.
    """
    system = SystemTables.of(pipeline.name)
    progress = read_progress(world.catalog, system)
    if not 0 <= before <= after <= progress.cut:
        raise ActionRefusedError(
            f"there are no changes from cut {before} to cut {after}; the newest cut is "
            f"{progress.cut}",
            state=UNCHANGED,
            next_step="name an earlier cut first, and a later one that is published",
        )
    progress = progress.under(pipeline.renames)
    target = targets_of(pipeline, read_history(world.catalog, system), progress).get(table)
    head = read_target(world.catalog, target) if target is not None else None
    if target is None or head is None:
        raise ActionRefusedError(
            f"{table} has no target in pipeline {pipeline.name}",
            state=UNCHANGED,
            next_step=f"look which tables have: tidemark status {pipeline.name}",
        )
    old, new = newest_snapshots(
        world.catalog, system, [(str(target), cut) for cut in (before, after)]
    )
    snapshots = (old, UNKNOWN if new is None else new)
    with catalog_errors(f"the reading of {target}"):
        snapshot_ids = {
            snapshot.snapshot_id for snapshot in world.catalog.load_table(target.parts).snapshots()
        }
    for cut, snapshot in zip((before, after), snapshots, strict=True):
        if snapshot is not None and snapshot not in snapshot_ids:
            raise ActionRefusedError(
                f"what cut {cut} published of {table} is not kept in {target} any more, or had "
                "another name",
                state=UNCHANGED,
                next_step="fold it again: tidemark refold "
                f"{pipeline.name} {table} --into NAME --as-of {cut}",
            )
    schema = head.source_schema.in_target
    columns = world.spark.table(quote(world.catalog.name, *target.parts)).columns
    is_versioned = schema.mode is TargetMode.HISTORY
    with changed_rows(
        *(world.spark, world.catalog, target, snapshots),
        identity=(*schema.row_key, *((POSITION,) if is_versioned else ())),
        compared=[name for name in columns if name not in SYSTEM_COLUMNS],
    ) as rows:
        yield rows
