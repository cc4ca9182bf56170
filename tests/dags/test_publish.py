"""What the publish task does when nobody knows whether its cut was published (PUB-5)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from airflow.providers.openlineage.extractors import OperatorLineage
from airflow.providers.openlineage.extractors.manager import ExtractorManager
from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from airflow.sdk.execution_time.context import OutletEventAccessors
from airflow.utils.state import TaskInstanceState

from tests.support.commit_proxy import CommitProxy, Fault, commit_proxy
from tests.support.postgres import USER, running_postgres
from tests.support.staged_cut import PIPELINE, TARGETS, new_world, rows, stage
from tidemark.errors import OutcomeUnknownError
from tidemark.model.names import AttemptId
from tidemark.runs import stall as stalls
from tidemark.runs.publish import publish_cut
from tidemark.runs.stall import Stall
from tidemark.runs.world import World
from tidemark.scheduling.audit_operator import AuditOperator
from tidemark.scheduling.publish_operator import PublishOperator
from tidemark.scheduling.tasks import audit, publish, stall

ATTEMPT = AttemptId("try_1")
EIGHT = "asof_20261124T0800"


class Fold:
    """What fold left for the task that comes after it, and that task itself."""

    def __init__(self, status: str = "staged") -> None:
        self.task = BaseOperator(task_id="publish")
        self.status = status

    def xcom_pull(self, task_ids: str, key: str = "return_value") -> dict[str, Any]:
        if task_ids == "plan":
            return {"starts": {"p.a": {"0": 7}}}
        assert (task_ids, key) == ("fold", "return_value")
        return {"attempt": ATTEMPT, "status": self.status, "cut": 1, "tables": 2, "hold": ""}


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
    declared |= {"target-namespace": "db", "limits": {"when-stalled": "fail"}}
    (pipelines / f"{PIPELINE.name}.yaml").write_text(yaml.safe_dump(declared))
    monkeypatch.setenv("TIDEMARK_INSTALLATION", str(file))
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(pipelines))
    return world


def run_task() -> dict[str, int | str]:
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


def test_it_tells_the_tag_of_its_own_cut(world: World) -> None:
    """Also where it is repeated, and not that of another run's cut."""
    stage(world, ATTEMPT, 1, [1], tag=EIGHT)
    for _ in range(2):
        assert run_task() == {"cut": 1, "tables": 2, "tag": EIGHT}
    later = AttemptId("try_2")
    stage(world, later, 2, [2], tag="month_end")
    publish_cut(PIPELINE, world, later)
    assert run_task() == {"cut": 1, "tables": 2}


def lineage(operator: BaseOperator) -> OperatorLineage[Any, Any]:
    """What the provider finds out behind the task."""
    extractors = ExtractorManager()  # type: ignore[no-untyped-call]
    run, state = SimpleNamespace(run_id="run"), TaskInstanceState.SUCCESS
    return extractors.extract_metadata(run, operator, state, Fold())


def test_provider_of_lineage_is_told_what_was_audited_and_published(world: World) -> None:
    stage(world, ATTEMPT, 1, [1])
    run_task()
    name = {"pipeline": PIPELINE.name}
    published = lineage(PublishOperator(task_id="publish", python_callable=publish, op_kwargs=name))
    heads = [world.catalog.load_table(table.parts).current_snapshot() for table in TARGETS]
    versions = [str(head.snapshot_id) for head in heads if head]
    assert [table.facets["version"].datasetVersion for table in published.outputs] == versions
    assert [topic.name for topic in published.inputs] == ["p.a"]
    audited = lineage(AuditOperator(task_id="audit", pipeline=PIPELINE))
    assert [table.facets["version"].datasetVersion for table in audited.inputs] == versions
    found = [table.inputFacets["dataQualityAssertions"].assertions for table in audited.inputs]
    assert [(each.assertion, each.success) for (each,) in found] == [("counts", True)] * 2


@pytest.fixture
def stalled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hold that has been the same for an hour."""
    monkeypatch.setattr(stalls, "stall_of", lambda *_: Stall("it waits", 3_600_000))


@pytest.mark.usefixtures("stalled")
def test_what_is_published_has_asset_events_where_a_stall_fails_the_run(world: World) -> None:
    """GATE-O1: whoever waits for the tables is served by the part that was complete."""
    stage(world, ATTEMPT, 1, [1])
    fold, events = Fold(), OutletEventAccessors()
    assert publish(PIPELINE.name, fold, events) == {"cut": 1, "tables": 2}  # type: ignore[arg-type]
    outlets = fold.task.outlets
    assert [asset.name for asset in outlets] == [str(target) for target in TARGETS]
    assert [events[asset].extra["cut"] for asset in outlets] == [1, 1]
    with pytest.raises(AirflowFailException, match="no further for 60 minutes: it waits"):
        stall(PIPELINE.name)


@pytest.mark.usefixtures("world")
def test_task_behind_it_is_green_where_nothing_stalls() -> None:
    stall(PIPELINE.name)


@pytest.mark.usefixtures("world", "stalled")
def test_stall_fails_a_run_that_folds_nothing() -> None:
    """GATE-O1: a table that stands lower has runs fold, and find no new cut, for ever."""
    with pytest.raises(AirflowFailException, match="no further for 60 minutes"):
        audit(PIPELINE.name, Fold("idle"))  # type: ignore[arg-type]


@pytest.mark.usefixtures("world")
def test_run_that_folds_nothing_and_does_not_stall_is_skipped() -> None:
    with pytest.raises(AirflowSkipException):
        audit(PIPELINE.name, Fold("idle"))  # type: ignore[arg-type]
