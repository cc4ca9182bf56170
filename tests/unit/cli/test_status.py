"""`tidemark status` of several pipelines, of which one cannot be read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from tests.unit.cli.test_lag import STATUS
from tidemark.cli.app import app
from tidemark.errors import ForeignChangeError
from tidemark.runs.status import Lag, PipelineStatus
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

CHANGED = ForeignChangeError(
    "main of zoo_tidemark.ledger was set back", state="it is not read", next_step="set main forward"
)


STALE = replace(STATUS, lag=Lag(1, 0, 0))


def _status(pipeline: PipelineSpec, _: World) -> PipelineStatus:
    if pipeline.name == "zoo":
        raise CHANGED
    return replace(STALE, freshness_ms=pipeline.freshness_ms) if pipeline.freshness else STATUS


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


def test_a_table_older_than_the_file_allows_ends_as_a_blocked_one_does(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(f"{file.read_text()}freshness: 30 min\n")
    ended = CliRunner().invoke(app, ["status", "shop"])
    assert ended.exit_code == 3
    stale = "1 table older than 30 min: shop.items since 1970-01-01 00:30:01 UTC"
    assert stale in " ".join(ended.stdout.split())
    document = json.loads(CliRunner().invoke(app, ["status", "shop", "--json"]).stdout)
    assert document["pipelines"][0]["stale"] == [{"target": "shop.items", "since_ms": 1_801_000}]
