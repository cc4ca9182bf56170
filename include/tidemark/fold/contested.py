"""Keys that two rows had inside one transaction: whose end is the newest change? (KEY-9).

A key that is checked at the end of a transaction only (PostgreSQL's ``DEFERRABLE``) can belong to
two rows for a while. The delete of the one that had it then comes after the row that took it, and
looks like the delete of the latter. Rows are counted: where no two ever had the key at a time, as
with every key that is checked at once, the newest change decides.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Observation, Window
from pyspark.sql import functions as F

from tidemark.fold.latest import OF_KEY, hashed
from tidemark.fold.unchanged import ORDER
from tidemark.model.event import Op
from tidemark.model.names import SYSTEM_PREFIX
from tidemark.model.reduction import EVENT_ID, newest_first

EXAMPLE = ("position", "topic", "partition", "offset")
MOST, BEFORE = "most", "before"
_IS_CONTESTED = f"{SYSTEM_PREFIX}contested"
_WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


def count_contested(changes: DataFrame, counts: str, contested: Observation) -> DataFrame:
    """``changes``; ``contested`` counts the keys that `contested_keys` has to look at, or more.

    Those whose newest change is a delete and that another change gave a row. It costs no job and no
    shuffle: what reduces the changes afterwards takes over how they are partitioned. counts: which
    of them do, as SQL that is never null.
    """
    order = f"{OF_KEY} ORDER BY {newest_first(counts)}"
    is_newest = f"row_number() OVER ({order}) = 1"
    has_upsert = f"max(op = '{Op.UPSERT}') OVER ({order} {_WHOLE})"
    marked = hashed(changes).withColumn(
        _IS_CONTESTED, F.expr(f"op = '{Op.DELETE}' AND {is_newest} AND {has_upsert}")
    )
    number = F.count(F.when(F.col(_IS_CONTESTED), 1))
    return marked.observe(contested, number.alias("keys")).drop(_IS_CONTESTED)


def contested_keys(changes: DataFrame, transaction: Column, begins: Column) -> DataFrame:
    """Keys whose newest change is a delete, in a transaction that gave a row the key before it.

    In: the changes of a table that count, with their ``row_key``; transaction: which one a change
    belongs to, null for a row of a snapshot; begins: whether an upsert makes a row. Out:
    ``row_key``; EXAMPLE, of the delete; MOST, how many rows had the key at most inside the
    transaction, beyond those that had it before; BEFORE, how many rows the newest change before the
    transaction left, null where the cut has none.
    """
    step = F.when(F.col("op") == Op.DELETE.value, -1).when(begins, 1).otherwise(0)
    steps = changes.select(
        "row_key",
        *EXAMPLE,
        F.struct(*ORDER).alias("at"),
        F.expr(EVENT_ID).alias("event_id"),
        step.alias("step"),
        transaction.alias("transaction"),
    )
    of_key = Window.partitionBy("row_key")
    copies = Window.partitionBy("row_key", "event_id", "step").orderBy("at")
    ordered = of_key.orderBy("at")
    begins_row = F.col("step") == 1
    begun_by = F.max_by(F.when(begins_row, F.col("transaction")), F.when(begins_row, F.col("at")))
    newest = F.max_by(F.struct("step", "transaction", *EXAMPLE), "at")
    is_inside = F.coalesce(F.col("transaction") == F.col("newest.transaction"), F.lit(False))
    before = F.max_by(
        F.when(~F.col("is_inside"), F.when(F.col("step") == -1, 0).otherwise(1)),
        F.when(~F.col("is_inside"), F.col("at")),
    )
    return (
        steps.withColumns({"newest": newest.over(of_key), "begun_by": begun_by.over(of_key)})
        .where((F.col("newest.step") == -1) & (F.col("newest.transaction") == F.col("begun_by")))
        .withColumn("copy", F.row_number().over(copies))
        .where(F.col("copy") == 1)
        .withColumn("is_inside", is_inside)
        .withColumn(
            "rows", F.sum(F.when(F.col("is_inside"), F.col("step")).otherwise(0)).over(ordered)
        )
        .groupBy("row_key", "newest")
        .agg(F.max(F.when(F.col("is_inside"), F.col("rows"))).alias(MOST), before.alias(BEFORE))
        .select("row_key", *(f"newest.{name}" for name in EXAMPLE), MOST, BEFORE)
    )
