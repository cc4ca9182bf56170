"""Changes that cannot be applied, and what their keys become without them (POISON-4, UNAV-7)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from tidemark.model.columns import CHANGE, CONVERSION_ERROR, POSITION, UNAVAILABLE
from tidemark.model.names import SYSTEM_PREFIX, ColumnName, quote

APPLICABLE, QUARANTINED, _NEWEST = (
    f"{SYSTEM_PREFIX}{name}" for name in ("applicable", "quarantined", "newest")
)
ORDER = (POSITION, f"{CHANGE}.part", f"{CHANGE}.partition")


def decided(typed: DataFrame, key: Sequence[ColumnName]) -> DataFrame:
    """Every change of keys whose newest one cannot be applied, and what is done with it.

    In: `formats.rows.typed_rows` with CHANGE, of which ``part`` and ``partition`` are read. Out:
    the same; APPLICABLE: whether it is the newest that can be applied as it stands; QUARANTINED:
    whether it is above that, or there is none. What is below was superseded.

    A change with unavailable values is not applicable: what it lacks may be what cannot be read.
    """
    of_key = Window.partitionBy(*(F.col(quote(name)) for name in key))
    order = F.struct(*(F.col(name).alias(f"_{number}") for number, name in enumerate(ORDER)))
    can_be_applied = F.col(CONVERSION_ERROR).isNull() & F.col(UNAVAILABLE).isNull()
    newest = F.col(_NEWEST)
    return (
        typed.withColumn(_NEWEST, F.max(F.when(can_be_applied, order)).over(of_key))
        .withColumn(APPLICABLE, F.coalesce(order == newest, F.lit(False)))
        .withColumn(QUARANTINED, F.coalesce(order > newest, F.lit(True)))
        .drop(_NEWEST)
    )
