"""What stays apart: DAG files and Spark, Spark jobs and Airflow, the changelog and its readers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "include" / "tidemark"
FORBIDDEN = {
    "dags": ("jobs", "pyspark", "tidemark.runs", "tidemark.lake", "tidemark.topics"),
    "jobs": ("airflow", "dags", "tidemark.scheduling"),
}
READER = PACKAGE / "runs" / "changelog.py"
COMPOSERS = {
    "tidemark.fold.admit": {"in_epochs", "only_at", "with_status"},
    "tidemark.fold.renamed": {"under_new_names"},
    "tidemark.lake.landing": {"read_changelog"},
}
"""What reads rows of the changelog, or gives them positions, names or statuses."""


def imports(file: Path) -> Iterator[str]:
    """Every module that ``file`` imports anywhere, and every name that it takes from one."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(
    "file",
    sorted(
        file
        for folder in FORBIDDEN
        for root in (REPOSITORY, PACKAGE)
        for file in (root / folder).glob("*.py")
    ),
    ids=lambda file: str(file.relative_to(REPOSITORY)),
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


def composers(file: Path) -> list[str]:
    """What ``file`` imports of COMPOSERS: a function, or a module that has one."""
    forbidden = {f"{module}.{name}" for module, names in COMPOSERS.items() for name in names}
    return [name for name in imports(file) if name in forbidden | COMPOSERS.keys()]


def test_one_reader_composes_the_changelog() -> None:
    """POS-17, SCHEMA-31: names and statuses go by positions, so epochs come first everywhere."""
    found = {file for file in PACKAGE.rglob("*.py") if composers(file)}
    assert found == {READER}
    assert {name.rpartition(".")[2] for name in composers(READER)} == set.union(*COMPOSERS.values())


def test_a_second_composer_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "any.py"
    file.write_text(
        "from tidemark.fold import admit\n"
        "from tidemark.fold.renamed import is_table, under_new_names as now\n"
    )
    assert composers(file) == ["tidemark.fold.admit", "tidemark.fold.renamed.under_new_names"]
