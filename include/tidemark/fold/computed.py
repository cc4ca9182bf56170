"""Frames that are used more than once."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame


def computed_once(frame: DataFrame) -> DataFrame:
    """``frame``, computed now; whatever uses it reads it from the executors' disks.

    A cached frame would not do: once a table that it reads is written, Spark makes another cache
    entry of it, which no `unpersist` finds, and its whole plan is part of every plan that uses it:
    what is decoded twice in one plan was seen to take 40 s and 500 MB to optimise.
    Spark keeps no second copy of such rows: a job that needs those of a lost executor fails, and
    with it the attempt.
    """
    return frame.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)
