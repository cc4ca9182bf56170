"""Rows to which a statement may have given values that no event tells (SCHEMA-13).

A column that no longer takes null, by MODIFY or CHANGE or as part of a primary key, has a value in
every row: of a TIMESTAMP the time of the statement, of any other type its zero, where `sql_mode` is
not strict. One that becomes AUTO_INCREMENT numbers the rows that had null or 0 in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidemark.errors import WAITING, RowsUnknownError, TableStoppedError
from tidemark.lake.refs import RefUpdate
from tidemark.model.checkpoint_status import CheckpointStatus
from tidemark.model.column_rules import Mask
from tidemark.model.columns import POSITION, SourceColumn
from tidemark.model.names import quote
from tidemark.model.position import Position
from tidemark.model.profile import ProfileEntry
from tidemark.model.target_mode import TargetMode
from tidemark.runs.choose import Chosen
from tidemark.runs.columns.withheld import reaches
from tidemark.runs.run import Run
from tidemark.runs.tables.reread import can_go_on
from tidemark.runs.tables.work import TableWork

ZEROS = ("0", "0.0", hashlib.sha256(b"0").hexdigest())
"""How a target has 0 in a number of any type, and in a column that it hashes."""


def refuse_filled_nulls(run: Run, chosen: Chosen, work: TableWork, ref_update: RefUpdate) -> None:
    """Raise where a row of what is staged lacks the value that a statement above it may have given.

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
    is_filled = F.col(name).isNull() & _is_older(column.filled_below)
    is_numbered = F.col(name).cast("string").isin(*ZEROS) & _is_older(column.numbered_below)
    rows = staged.where(is_filled | is_numbered).count()
    if not rows:
        return
    table, pipeline = work.spec.source, run.pipeline
    lacks = "null" if column.numbered_below is None else "null or 0"
    what = (
        f"{table} cannot be followed: {rows} rows have {lacks} in {column.name}, and the statement "
        f"at position {column.filled_below} may have given them a value, which no event tells"
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


def _is_older(below: Position | None) -> Column:
    """Whether a row stands at or below a statement, if there is one."""
    if below is None:
        return F.lit(False)
    return F.col(POSITION).isNull() | (F.col(POSITION) <= F.lit(below))
