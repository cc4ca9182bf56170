"""The Java machine of a session: which process it is, and how much of its heap is in use."""

from __future__ import annotations

from typing import Any

import psutil
from pyspark.sql import SparkSession


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
    """Heap that is in use after a full collection."""
    _java(session).lang.System.gc()
    memory = _java(session).lang.management.ManagementFactory.getMemoryMXBean()
    return int(memory.getHeapMemoryUsage().getUsed())


def java_version(session: SparkSession) -> str:
    """The version of the machine."""
    return str(_java(session).lang.System.getProperty("java.version"))
