"""Pools are handed to Airflow in the form that it imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tidemark.spec import load_pipelines


def test_every_pipeline_has_a_pool_with_one_slot(tmp_path: Path) -> None:
    file = tmp_path / "pools.json"
    subprocess.run([sys.executable, "-m", "tidemark.scheduling.pools", str(file)], check=True)
    pools = json.loads(file.read_text())
    assert set(pools) == {f"pipeline__{pipeline.name}" for pipeline in load_pipelines()}
    assert all(pool["slots"] == 1 and pool["description"] for pool in pools.values())
