"""Keys that rows exchanged inside one transaction: whose end is the newest change? (KEY-9).

A key that is checked at the end of a transaction only (PostgreSQL's ``DEFERRABLE``) can belong to
two rows for a while. The end of the one that had it then comes after the row that took it, and
looks like the end of the latter.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.fold.unchanged import ORDER

EXAMPLE = ("position", "topic", "partition", "offset")


def swapped_keys(changes: DataFrame, move: Column) -> DataFrame:
    """The ends of keys that a row left and another came to in one transaction, in this order.

    In: all changes of a table with their ``row_key``; move: as a decoder's ``key_move``. Out:
    EXAMPLE, the newest change of each such key.
    """
    order = F.struct(*ORDER)
    moves = changes.withColumn("_move", move).withColumn("_order", order)
    newest = F.max_by(F.struct("_move", *EXAMPLE), "_order")
    came_in = F.max_by(
        F.when(F.col("_move.comes"), F.col("_move.transaction")),
        F.when(F.col("_move.comes"), F.col("_order")),
    )
    ends = moves.groupBy("row_key").agg(newest.alias("newest"), came_in.alias("came_in"))
    is_doubtful = F.col("newest._move.leaves") & (
        F.col("newest._move.transaction") == F.col("came_in")
    )
    return ends.where(is_doubtful).select(*(f"newest.{name}" for name in EXAMPLE))
