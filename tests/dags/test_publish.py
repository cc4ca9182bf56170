"""What the publish task does when nobody knows whether its cut was published (PUB-5)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from airflow.sdk import BaseOperator
from airflow.sdk.execution_time.context import OutletEventAccessors

from tests.support.commit_proxy import CommitProxy, Fault, commit_proxy
from tests.support.postgres import USER, running_postgres
from tests.support.staged_cut import PIPELINE, TARGETS, new_world, rows, stage
from tidemark.errors import OutcomeUnknownError
from tidemark.model.names import AttemptId
from tidemark.runs.world import World
from tidemark.scheduling.tasks import publish

ATTEMPT = AttemptId("try_1")


class Fold:
    """What fold left for the task that comes after it, and that task itself."""

    def __init__(self) -> None:
        self.task = BaseOperator(task_id="publish")

    def xcom_pull(self, task_ids: str) -> dict[str, Any]:
        assert task_ids == "fold"
        return {"attempt": ATTEMPT, "status": "staged", "cut": 1, "tables": 2, "hold": ""}


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with running_postgres() as server:
        yield server.uri


@pytest.fixture
def proxy(postgres: str) -> Iterator[CommitProxy]:
    with commit_proxy(postgres) as proxy:
        yield proxy


@pytest.fixture
def world(
    postgres: str, proxy: CommitProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> World:
    """Beside the files by which the task finds the same catalog, through the proxy."""
    world = new_world(postgres, tmp_path)
    installation = {
        "kafka": {"bootstrap-servers": "127.0.0.1:1"},
        "catalog": {
            "name": world.catalog.name,
            "uri": proxy.uri,
            "user": USER,
            "warehouse": world.installation.catalog.warehouse,
        },
        "spark": {"jars": str(tmp_path)},
        "state": str(tmp_path),
    }
    file = tmp_path / "installation.yaml"
    file.write_text(yaml.safe_dump(installation))
    pipelines = tmp_path / "pipelines"
    pipelines.mkdir()
    declared = PIPELINE.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    (pipelines / f"{PIPELINE.name}.yaml").write_text(yaml.safe_dump(declared))
    monkeypatch.setenv("TIDEMARK_INSTALLATION", str(file))
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(pipelines))
    return world


def run_task() -> dict[str, int]:
    return publish(PIPELINE.name, Fold(), OutletEventAccessors())  # type: ignore[arg-type]


def test_it_fails_to_be_tried_again_and_then_tells_what_was_published(
    world: World, proxy: CommitProxy
) -> None:
    """It fails as every error that is tried again: neither for good, nor as skipped."""
    stage(world, ATTEMPT, 1, [1])
    is_done = proxy.arm(Fault.LATE, 1.0)
    with pytest.raises(OutcomeUnknownError):
        run_task()
    assert not is_done.is_set()
    assert run_task() == {"cut": 1, "tables": 2}
    assert [rows(world, table) for table in TARGETS] == [[1], [1]]
