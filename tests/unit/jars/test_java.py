"""A machine without a fitting Java gets one clear sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_absent_java_is_one_sentence(tmp_path: Path) -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "tidemark.jars.java"],
        env={**os.environ, "JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 1
    assert outcome.stderr == (
        f"tidemark needs Java: no Java was found by JAVA_HOME={tmp_path}; "
        "install Java 17 or 21, or set JAVA_HOME to one\n"
    )
