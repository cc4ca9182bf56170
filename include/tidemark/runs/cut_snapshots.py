"""Which snapshots show all targets as one cut published them; no JVM."""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.exceptions import NoSuchTableError

from tidemark.errors import UNCHANGED, ActionRefusedError
from tidemark.lake.catalog import SystemTables, TableId, catalog_errors
from tidemark.lake.history import read_history
from tidemark.lake.ledger import newest_snapshots, read_progress
from tidemark.model.names import few
from tidemark.runs.targets import targets_of
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec


def snapshots_of_cut(pipeline: PipelineSpec, world: World, cut: int) -> Mapping[str, int]:
    """For each target that ``cut`` or one before it published, the snapshot that showed it then.

    Out: ``namespace.table`` as the target is called now -> snapshot id. A cut leaves alone what it
    does not change, so most are of earlier cuts. Raises ActionRefusedError where the cut is not
    known, or a target does not hold that snapshot any more (FEED-2).
    """
    system = SystemTables.of(pipeline.name)
    progress = read_progress(world.catalog, system)
    if not 1 <= cut <= progress.cut:
        raise ActionRefusedError(
            f"cut {cut} of pipeline {pipeline.name} is not published; the newest is {progress.cut}",
            state=UNCHANGED,
            next_step="name a cut that is",
        )
    history = read_history(world.catalog, system)
    targets = sorted(targets_of(pipeline, history, progress.under(pipeline.renames)).values())
    newest = newest_snapshots(world.catalog, system, [(str(target), cut) for target in targets])
    shown = {
        target: snapshot
        for target, snapshot in zip(targets, newest, strict=True)
        if snapshot is not None
    }
    if lost := [str(target) for target in shown if shown[target] not in _snapshots(world, target)]:
        raise ActionRefusedError(
            f"what cut {cut} published is not kept any more in {few(lost)}: its snapshot is "
            "expired, or the target was refolded or had another name",
            state=UNCHANGED,
            next_step=f"fold it again: tidemark refold {pipeline.name} TABLE --into NAME --as-of "
            f"{cut}",
        )
    return {str(target): snapshot for target, snapshot in shown.items()}


def _snapshots(world: World, target: TableId) -> frozenset[int]:
    with catalog_errors(f"the reading of {target}"):
        try:
            table = world.catalog.load_table(target.parts)
        except NoSuchTableError:
            return frozenset()
    return frozenset(snapshot.snapshot_id for snapshot in table.snapshots())
