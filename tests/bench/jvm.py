"""The Java machine of a session: which process it is, and how much of its heap is in use."""

from __future__ import annotations

import time
from typing import Any

import psutil
from pyspark.sql import SparkSession

COLLECTIONS, CLEANING_SECONDS = 3, 0.5


def _java(session: SparkSession) -> Any:
    """Java's own names; py4j has no types."""
    jvm = session.sparkContext._jvm
    if jvm is None:
        raise RuntimeError("the session has no Java machine")
    return jvm.java


def process_of(session: SparkSession) -> psutil.Process:
    """The process that the session runs in."""
    return psutil.Process(_java(session).lang.ProcessHandle.current().pid())


def used_heap_bytes(session: SparkSession) -> int:
    """Heap that is in use after full collections; Spark drops what each shows it to be unused."""
    memory = _java(session).lang.management.ManagementFactory.getMemoryMXBean()
    used: list[int] = []
    for _ in range(COLLECTIONS):
        _java(session).lang.System.gc()
        used.append(int(memory.getHeapMemoryUsage().getUsed()))
        time.sleep(CLEANING_SECONDS)
    return min(used)


def java_version(session: SparkSession) -> str:
    """The version of the machine."""
    return str(_java(session).lang.System.getProperty("java.version"))
