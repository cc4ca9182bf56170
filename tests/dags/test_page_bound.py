"""What the page reads of 50 pipelines of 20 tables: a bound, once in a while, whoever looks."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from airflow.api_fastapi.core_api.security import get_user
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from fastapi.testclient import TestClient
from pyiceberg.catalog.sql import SqlCatalog

import tidemark.page.statuses
from tests.dags.test_page import app as app
from tidemark.lake.catalog import SystemTables
from tidemark.lake.ledger import StagedCut, read_ledger, stage_entry
from tidemark.lake.verdicts import write_verdicts
from tidemark.model.names import AttemptId
from tidemark.model.progress import Progress
from tidemark.model.result import CutResult, CutStatus, TableResult
from tidemark.model.verdict import CheckResult, Severity, Verdict
from tidemark.runs.publish import publish_cut
from tidemark.runs.world import open_world
from tidemark.spec import InstallationSpec, PipelineSpec

PIPELINES, TABLES, CUTS = 50, 20, 2
TOPIC = "page-bound"
PASSED = CheckResult("counts", success=True, severity=Severity.CRITICAL, observed="as expected")
LOADS_OF_PIPELINE = 16
"""Loads of a pipeline's own tables from the catalog, of which there are five."""


def pipeline(number: int) -> PipelineSpec:
    name = f"p{number}"
    return PipelineSpec.model_validate(
        {
            "name": name,
            "description": "a test",
            "owner": "tests",
            "schedule": None,
            "source": {
                "format": "ticdc-canal-json",
                "gate": "watermark",
                "topics": {"data": [TOPIC]},
                "zone": "UTC",
            },
            "tables": [
                {"source": f"{name}.t{table}", "expectations": "none"} for table in range(TABLES)
            ],
        }
    )


SPECS = tuple(pipeline(number) for number in range(PIPELINES))


def publish(spec: PipelineSpec, installation: InstallationSpec) -> None:
    """Publish cuts that changed every table: their ledgers and verdicts, without the targets."""
    world, system = open_world(installation), SystemTables.of(spec.name)
    for cut in range(1, CUTS + 1):
        attempt = AttemptId(f"run_{cut}")
        targets = [f"{spec.target_namespace}.{table.target}" for table in spec.tables]
        verdicts = [
            Verdict(target, 1_000 * cut + number, "none", (PASSED,))
            for number, target in enumerate(targets)
        ]
        tables = tuple(
            TableResult(str(table.source), verdict.table, verdict.snapshot_id, inserted=7)
            for table, verdict in zip(spec.tables, verdicts, strict=True)
        )
        write_verdicts(world.catalog, system, attempt, cut, verdicts)
        result = CutResult(CutStatus.STAGED, attempt, cut, tables=tables, buckets={"applied": 140})
        head = read_ledger(world.catalog, system).snapshot
        stage_entry(world.catalog, system, head, StagedCut(result, Progress(cut=cut), ()), "a test")
        publish_cut(spec, world, attempt)


@pytest.fixture(scope="module")
def installation(broker: str, tmp_path_factory: pytest.TempPathFactory) -> InstallationSpec:
    """A lake with the ledgers of all pipelines, and a broker with their topic."""
    folder = tmp_path_factory.mktemp("lake")
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(timeout=30)
    installation = InstallationSpec.model_validate(
        {
            "kafka": {"bootstrap-servers": broker},
            "catalog": {
                "name": "lake",
                "uri": f"sqlite:///{folder}/catalog.db",
                "warehouse": str(folder / "warehouse"),
            },
            "spark": {"jars": str(folder)},
            "state": str(folder / "state"),
        }
    )
    for spec in SPECS:
        publish(spec, installation)
    return installation


@pytest.fixture
def loads(
    app: ModuleType, installation: InstallationSpec, monkeypatch: pytest.MonkeyPatch
) -> Counter[str]:
    """How often each table was loaded from the catalog since the page was begun."""
    counted: Counter[str] = Counter()
    load_table = SqlCatalog.load_table

    def load(catalog: SqlCatalog, identifier: Any) -> Any:
        counted[".".join(identifier)] += 1
        return load_table(catalog, identifier)

    monkeypatch.setattr(SqlCatalog, "load_table", load)
    monkeypatch.setattr(app, "_STATUSES", app.Statuses())
    monkeypatch.setattr(app, "_may_read", lambda *_: True)
    monkeypatch.setattr(app, "_may_run", lambda *_: True)
    monkeypatch.setattr("tidemark.spec.sound_pipelines", lambda: SPECS)
    monkeypatch.setattr(
        "tidemark.scheduling.connections.load_installation_for", lambda _: installation
    )
    monkeypatch.setitem(app.app.dependency_overrides, get_user, lambda: SimpleNamespace())
    return counted


def test_what_the_page_reads_is_bounded_and_shared(
    app: ModuleType, loads: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each pipeline its own few tables; none of the 1000 targets, and nothing twice."""
    monkeypatch.setattr(tidemark.page.statuses, "FRESH_SECONDS", 600.0)
    with TestClient(app.app) as client, ThreadPoolExecutor(4) as people:
        looks = list(people.map(client.get, ["/"] * 4))
        assert [look.status_code for look in looks] == [200] * 4
        assert looks[0].text.count(f"20 tables, cut {CUTS}, ") == PIPELINES
        namespaces = {table.partition(".")[0] for table in loads}
        assert namespaces == {f"tidemark_{spec.name}" for spec in SPECS}
        assert loads.total() <= PIPELINES * LOADS_OF_PIPELINE
        first = loads.total()
        for path in ("/", "/pipelines/p7", "/"):
            assert client.get(path).status_code == 200
        assert loads.total() == first, "what is fresh is not read again"


def test_a_page_of_a_table_reads_its_history_once(
    app: ModuleType, loads: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidemark.page.statuses, "FRESH_SECONDS", 600.0)
    with TestClient(app.app) as client:
        for _ in range(2):
            page = client.get("/pipelines/p7/table", params={"name": "p7.t3"})
            assert page.status_code == 200
            assert page.text.count(f"<td>{CUTS}003</td>") == 1, "the newest snapshot"
        assert {table.partition(".")[0] for table in loads} == {"tidemark_p7"}
        assert loads.total() <= 2 * LOADS_OF_PIPELINE
        assert client.get("/pipelines/p7/table", params={"name": "p7.t99"}).status_code == 404


def test_what_is_old_is_read_again(
    app: ModuleType, loads: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidemark.page.statuses, "FRESH_SECONDS", 0.0)
    with TestClient(app.app) as client:
        client.get("/pipelines/p7")
        once = loads.total()
        client.get("/pipelines/p7")
    assert loads.total() == 2 * once
