"""What jobs make of the tables that they are started for, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import yaml
from structlog.contextvars import clear_contextvars

from tidemark.jobs import cut, maintain
from tidemark.lake.results import read_maintenance, read_result

PIPELINE = {
    "name": "shop",
    "description": "a test",
    "owner": "tests",
    "schedule": None,
    "source": {"format": "ticdc-canal-json", "gate": "watermark", "topics": {"data": ["shop"]}},
    "other-tables": "follow",
}


@pytest.fixture(autouse=True)
def pipelines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(PIPELINE))
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(tmp_path))
    yield
    clear_contextvars()


@pytest.mark.parametrize(
    ("main", "attempt"), [(cut.main, ["--attempt=a_1"]), (maintain.main, [])], ids=["cut", "upkeep"]
)
def test_what_is_no_table_is_the_result(
    tmp_path: Path, main: Callable[[Sequence[str]], int], attempt: list[str]
) -> None:
    """POISON-6: or the task would see a job that died, and start it again and again."""
    file = tmp_path / "result.json"
    names = ["--table=shop.a,b", "--table=orders"]
    assert main(["--pipeline=shop", *attempt, *names, f"--result={file}"]) == 1
    result = read_result(file) if attempt else read_maintenance(file)
    assert result is not None
    assert result.error.startswith("NameRefusedError: table name 'orders.' is refused")
    assert not result.retryable
