"""Tables that exchange their names: all of a ring at once, each in its own target (SCHEMA-34)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import functions as F

from tidemark.lake.catalog import TableId
from tidemark.lake.history import History, read_history
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.cut import Cut, GateMode
from tidemark.model.event import Kind
from tidemark.model.names import TableName
from tidemark.model.renames import Rename, Renames, listed
from tidemark.runs.changelog import Changelog
from tidemark.runs.ddl.effects import DdlEffects, DdlStop
from tidemark.runs.run import Run

ANEW = "to go on at all, fold these tables by a new pipeline from a new snapshot of the source"


def hold_table_swaps(changelog: Changelog, cut: Cut, names: Renames, effects: DdlEffects) -> None:
    """Stop the tables of a ring, and leave their names, where it cannot be followed as a whole.

    changelog: with the names that records have. names: what the file says, and what earlier cuts
    followed. effects: of the cut's statements.
    """
    run, table_swaps = changelog.run, names.table_swaps
    history = read_history(run.world.catalog, run.system) if table_swaps else History()
    for table_swap in table_swaps:
        pairs = {(rename.old, rename.new) for rename in table_swap}
        swapped = [rename for rename in effects.renames if (rename.old, rename.new) in pairs]
        stop = (
            _of_another(run, names, history, table_swap)
            or _half(table_swap, swapped)
            or _overtaken(changelog, cut, swapped)
        )
        if stop is not None:
            effects.renames = [rename for rename in effects.renames if rename not in swapped]
            for rename in table_swap:
                effects.stops[rename.new] = stop


def _of_another(
    run: Run, names: Renames, history: History, table_swap: Sequence[Rename]
) -> DdlStop | None:
    """A target is to go on with another table than the one that it follows."""
    folded = {(TableName.parse(table), target) for table, target in history.folded}
    namespace = run.pipeline.target_namespace
    folded |= {(done.new, str(TableId(namespace, done.target))) for done in names.done}
    for rename in table_swap:
        if rename.position is not None:
            continue  # A statement tells it, and targets follow the names.
        target = str(TableId(namespace, rename.target))
        if (rename.old, target) not in folded and rename.old in {table for table, _ in folded}:
            why = (
                f"the file says that {listed(table_swap)} exchange their names, and gives "
                f"{rename.new} the target {rename.target}, into which {rename.old} was never folded"
            )
            fix = f"write as target: of {rename.new} the one that {rename.old} has had so far"
            return DdlStop(why, None, fix=fix)
    return None


def _half(table_swap: Sequence[Rename], swapped: Sequence[Rename]) -> DdlStop | None:
    """A table that stands lower has read more of the statement than another one."""
    if len({rename.old for rename in swapped}) in (0, len(table_swap)):
        return None
    why = (
        f"{listed(table_swap)} exchange their names, and an earlier cut read a part of the "
        "statement"
    )
    return DdlStop(f"{why} (at position {swapped[0].position})", None, fix=ANEW)


def _overtaken(changelog: Changelog, cut: Cut, swapped: Sequence[Rename]) -> DdlStop | None:
    """Rows above the statement came in an earlier cut, and went where the names led (GATE-N2)."""
    progress = changelog.progress
    if not swapped or cut.mode is GateMode.WATERMARK or not progress.landing:
        return None
    is_change = F.col("kind").isin(Kind.ROW.value, Kind.TRUNCATE.value)
    for rename in swapped:
        old, landing = progress.frontier_of(rename.new), progress.landing_of(rename.new)
        known = changelog.towards(cut, old, landing).published(rename.old)
        above = known.where(is_change & (F.col("position") > F.lit(rename.position)))
        first = (
            above.where(F.col("status") == CheckpointStatus.COMMITTED.value)
            .select("position")
            .first()
        )
        if first is not None:
            why = (
                f"{listed(swapped)} exchanged their names at position {rename.position}, and a "
                f"change above it (at position {first[0]}) was published before that was read"
            )
            return DdlStop(why, None, fix=ANEW)
    return None
