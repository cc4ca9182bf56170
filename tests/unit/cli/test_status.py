"""`tidemark status` of several pipelines, of which one cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from tests.unit.cli.test_lag import STATUS
from tidemark.cli.app import app
from tidemark.errors import ForeignChangeError
from tidemark.runs.status import PipelineStatus
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

CHANGED = ForeignChangeError(
    "main of zoo_tidemark.ledger was set back", state="it is not read", next_step="set main forward"
)


def _status(pipeline: PipelineSpec, _: World) -> PipelineStatus:
    if pipeline.name == "zoo":
        raise CHANGED
    return STATUS


@pytest.fixture(autouse=True)
def pipelines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pipelines ``shop`` and ``zoo``; somebody changed the ledger of ``zoo``."""
    source = {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}}
    document = {"description": "d", "owner": "o", "schedule": None, "other-tables": "follow"}
    for name in ("shop", "zoo"):
        text = yaml.safe_dump({"name": name, **document, "source": source})
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(tmp_path))
    monkeypatch.setattr("tidemark.cli.session.catalog_world", lambda: None)
    monkeypatch.setattr("tidemark.runs.status.pipeline_status", _status)


def test_a_pipeline_that_cannot_be_read_is_shown_beside_the_others() -> None:
    """PUB-11: what somebody did to the ledger of one is no matter of another one."""
    ended = CliRunner().invoke(app, ["status"])
    assert ended.exit_code == 1
    rows = {line.split()[0]: line.split() for line in ended.stdout.splitlines() if line.strip()}
    assert rows["shop"][1:] == ["-", "never", "0", "0", "nothing", "to", "do"]
    assert rows["zoo"][1:] == ["-", "?", "?", "?", "tidemark", "status", "zoo"]
    assert f"ForeignChangeError: {CHANGED}" in ended.stdout


def test_programs_are_shown_the_trouble_of_one() -> None:
    """PUB-11"""
    ended = CliRunner().invoke(app, ["status", "--json"])
    shop, zoo = json.loads(ended.stdout)["pipelines"]
    assert (shop["trouble"], zoo["trouble"]) == ("", f"ForeignChangeError: {CHANGED}")
    assert zoo["next"] == "set main forward"


def test_a_pipeline_that_was_asked_for_alone_ends_with_its_error() -> None:
    """PUB-11"""
    ended = CliRunner().invoke(app, ["status", "zoo"])
    assert ended.exit_code != 0
    assert ended.exception is CHANGED or str(CHANGED) in ended.output
