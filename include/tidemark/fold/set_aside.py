"""Changes that cannot be applied, and what their keys become without them (POISON-4, UNAV-7)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from tidemark.model.columns import CHANGE, LEFT_OUT, MISREAD, POSITION
from tidemark.model.names import ColumnName, quote

ORDER = (POSITION, f"{CHANGE}.part", f"{CHANGE}.partition")


def decided(typed: DataFrame, key: Sequence[ColumnName]) -> DataFrame:
    """Every change of keys whose newest one cannot be applied, and what is done with it.

    In: `formats.rows.typed_rows` with CHANGE, of which ``part`` and ``partition`` are read. Out:
    the same; ``is_kept``: the newest that can be applied as it stands; ``is_aside``: those above
    it, or all where there is none. What is below it was superseded.

    A change that leaves values out is not kept: what it lacks may be what cannot be read.
    """
    own = Window.partitionBy(*(F.col(quote(name)) for name in key))
    order = F.struct(*(F.col(name).alias(f"_{number}") for number, name in enumerate(ORDER)))
    can_be_applied = F.col(MISREAD).isNull() & F.col(LEFT_OUT).isNull()
    return (
        typed.withColumn("_order", order)
        .withColumn("_kept", F.max(F.when(can_be_applied, F.col("_order"))).over(own))
        .withColumn("is_kept", F.coalesce(F.col("_order") == F.col("_kept"), F.lit(False)))
        .withColumn("is_aside", F.coalesce(F.col("_order") > F.col("_kept"), F.lit(True)))
        .drop("_order", "_kept")
    )
