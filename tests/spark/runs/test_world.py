"""What a session that Tidemark opens starts with."""

from __future__ import annotations

from tidemark.runs.world import World
from tidemark.spec.launch import LOCAL_FILES


def test_local_files_need_no_process_of_their_own(world: World) -> None:
    """The first file system of a JVM stays: a setting that comes later changes nothing."""
    context = world.spark.sparkContext
    assert context._jvm is not None  # noqa: SLF001  no other way to Hadoop
    hadoop = context._jvm.org.apache.hadoop.fs  # noqa: SLF001
    settings = context._jsc.hadoopConfiguration()  # noqa: SLF001
    found = hadoop.FileSystem.getLocal(settings).getClass().getName()
    assert [found] == list(LOCAL_FILES.values())
