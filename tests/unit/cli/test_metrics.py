"""`tidemark metrics`: what a parser of OpenMetrics finds in it, and when its file changes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from typer.testing import CliRunner

from tests.unit.cli.test_lag import STATUS
from tidemark.cli.app import app
from tidemark.cli.metrics import exposition
from tidemark.errors import ForeignChangeError
from tidemark.model.metrics import CATALOGUE, CUTS, QUARANTINED_BY_CODE, TABLE_BYTES, Sample
from tidemark.runs.status import PipelineStatus
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

HOSTILE = ('say "hi"', "two\nlines", "back\\slash", "{a=b}, # EOF", "ünïcödé", "")
CHANGED = ForeignChangeError("main was set back", state="as it was", next_step="go forward")


def parsed(text: str) -> dict[tuple[str, tuple[str, ...]], float]:
    """Name, and texts in the order of their labels -> value."""
    return {
        (sample.name, tuple(text for _, text in sorted(sample.labels.items()))): sample.value
        for family in families(text)
        for sample in family.samples
    }


def families(text: str) -> list[Metric]:
    """As a scraper reads them."""
    return list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("text", HOSTILE)
def test_labels_are_escaped(text: str) -> None:
    """Names of tables come from topics."""
    sample = Sample(QUARANTINED_BY_CODE, ("shop", text, "KEY_NULL"), 3)
    found = parsed(exposition([sample, Sample(CUTS, ("shop",), 7)]))
    assert found == {
        (QUARANTINED_BY_CODE.name, ("KEY_NULL", "shop", text)): 3,
        ("tidemark_cuts_total", ("shop",)): 7,
    }


def test_every_metric_says_what_it_is() -> None:
    text = exposition([Sample(TABLE_BYTES, ("shop", "shop.items"), 2.0**53)])
    assert text.endswith("# EOF\n")
    assert "# UNIT tidemark_table_size_bytes bytes\n" in text
    named = {family.name: family for family in families(text)}
    for metric in CATALOGUE:
        family = named[metric.name.removesuffix("_total")]
        assert (family.documentation, family.type) == (metric.help, metric.type.value)
    assert parsed(text) == {("tidemark_table_size_bytes", ("shop", "shop.items")): 2.0**53}


def _status(pipeline: PipelineSpec, _: World) -> PipelineStatus:
    if pipeline.name == "zoo":
        raise CHANGED
    return STATUS


@pytest.fixture
def pipelines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pipelines ``shop`` and ``zoo``; somebody changed the ledger of ``zoo``."""
    source = {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}}
    document = {"description": "d", "owner": "o", "schedule": None, "other-tables": "follow"}
    folder = tmp_path / "pipelines"
    folder.mkdir()
    for name in ("shop", "zoo"):
        text = yaml.safe_dump({"name": name, **document, "source": source})
        (folder / f"{name}.yaml").write_text(text)
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(folder))
    world = type("World", (), {"catalog": None})()
    monkeypatch.setattr("tidemark.cli.session.catalog_world", lambda: world)
    monkeypatch.setattr("tidemark.runs.metrics.pipeline_status", _status)
    monkeypatch.setattr("tidemark.runs.metrics.read_sizes", lambda *_: {})
    return folder


@pytest.mark.usefixtures("pipelines")
@pytest.mark.parametrize(
    ("names", "up"),
    [
        ([], {"shop": 1, "zoo": 0}),
        (["zoo"], {"zoo": 0}),
        (["shop", "shop"], {"shop": 1}),
    ],
)
def test_a_pipeline_that_cannot_be_read_hides_no_other(
    names: list[str], up: dict[str, float]
) -> None:
    """PUB-11"""
    ended = CliRunner().invoke(app, ["metrics", *names])
    assert ended.exit_code == 0
    found = parsed(ended.stdout)
    name = "tidemark_pipeline_up"
    assert {labels[0]: value for (of, labels), value in found.items() if of == name} == up


@pytest.mark.usefixtures("pipelines")
def test_a_file_is_written_whole(tmp_path: Path) -> None:
    file = tmp_path / "collected" / "tidemark.prom"
    file.parent.mkdir()
    file.write_text("as it was")
    ended = CliRunner().invoke(app, ["metrics", "--output", str(file)])
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert file.read_text().endswith("# EOF\n")
    assert [each.name for each in file.parent.iterdir()] == ["tidemark.prom"]
    assert file.stat().st_mode & 0o044, "the collector is another user"


def test_a_file_stays_where_pipelines_cannot_be_read(pipelines: Path, tmp_path: Path) -> None:
    file = tmp_path / "tidemark.prom"
    file.write_text("as it was")
    (pipelines / "shop.yaml").write_text("name: [")
    ended = CliRunner().invoke(app, ["metrics", "--output", str(file)])
    assert (ended.exit_code, file.read_text()) == (1, "as it was")


@pytest.mark.usefixtures("pipelines")
def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "none" / "tidemark.prom"
    ended = CliRunner().invoke(app, ["metrics", "--output", str(file)])
    assert ended.exit_code == 2
    assert "cannot be written" in ended.output
