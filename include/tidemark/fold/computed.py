"""Frames that are used more than once."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame


def computed_once(frame: DataFrame) -> DataFrame:
    """``frame``, computed now; whatever uses it reads it from the executors' disks.

    A cached frame would not do: once a table that it reads is written, Spark makes another cache
    entry of it, which no `unpersist` finds, and its whole plan is part of every plan that uses it:
    what is decoded twice in one plan takes minutes and hundreds of MB to optimise.
    An executor that dies takes its part along: the attempt fails, and the next one goes on.
    """
    return frame.localCheckpoint(eager=True, storageLevel=StorageLevel.DISK_ONLY)
