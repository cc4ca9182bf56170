"""Changes that are tried again: those that nothing has overtaken since (POISON-4).

The position of the target's row cannot tell, as a row that was deleted has none.
"""

from __future__ import annotations

from functools import reduce
from operator import and_

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.model.event import Op
from tidemark.model.reduction import EVENT_ID

NEWER = ("row_key", "position", "op")
"""What is read of settled changes."""


def not_overtaken(again: DataFrame, settled: DataFrame) -> DataFrame:
    """The changes of ``again`` that have no newer one of their key in ``settled``.

    In: changes with ``row_key``, ``position`` and ``op``. Out: of ``again``. What stands at the
    same place is a copy, but for a delete behind an upsert. A key that could not be read is no
    other change's key.
    """
    return _beside_newer(again, settled, "left_anti")


def overtaken(again: DataFrame, settled: DataFrame) -> DataFrame:
    """The changes of ``again`` that have a newer one of their key in ``settled``."""
    return _beside_newer(again, settled, "left_semi")


def _beside_newer(again: DataFrame, settled: DataFrame, how: str) -> DataFrame:
    newer = settled.select(
        F.col("row_key").alias("_key"),
        F.col("position").alias("_position"),
        F.col("op").alias("_op"),
        F.expr(EVENT_ID).alias("_event_id"),
    )
    is_copy = (F.expr(EVENT_ID) == F.col("_event_id")) & ~(
        (F.col("op") == Op.UPSERT.value) & (F.col("_op") == Op.DELETE.value)
    )
    overtakes = (F.col("_position") > F.col("position")) & ~is_copy
    key = again.select("row_key.*").columns
    same = (F.col("row_key")[name] == F.col("_key")[name] for name in key)
    return again.join(newer, reduce(and_, same, overtakes), how)
