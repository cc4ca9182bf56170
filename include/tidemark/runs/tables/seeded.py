"""Refolds of tables of which older records were removed: a target begins with a base (KEEP-1)."""

from __future__ import annotations

from collections.abc import Mapping

from tidemark.errors import UNCHANGED, WAITING, SupersededError, TableStoppedError
from tidemark.lake.bases import read_bases
from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import read_target
from tidemark.lake.history import read_history
from tidemark.lake.refs import attempt_ref
from tidemark.lake.removal import purge_as_read
from tidemark.lake.seed import make_seed
from tidemark.lake.spark_errors import spark_errors
from tidemark.log import get_logger
from tidemark.model.names import TableName
from tidemark.model.target_mode import TargetMode
from tidemark.runs.run import Run
from tidemark.runs.targets import declared_as, spec_of, targets_of

log = get_logger()


def seed_refolds(run: Run) -> Mapping[TableName, TableStoppedError]:
    """Make the targets of refolds that begin with a base and have none; why some cannot be made.

    What an attempt made that died is removed and made again. Raises SupersededError where another
    run is about to make it.
    """
    progress, stopped = run.progress, {}
    for table, refold in sorted(progress.refolds.items()):
        target = TableId(run.pipeline.target_namespace, refold.target)
        head = read_target(run.world.catalog, target) if refold.base is not None else None
        if refold.base is None or (head is not None and head.snapshot is not None):
            continue
        if head is not None and not purge_as_read(run.world.catalog, target, head.metadata):
            raise SupersededError(
                f"{target} was changed while this run was about to make it",
                state=UNCHANGED,
                next_step="nothing to do: the next run goes on with what the other one leaves",
            )
        try:
            _seed(run, table, target, refold.base)
        except TableStoppedError as error:
            stopped[table] = error
        except SupersededError:
            log.info("target_seeded_by_another_run", table=str(table))
    return stopped


def _seed(run: Run, table: TableName, target: TableId, cut: int) -> None:
    progress, catalog = run.progress, run.world.catalog
    old_target = targets_of(run.pipeline, read_history(catalog, run.system), progress)[table]
    base = next(
        (candidate for candidate in read_bases(catalog, old_target) if candidate.cut == cut), None
    )
    if base is None:
        raise TableStoppedError(
            f"{old_target} is not there as of cut {cut} any more, with which the refold of "
            f"{table} was to begin",
            state=WAITING,
            next_step=f"give it up: tidemark refold {run.pipeline.name} {table} --cancel",
        )
    spec = spec_of(run.pipeline, table)
    ended = progress.truncated.get(table) if spec.mode is TargetMode.MIRROR else None
    with spark_errors("the making of a target from a base"):
        make_seed(
            *(run.world.spark, catalog, old_target, base, target, declared_as(base.schema, spec)),
            from_position=ended,
            branch=attempt_ref(progress.cut + 1, run.request.attempt),
        )
    log.info("target_seeded", table=str(table), target=str(target), cut=cut)
