"""What a cut would hold, counted in one Spark job."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame

from tidemark.fold.admit import answer
from tidemark.model.profile import BatchProfile, ProfileEntry, profile_entries


def profile(frames: Sequence[DataFrame], gated_landing: int) -> BatchProfile:
    """Count the events of ``frames`` (changelog rows with ``status``)."""
    counted = (answer(frame, profile_entries(gated_landing)) for frame in frames)
    together = reduce(DataFrame.unionByName, counted)
    return BatchProfile(tuple(ProfileEntry.of(row.asDict()) for row in together.collect()))
