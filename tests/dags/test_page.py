"""What the page reads of pipelines, one of which cannot be read."""

from __future__ import annotations

import warnings
from importlib import import_module
from types import ModuleType

import pytest

from tests.unit.cli.test_lag import STATUS
from tidemark.errors import ForeignChangeError
from tidemark.page.views import Light, overview
from tidemark.runs.status import PipelineStatus
from tidemark.spec import InstallationSpec, PipelineSpec


def pipeline(name: str) -> PipelineSpec:
    return PipelineSpec.model_validate(
        {
            "name": name,
            "description": "a test",
            "owner": "tests",
            "schedule": None,
            "source": {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}},
            "other-tables": "follow",
        }
    )


@pytest.fixture(scope="module")
def app() -> ModuleType:
    """The page; Airflow's server, which it imports, warns of its own packages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("tidemark.page.app")


def test_a_pipeline_that_cannot_be_read_hides_no_other(
    app: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PUB-11: somebody set back its ledger, or its installation cannot be read."""
    changed = ForeignChangeError("main was set back", state="so it is", next_step="go forward")

    def status(spec: PipelineSpec, _: object) -> PipelineStatus:
        if spec.name == "zoo":
            raise changed
        return STATUS

    def installation(name: str) -> InstallationSpec | None:
        if name == "lost":
            raise changed
        return None

    monkeypatch.setattr(app, "_STATUSES", app.Statuses())
    monkeypatch.setattr("tidemark.runs.world.open_world", lambda _: None)
    monkeypatch.setattr("tidemark.scheduling.connections.load_installation_for", installation)
    monkeypatch.setattr("tidemark.runs.status.pipeline_status", status)
    lines = overview(app._statuses([pipeline("shop"), pipeline("zoo"), pipeline("lost")]))
    assert [(line.name, line.light, line.published) for line in lines] == [
        ("lost", Light.FAILS, "?"),
        ("zoo", Light.FAILS, "?"),
        ("shop", Light.WAITS, "never"),
    ]
    assert lines[0].sentence == "main was set back"
