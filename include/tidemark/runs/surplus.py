"""What earlier runs left: attempts at the next cut that are over, and tables that they removed.

The newest attempts stay to be looked into, the others go.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.errors import TidemarkError
from tidemark.lake.attempts import drop_attempts
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.history import existing_tables, read_history
from tidemark.lake.ledger import Entry, read_progress
from tidemark.lake.removal import finish_removals
from tidemark.lake.results import FailedAttempt, failed_attempts
from tidemark.log import get_logger
from tidemark.model.names import AttemptId
from tidemark.runs.refold import remove_left
from tidemark.runs.targets import targets_of
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

log = get_logger()

MAX_ATTEMPTS = 5
"""Staged ones of a cut, and as many that failed, that stay."""


def surplus_attempts(
    staged: Sequence[Entry], failed: Sequence[FailedAttempt]
) -> frozenset[AttemptId]:
    """What goes of the attempts that are ``staged``, or ``failed`` before; both newest first."""
    names = [entry.result.attempt for entry in staged]
    stay = names[:MAX_ATTEMPTS]
    over = [attempt.attempt for attempt in failed if attempt.attempt not in names]
    return frozenset(names + over[MAX_ATTEMPTS:]).difference(stay)


def drop_surplus(pipeline: PipelineSpec, world: World) -> None:
    """Remove what surplus attempts left, and what those did that died in the midst of a removal.

    What cannot be removed now is left to the next run.
    An attempt that is still alive is none: a run has a result only once it is over.
    """
    try:
        names = existing_tables(world.catalog, pipeline.target_namespace)
        finish_removals(world.catalog, pipeline.target_namespace, names)
        remove_left(pipeline, world, names)
        _drop(pipeline, world)
    except TidemarkError as error:
        log.warning("attempts_left", pipeline=pipeline.name, error=str(error))


def _drop(pipeline: PipelineSpec, world: World) -> None:
    system = SystemTables.of(pipeline.name)
    history = read_history(world.catalog, system)
    since_ms = history.published.at_ms if history.published else 0
    failed = failed_attempts(world.installation.state, pipeline.name, since_ms)
    surplus = surplus_attempts(history.attempts, failed)
    if not surplus:
        return
    progress = read_progress(world.catalog, system).under(pipeline.renames)
    targets = set(targets_of(pipeline, history, progress).values())
    beside = (refold.target for refold in progress.refolds.values())
    targets |= {TableId(pipeline.target_namespace, target) for target in beside}
    drop_attempts(world.catalog, system, sorted(targets), history.cut + 1, surplus)
    log.info("attempts_dropped", pipeline=pipeline.name, attempts=len(surplus))
