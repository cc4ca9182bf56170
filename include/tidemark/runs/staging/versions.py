"""History targets: the changes of a cut become versions, and end those that were open."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Observation
from pyspark.sql import functions as F

from tidemark.fold.latest import IS_NEWEST, only_newest
from tidemark.fold.versions import is_newer, versions_of, with_stored
from tidemark.lake.catalog import TableId
from tidemark.lake.staged import read_staged, stage_rows
from tidemark.lake.stored import read_versions
from tidemark.model.columns import STAGED_OP
from tidemark.model.event import Op
from tidemark.runs.run import Run
from tidemark.runs.staging.row_changes import StagedChanges
from tidemark.runs.tables.work import TableWork


def match_versions(
    run: Run, work: TableWork, staged_changes: StagedChanges, place: TableId
) -> StagedChanges:
    """What becomes of which version of the target; its keys are read, and ``main`` not touched.

    staged_changes: all changes of the cut, whole. place: where the target's rows stand, in columns
    that have their new names. What the target knows already changes nothing, and counts as a
    repeat.
    """
    session, schema = run.world.spark, work.schema
    is_change = F.col(STAGED_OP).isin(Op.UPSERT.value, Op.DELETE.value)
    staged = read_staged(session, staged_changes.rows).where(is_change)
    stored = None
    if work.have is not None:
        stored = read_versions(session, run.world.catalog, place, schema)
    counted, known = Observation(), Observation()
    versions = (
        with_stored(staged, stored, schema)
        .withColumn(IS_NEWEST, is_newer())
        .observe(counted, F.count(F.when(F.col(IS_NEWEST), 1)).alias("version_changes"))
        .transform(only_newest, known)
        .transform(versions_of, schema, staged_changes.ends)
    )
    rows = stage_rows(staged_changes.rows.written.beside("versions"), versions, schema)
    repeats = staged_changes.repeats + known.get["dropped"]
    return replace(
        staged_changes, rows=rows, repeats=repeats, version_changes=counted.get["version_changes"]
    )
