"""Which tables of a cut lose what a new snapshot of the source did not contain (SNAP-6).

And which rows of an incremental one fall, as they may have been read before a truncate (SNAP-7).
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from pyspark.sql import DataFrame

from tidemark.fold.admit import answer
from tidemark.gate.reconcile import ask_unless_whole, awaited, emptied, watch_snapshots
from tidemark.gate.window_bound import next_window_bounds
from tidemark.lake.history import existing_tables, holds_rows, read_history
from tidemark.model.names import TableName
from tidemark.model.position import Position
from tidemark.model.progress import Progress
from tidemark.model.reconcile import Snapshots
from tidemark.model.summary import Summary
from tidemark.runs.choose import Chosen
from tidemark.runs.run import Run
from tidemark.runs.targets import is_folded, possible_names, targets_of
from tidemark.spec import Reconciling


def watched_snapshots(
    run: Run, chosen: Chosen, progress: Progress
) -> tuple[Snapshots, dict[TableName, Position]]:
    """What is known of re-snapshotted tables, with the ``chosen`` cut; and window bounds."""
    pipeline = run.pipeline
    names = {
        profile_entry.table
        for profile_entry in chosen.profile.profile_entries
        if profile_entry.table is not None
    }
    lost = {name for names in chosen.cut.skipped.values() for name in names}
    parts = (name.partition(".") for name in possible_names(pipeline, lost))
    names |= {(schema, table) for schema, _, table in parts}
    tables = {name: TableName(*name) for name in names if is_folded(pipeline, name)}

    def ask(question: Summary) -> list[dict[str, Any]]:
        answers = (answer(events, question) for events in chosen.waiting.frames)
        return [row.asDict() for row in reduce(DataFrame.unionByName, answers).collect()]

    sees_windows = pipeline.source.signal_table is not None
    window_bounds = next_window_bounds(
        progress, chosen.decision, tables, ask, sees_windows=sees_windows
    )
    snapshots = watch_snapshots(progress, chosen.decision, tables, window_bounds)
    if not snapshots.due:
        return snapshots, window_bounds
    asks = pipeline.snapshots.reconcile is Reconciling.ASK
    profile_entries = chosen.profile.profile_entries
    holding = _holding(run, progress) - emptied(profile_entries, tables)
    holding -= awaited(profile_entries, tables, snapshots.newest)
    return ask_unless_whole(snapshots, holding, progress.truncated, asks=asks), window_bounds


def _holding(run: Run, progress: Progress) -> set[TableName]:
    """The tables whose targets have rows."""
    catalog = run.world.catalog
    there = existing_tables(catalog, run.pipeline.target_namespace)
    targets = targets_of(run.pipeline, read_history(catalog, run.system), progress)
    return {
        table
        for table, target in targets.items()
        if target.table in there and holds_rows(catalog, target)
    }
