"""Append targets: each change once, under an identity that copies of it share (POS-14, KEY-14)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.fold.latest import IS_NEWEST
from tidemark.model.columns import ROW, UNAVAILABLE, TableSchema
from tidemark.model.names import quote
from tidemark.model.reduction import EVENT_ID, NEWEST_FIRST

_READ = "CASE WHEN snapshot IS NULL THEN '' ELSE '.read' END"
_IDENTITY = f"{EVENT_ID} || {_READ} || '.' || part || '.' || op || '.' || hex(xxhash64(row_key))"
_COPIES = f"PARTITION BY {ROW} ORDER BY {NEWEST_FIRST}"


def mark_copies(changes: DataFrame) -> DataFrame:
    """Mark the newest of the copies of each change. In: one row per change. Out: ROW, IS_NEWEST."""
    named = changes.withColumn(ROW, F.expr(_IDENTITY))
    return named.withColumn(IS_NEWEST, F.expr(f"row_number() OVER ({_COPIES}) = 1"))


def without_unavailable(typed: DataFrame, schema: TableSchema) -> DataFrame:
    """Typed changes without the placeholders that stand for values they leave out (UNAV-1)."""
    unavailable = (column.name for column in schema.columns if column.may_be_unavailable)
    return typed.withColumns(
        {
            name: F.when(~F.coalesce(F.array_contains(UNAVAILABLE, name), F.lit(False)), quoted)
            for name, quoted in ((name, F.col(quote(name))) for name in unavailable)
        }
    )
