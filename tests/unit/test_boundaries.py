"""DAG files know nothing of Spark, and Spark jobs nothing of Airflow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FORBIDDEN = {
    "dags": ("jobs", "pyspark", "tidemark.runs", "tidemark.lake", "tidemark.topics"),
    "jobs": ("airflow", "dags", "tidemark.scheduling"),
}


def imports(file: Path) -> Iterator[str]:
    """Every module that ``file`` imports anywhere, and every name that it takes from one."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(
    "file",
    sorted(file for folder in FORBIDDEN for file in (REPOSITORY / folder).glob("*.py")),
    ids=lambda file: f"{file.parent.name}/{file.name}",
)
def test_file_stays_on_its_side(file: Path) -> None:
    crossed = [
        name
        for name in imports(file)
        for forbidden in FORBIDDEN[file.parent.name]
        if f"{name}.".startswith(f"{forbidden}.")
    ]
    assert crossed == []


def test_a_crossing_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "any.py"
    file.write_text("def f():\n    from tidemark.runs import cut\n    import pyspark.sql as s\n")
    assert list(imports(file)) == ["tidemark.runs.cut", "pyspark.sql"]
