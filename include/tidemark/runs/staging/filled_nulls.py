"""Nulls to which a statement may have given values that no event tells (SCHEMA-13).

A column that no longer takes null, by MODIFY or CHANGE, has a value in every row: of a TIMESTAMP
the time of the statement, of any other type its zero, where `sql_mode` is not strict.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import functions as F

from tidemark.errors import WAITING, RowsUnknownError, TableStoppedError
from tidemark.lake.refs import RefUpdate
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.column_rules import Mask
from tidemark.model.columns import POSITION, SourceColumn
from tidemark.model.names import quote
from tidemark.model.profile import ProfileEntry
from tidemark.model.target_mode import TargetMode
from tidemark.runs.choose import Chosen
from tidemark.runs.columns.withheld import reaches
from tidemark.runs.run import Run
from tidemark.runs.tables.reread import can_go_on
from tidemark.runs.tables.work import TableWork


def refuse_filled_nulls(run: Run, chosen: Chosen, work: TableWork, ref_update: RefUpdate) -> None:
    """Raise where a row of what is staged has null, and a statement above it filled the column.

    A row that was changed or read again since stands above the statement. Where changes are kept
    as they came, null is what they told. Costs a scan of two columns in a cut with such a
    statement, or with a change from below it.
    """
    if work.spec.mode is TargetMode.APPEND:
        return
    entries = (
        *chosen.profile.of(work.spec.source, CheckpointStatus.PENDING),
        *chosen.profile.of(work.spec.source, CheckpointStatus.REPLAYED),
    )
    for column in work.source_schema.columns:
        if _may_be_filled(work, column, entries):
            _refuse(run, work, column, ref_update)


def _may_be_filled(work: TableWork, column: SourceColumn, entries: Iterable[ProfileEntry]) -> bool:
    rules, below, have = work.source_schema.rules, column.filled_below, work.have
    if below is None or rules.mask(column.name) is Mask.REDACT:
        return False
    if work.source_schema.target_name(column.name) is None:
        return False
    known = have[column.name].filled_below if have and column.name in have.names else None
    return below != known or any(reaches(entry, below) for entry in entries)


def _refuse(run: Run, work: TableWork, column: SourceColumn, ref_update: RefUpdate) -> None:
    name = quote(work.source_schema.target_name(column.name) or column.name)
    staged = (
        run.world.spark.read.option("versionAsOf", ref_update.snapshot)
        .table(quote(run.world.catalog.name, *ref_update.place.parts))
        .where(work.schema.stands)
    )
    is_older = F.col(POSITION).isNull() | (F.col(POSITION) <= F.lit(column.filled_below))
    rows = staged.where(F.col(name).isNull() & is_older).count()
    if not rows:
        return
    table, pipeline = work.spec.source, run.pipeline
    what = (
        f"{table} cannot be followed: {rows} rows have null in {column.name}, and the statement at "
        f"position {column.filled_below} may have given them a value, which no event tells"
    )
    again = "change these rows once more at the source"
    if not can_go_on(pipeline, work.spec, work.have):
        raise TableStoppedError(what, state=WAITING, next_step=f"{again}: then it goes on")
    raise RowsUnknownError(
        what,
        state=WAITING,
        next_step=f"{again}, or have all rows of the table read again: tidemark resync "
        f"{pipeline.name} {table}; then it goes on by itself",
    )
