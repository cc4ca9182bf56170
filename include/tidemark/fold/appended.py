"""Append targets: each change once, under an identity that copies of it share (POS-14, KEY-14)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.fold.latest import IS_NEWEST
from tidemark.fold.settled import IN_CUT, OCCURRENCE, only_of_cut
from tidemark.model.columns import ROW, UNAVAILABLE, TableSchema
from tidemark.model.names import quote
from tidemark.model.reduction import EVENT_ID, NEWEST_FIRST

_READ = "CASE WHEN snapshot IS NULL THEN '' ELSE '.read' END"
_FIRST = f"{EVENT_ID} || {_READ} || '.' || part || '.' || op || '.' || hex(xxhash64(row_key))"
"""The identity of the first change of a key and op at a place, and of all that one may be."""
_OF_PLACE = f"PARTITION BY {ROW}"
_OF_CHANGE = f"{_OF_PLACE}, nth"
_NTH = f"CASE WHEN at_place > 1 THEN {OCCURRENCE} END"
_IDENTITY = f"CASE WHEN number > 1 THEN {ROW} || '.' || number ELSE {ROW} END"


def mark_copies(changes: DataFrame) -> DataFrame:
    """Mark the newest of the copies of each change.

    In: `fold.settled.beside_settled`; what is settled is never marked, nor are copies of it. Out:
    one row per change of the cut, with ROW and IS_NEWEST. Where the log writes several changes of a
    key at one place, the later ones are numbered behind what is the identity of the first.
    """
    return (
        changes.withColumn(ROW, F.expr(_FIRST))
        .withColumn("at_place", F.expr(f"count(*) OVER ({_OF_PLACE})"))
        .withColumn("nth", F.expr(_NTH))
        .withColumns(
            {
                "rank": F.expr(f"row_number() OVER ({_OF_CHANGE} ORDER BY {NEWEST_FIRST})"),
                "is_new": F.expr(f"min({IN_CUT}) OVER ({_OF_CHANGE})"),
                "number": F.expr(f"dense_rank() OVER ({_OF_PLACE} ORDER BY nth)"),
            }
        )
        .withColumns({IS_NEWEST: F.expr("is_new AND rank = 1"), ROW: F.expr(_IDENTITY)})
        .drop("at_place", "nth", "rank", "is_new", "number")
        .transform(only_of_cut)
    )


def without_unavailable(typed: DataFrame, schema: TableSchema) -> DataFrame:
    """Typed changes without the placeholders that stand for values they leave out (UNAV-1)."""
    unavailable = (column.name for column in schema.columns if column.may_be_unavailable)
    return typed.withColumns(
        {
            name: F.when(~F.coalesce(F.array_contains(UNAVAILABLE, name), F.lit(False)), quoted)
            for name, quoted in ((name, F.col(quote(name))) for name in unavailable)
        }
    )
