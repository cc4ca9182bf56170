"""Which of PySpark's servers may be left to the end of the process."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.accumulators import _start_update_server

from tidemark.runs.jvm import ends_with_process


@pytest.mark.parametrize("by_file", [False, True])
def test_a_server_that_has_a_file_removes_it(tmp_path: Path, *, by_file: bool) -> None:
    socket = tmp_path / "s"
    server = _start_update_server("secret", by_file, str(socket) if by_file else None)
    assert socket.exists() == by_file
    assert ends_with_process(server) != by_file
    server.shutdown()
    assert not socket.exists()
