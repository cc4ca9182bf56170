"""Which tables the source has before a cut, as statements may ask that themselves (SCHEMA-21)."""

from __future__ import annotations

from tidemark.lake.evolve import read_target
from tidemark.lake.history import read_history
from tidemark.model.names import TableName
from tidemark.model.renames import Renames
from tidemark.runs.run import Run
from tidemark.runs.targets import targets_of


def was_there(run: Run, names: Renames, table: TableName) -> bool | None:
    """Whether the source had ``table``; None where that is unknown.

    names: as of `add_up`. A table that is still to get its name has its target under that already.
    """
    catalog = run.world.catalog
    if any(rename.new == table for rename in names.due):
        return None
    target = targets_of(run.pipeline, read_history(catalog, run.system), run.progress).get(table)
    head = read_target(catalog, target) if target is not None else None
    if head is None or head.published is None:
        return None  # An attempt that came no further may have made it.
    return head.source_schema.dropped_at is None
