"""The quarantine holds what was published, and is worked on from a terminal."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml
from typer.testing import CliRunner

from embedded.home import embedded_environment
from tests.support.quarantined import (
    TOO_MUCH,
    entries,
    opened,
    row,
)
from tests.support.records import Record
from tests.support.stack import Stream
from tidemark.cli.app import app
from tidemark.lake.results import result_file, write_result
from tidemark.model.event import Reason
from tidemark.model.names import AttemptId
from tidemark.model.result import CutResult, CutStatus
from tidemark.runs.cut import stage_cut
from tidemark.runs.publish import publish_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World
from tidemark.topics.client import TIMEOUT_SECONDS


def test_an_attempt_that_is_not_published_sets_nothing_aside(world: World) -> None:
    """POISON-1, PUB-8: whatever is staged beside it or after it, each change is there once."""
    stream = opened(world, row("c", 1, 10, 1), row("c", 2, 20, TOO_MUCH), Record(b"not json"))
    for _ in range(2):
        assert stage_cut(stream.pipeline, world, CutRequest(stream.attempt())).status is (
            CutStatus.STAGED
        )
        assert entries(stream) == []
    attempt = stream.attempt()
    stage_cut(stream.pipeline, world, CutRequest(attempt))
    for _ in range(2):
        publish_cut(stream.pipeline, world, attempt)
        assert [(entry.offset, entry.code) for entry in entries(stream)] == [
            (1, Reason.VALUE_OUT_OF_RANGE),
            (2, Reason.JSON_INVALID),
        ]
    stream.send([row("c", 3, 30, 3)])
    stream.cut()
    assert len(entries(stream)) == 2


@pytest.fixture
def log_of_commands() -> Iterator[None]:
    """Commands log to a terminal of their own, which is closed behind them."""
    yield
    structlog.reset_defaults()


def installed(stream: Stream, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands work with the pipeline of ``stream``, from a file of its own."""
    pipeline, world = stream.pipeline, stream.world
    declared = pipeline.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    (folder / f"{stream.name}.yaml").write_text(yaml.safe_dump(declared))
    for name, value in embedded_environment(world.installation.state, world.broker.servers).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(folder))
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.usefixtures("log_of_commands")
def test_the_quarantine_is_worked_on_from_a_terminal(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """POISON-1: no value is shown unless it is asked for."""
    secret = row("c", 2, 20, "secret\x1b[2J")
    stream = opened(world, row("c", 1, 10, 1), secret, Record(b"not json"))
    stream.cut()
    installed(stream, tmp_path, monkeypatch)

    def said(*words: str) -> str:
        ended = CliRunner().invoke(app, ["quarantine", words[0], stream.name, *words[1:]])
        assert ended.exit_code == 0, ended.output
        return " ".join(ended.stdout.split())

    def document(kind: str, *words: str) -> dict[str, Any]:
        """What a verb prints for programs, with the fields that its schema states."""
        described = json.loads(CliRunner().invoke(app, ["schema", kind]).stdout)
        ended = CliRunner().invoke(app, [*words, "--json"])
        assert ended.exit_code == 0, ended.output
        found: dict[str, Any] = json.loads(ended.stdout)
        assert set(found) == set(described["properties"])
        return found

    told = CliRunner().invoke(app, ["status", stream.name]).stdout
    assert f"warning tables of topic {stream.topic} may lack a truncate" in " ".join(told.split())
    listed = said("list")
    assert "2 changes in quarantine" in listed
    assert "shop.items TYPE_MISMATCH 1" in listed
    assert f"{stream.topic} 0 1 0 shop.items n TYPE_MISMATCH" in listed
    place = (stream.topic, "0", "1")
    assert "secret" not in listed + said("show", *place)
    assert '"n": "secret\\u001b[2J"' in said("show", *place, "--payload")
    waiting = document("quarantine", "quarantine", "list", stream.name)
    assert "secret" not in json.dumps(waiting)
    assert [(e["offset"], e["row"], e["code"], e["state"]) for e in waiting["entries"]] == [
        (1, 0, "TYPE_MISMATCH", "waiting"),
        (2, None, "JSON_INVALID", "waiting"),
    ]
    told_of_one = document("quarantine", "quarantine", "show", stream.name, *place, "--payload")
    assert told_of_one["entries"] == waiting["entries"][:1]
    assert json.loads(told_of_one["payload"])["after"]["n"] == "secret\x1b[2J"
    tried = document(
        "action", "quarantine", "replay", stream.name, "--record", f"{stream.topic}:0:1"
    )
    assert tried["done"] == "1 change will be tried again"
    assert "1 change will be tried again" in said("replay", "--code", "TYPE_MISMATCH")
    record = f"{stream.topic}:0:2"
    assert "1 change given up" in said("drop", "--record", record, "--reason", "a test")
    shown = said("show", stream.topic, "0", "2")
    assert "JSON_INVALID dropped" in shown
    assert "because a test" in shown
    everything = ["quarantine", "drop", stream.name, "--reason", "a test"]
    refused = CliRunner().invoke(app, everything)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "add --yes" in refused.stderr
    assert "1 change in quarantine" in said("list")
    assert "1 change given up" in said("drop", "--reason", "a test", "--yes")


@pytest.mark.usefixtures("log_of_commands")
def test_status_ends_by_what_it_found(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead broker costs one time-out, whatever the number of pipelines."""
    sound = opened(world, row("c", 1, 10, 1))
    sound.cut()
    installed(sound, tmp_path, monkeypatch)
    assert CliRunner().invoke(app, ["status"]).exit_code == 0

    died = CutResult.died(AttemptId("attempt_2"))
    write_result(died, result_file(world.installation.state, sound.pipeline.name, died.attempt))
    ended = CliRunner().invoke(app, ["status", sound.name])
    assert ended.exit_code == 1
    assert "1 attempt since the newest cut" in " ".join(ended.stdout.split())
    assert "the job died without a result" in " ".join(ended.stdout.split())
    document = json.loads(CliRunner().invoke(app, ["status", sound.name, "--json"]).stdout)
    (told,) = document["pipelines"]
    described = json.loads(CliRunner().invoke(app, ["schema", "status"]).stdout)
    assert set(told) == set(described["$defs"]["StatusDocument"]["properties"])
    assert (told["cut"], told["unread"], told["is_blocked"]) == (1, 0, False)
    assert [one["attempt"] for one in told["failed"]] == [died.attempt]
    assert [(one["table"], one["changed_in_cut"]) for one in told["tables"]] == [("shop.items", 1)]
    sound.send([row("u", 1, 20, 2)])
    sound.cut()
    assert CliRunner().invoke(app, ["status"]).exit_code == 0, "a published cut ends it"

    blocked = opened(world, row("c", 1, 10, 1), publish={"consistency": "table"})
    blocked.cut()
    blocked.send([row("c", n, n * 10, TOO_MUCH) for n in range(2, 14)])
    assert blocked.cut().stopped
    installed(blocked, tmp_path, monkeypatch)
    ended = CliRunner().invoke(app, ["status", blocked.name])
    assert ended.exit_code == 3
    assert "stopped shop.items" in ended.stdout
    assert CliRunner().invoke(app, ["status"]).exit_code == 3

    monkeypatch.setenv("TIDEMARK_KAFKA", "127.0.0.1:1")
    started = time.monotonic()
    ended = CliRunner().invoke(app, ["status"])
    took = time.monotonic() - started
    assert ended.exit_code == 1
    assert {sound.name, blocked.name} <= set(ended.stdout.split())
    assert TIMEOUT_SECONDS <= took < 1.7 * TIMEOUT_SECONDS
