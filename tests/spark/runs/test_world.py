"""What a session starts with, and what is left where its start is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from py4j.protocol import Py4JJavaError

from embedded.home import embedded_environment
from embedded.process import has_ended
from tidemark.runs.world import World
from tidemark.spec.launch import LOCAL_FILES

# A shell ignores interrupts for what it runs in the background, and so did we if it started us.
STARTS_SPARK = """
import signal
from tidemark.runs.world import open_spark_world
from tidemark.spec import load_installation

signal.signal(signal.SIGINT, signal.default_int_handler)
open_spark_world(load_installation())
"""


def test_local_files_need_no_process_of_their_own(world: World) -> None:
    """The first file system of a JVM stays: a setting that comes later changes nothing."""
    context = world.spark.sparkContext
    assert context._jvm is not None  # noqa: SLF001  no other way to Hadoop
    hadoop = context._jvm.org.apache.hadoop.fs  # noqa: SLF001
    settings = context._jsc.hadoopConfiguration()  # noqa: SLF001
    found = hadoop.FileSystem.getLocal(settings).getClass().getName()
    assert [found] == list(LOCAL_FILES.values())


def test_a_database_that_is_down_is_told_as_such(world: World) -> None:
    """From an archive of classes Derby would answer for it: "sealing violation"."""
    jvm: Any = world.spark.sparkContext._jvm  # noqa: SLF001  JDBC as Iceberg asks it
    with pytest.raises(Py4JJavaError, match="Connection to 127.0.0.1:1 refused"):
        jvm.java.sql.DriverManager.getConnection("jdbc:postgresql://127.0.0.1:1/lake")


def test_an_interrupt_while_the_jvm_starts_ends_it_too(jars: Path, tmp_path: Path) -> None:
    """PySpark leaves one behind that waits for a caller."""
    with subprocess.Popen(
        [sys.executable, "-c", STARTS_SPARK],
        env={**os.environ, **embedded_environment(tmp_path, "127.0.0.1:1", jars)},
        stderr=subprocess.DEVNULL,
    ) as program:
        jvm = _await_jvm(psutil.Process(program.pid))
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=60) == -signal.SIGINT
    try:
        psutil.wait_procs([jvm], timeout=10)
        assert has_ended(jvm)
    finally:
        if jvm.is_running():
            jvm.kill()


def _await_jvm(program: psutil.Process) -> psutil.Process:
    """The JVM, as soon as it is one: its launcher is a shell."""
    for _ in range(600):
        for child in program.children():
            if child.name() == "java":
                return child
        time.sleep(0.1)
    raise AssertionError("no JVM was started within a minute")
