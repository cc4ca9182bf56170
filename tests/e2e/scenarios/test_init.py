"""From live topics to published rows by commands: init, validate, doctor, cut, history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from embedded.compare import compare, read_rows
from embedded.home import JARS, embedded_environment
from embedded.sample import Stream, create_topics, inventory_stream, send, shop_stream
from tests.support.stack import reopened
from tidemark.cli.app import app
from tidemark.model.names import AttemptId
from tidemark.model.result import CutStatus
from tidemark.runs.cut import run_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World
from tidemark.spec import load_pipeline

MOST_CUTS = 4


@pytest.fixture
def folder(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of pipelines; commands work in ``world``, and log to a terminal of their own."""
    settings = embedded_environment(world.installation.state, world.broker.servers, JARS)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    for kind in ("PIPELINES", "EXPECTATIONS"):
        (tmp_path / kind).mkdir()
        monkeypatch.setenv(f"TIDEMARK_{kind}", str(tmp_path / kind))
    yield tmp_path / "PIPELINES"
    structlog.reset_defaults()


def asked(*words: str) -> Any:
    """What a command prints as JSON, once it has ended well."""
    ended = CliRunner().invoke(app, [*words, "--json"])
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("stream", "topics", "gate"),
    [
        pytest.param(
            inventory_stream(), ("--topic-prefix", "dbserver1"), "transaction", id="inventory"
        ),
        pytest.param(shop_stream(), ("--topics", "shop"), "watermark", id="shop"),
    ],
)
def test_a_pipeline_out_of_its_topics_publishes_the_rows_of_its_source(
    world: World, folder: Path, stream: Stream, topics: tuple[str, str], gate: str
) -> None:
    create_topics(world.broker.servers, stream)
    send(world.broker.servers, stream.records)
    name = f"made_{stream.pipeline}"
    drafted = asked("init", name, *topics)
    assert drafted["gate"] == gate
    end = stream.stages[-1].tables
    assert {row["table"] for row in drafted["tables"]} == end.keys()
    assert asked("validate")["faults"] == []
    examined = asked("doctor", name)["findings"]
    assert {"error", "warning"} & {finding["severity"] for finding in examined} == set()
    pipeline, attempts = load_pipeline(folder / f"{name}.yaml"), iter(range(MOST_CUTS))
    here = reopened(world)
    while run_cut(pipeline, here, CutRequest(AttemptId(f"try_{next(attempts)}"))).status is not (
        CutStatus.IDLE
    ):
        pass
    for source, expected in end.items():
        rows = read_rows(here.catalog, name, source.partition(".")[2])
        comparison = compare(source, expected, rows)
        assert comparison.is_equal, comparison.differences
    table = f"{stream.pipeline}.orders"
    changes = asked("history", name, table)["changes"]
    main = here.catalog.load_table((name, "orders")).current_snapshot()
    assert main is not None
    assert (changes[0]["snapshot"], changes[0]["audit"]) == (main.snapshot_id, "pass")
    assert sum(change["inserted"] for change in changes) >= len(end[table].rows)
    statements = [text for change in changes for text in change["statements"]]
    assert all("orders" in text for text in statements)
    assert any(text.startswith("CREATE TABLE") for text in statements) is (gate == "watermark")
