"""What a cut would hold, counted in one Spark job."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame

from tidemark.fold.admit import answer
from tidemark.model.survey import Group, Survey, groups


def survey(zoned: Sequence[DataFrame], gated_landing: int) -> Survey:
    """Count the events of ``zoned`` frames (changelog rows with ``zone``)."""
    counted = (answer(frame, groups(gated_landing)) for frame in zoned)
    together = reduce(DataFrame.unionByName, counted)
    return Survey(tuple(Group.of(row.asDict()) for row in together.collect()))
