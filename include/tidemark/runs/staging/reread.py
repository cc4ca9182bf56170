"""Whether each row of a table came again from where its rows were unknown (SCHEMA-37)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.errors import RowsUnknownError
from tidemark.lake.staged import StagedRows, read_staged
from tidemark.model.columns import POSITION, STAGED_OP, TableSchema
from tidemark.model.event import Op
from tidemark.model.names import quote
from tidemark.runs.run import Run
from tidemark.runs.tables.reread import AGAIN
from tidemark.runs.tables.work import TableWork


def refuse_unread_rows(run: Run, work: TableWork, rows: StagedRows) -> None:
    """Raise where a row stays that is older than what made its values unknown.

    rows: the newest change of each key, of all that came. Costs a scan of the target's keys.
    """
    if work.reread is None or work.head is None or work.reread.at != work.new_truncate:
        return  # A truncate behind it leaves no row of before.
    session = run.world.spark
    name = quote(run.world.catalog.name, *work.target.parts)
    there = session.read.option("versionAsOf", work.head.snapshot).table(name)
    staged = read_staged(session, rows)
    is_left = (F.col(STAGED_OP) != Op.DELETE.value) & (F.col(POSITION) < work.reread.at)
    keys = _keys(there, work.schema).join(_keys(staged, work.schema), "key", "left_anti")
    # An unavailable value is that of an earlier row, which is unknown.
    unread = keys.count() + staged.where(is_left).count() + rows.unavailable
    if unread:
        stop = work.reread.stop
        raise RowsUnknownError(
            f"{stop.what}; {unread} rows were neither changed nor read again since",
            state=stop.state,
            next_step=f"{AGAIN}; else {stop.next_step}",
        )


def _keys(rows: DataFrame, schema: TableSchema) -> DataFrame:
    return rows.select(F.struct(*(F.col(quote(name)) for name in schema.row_key)).alias("key"))
