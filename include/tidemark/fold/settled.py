"""Changes of a cut beside settled ones that stand at the same places of the log (POS-14).

A log may write several changes of a key at one place, and a cut may fall between them. Then only
what came before tells a change that came again from one that follows.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

IN_CUT, OCCURRENCE = "in_cut", "occurrence"


def beside_settled(changes: DataFrame, settled: DataFrame | None, occurrence: Column) -> DataFrame:
    """Changes of a cut and settled ones as they are, with IN_CUT and OCCURRENCE.

    occurrence: which of the changes of its key at its place a change is, null where none is told.
    """
    of_cut = changes.withColumn(IN_CUT, F.lit(True))
    if settled is not None:
        of_cut = of_cut.unionByName(settled.withColumn(IN_CUT, F.lit(False)))
    return of_cut.withColumn(OCCURRENCE, occurrence)


def only_of_cut(changes: DataFrame) -> DataFrame:
    """Changes as they were before `beside_settled`, with what was added to them since."""
    return changes.where(IN_CUT).drop(IN_CUT, OCCURRENCE)
