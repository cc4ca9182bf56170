"""Two runs at once, repeated steps, blocked audits: one wins, nothing doubles (PUB-1 to PUB-8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.records import ticdc_ddl, ticdc_row, ticdc_watermark
from tests.support.stack import Stream
from tidemark.errors import AuditBlockedError, NoAttemptError, SupersededError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.ledger import read_progress
from tidemark.model.names import AttemptId
from tidemark.model.result import CutStatus
from tidemark.model.verdict import Outcome
from tidemark.runs.accept import accept_audit, blocked_attempt
from tidemark.runs.cut import stage_cut
from tidemark.runs.plan import plan_cut
from tidemark.runs.publish import publish_cut, read_verdicts
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World

ROWS = [ticdc_row("INSERT", 1, 100, name="a"), ticdc_row("INSERT", 2, 110, name="b")]


def refs(stream: Stream) -> set[str]:
    return set(stream.world.catalog.load_table((stream.name, "items")).refs())


def test_of_two_attempts_at_one_cut_the_first_publishes_and_the_other_is_superseded(
    world: World,
) -> None:
    stream = Stream(world).create()
    stream.send([*ROWS, ticdc_watermark(200)])
    first, second = stream.attempt(), stream.attempt()
    for attempt in (first, second):
        assert stage_cut(stream.pipeline, world, CutRequest(attempt)).cut == 1
    assert stream.rows() == {}
    publish_cut(stream.pipeline, world, second)
    with pytest.raises(SupersededError, match="cut 1 is published already"):
        publish_cut(stream.pipeline, world, first)
    assert stream.rows() == {1: "a", 2: "b"}


def test_publishing_twice_changes_nothing(world: World) -> None:
    stream = Stream(world).create()
    stream.send([*ROWS, ticdc_watermark(200)])
    attempt = stream.attempt()
    stage_cut(stream.pipeline, world, CutRequest(attempt))
    first = publish_cut(stream.pipeline, world, attempt)
    before = world.catalog.load_table((stream.name, "items")).metadata_location
    assert publish_cut(stream.pipeline, world, attempt) == first
    assert world.catalog.load_table((stream.name, "items")).metadata_location == before
    assert refs(stream) == {"main"}


def test_an_attempt_that_was_never_staged_cannot_be_published(world: World) -> None:
    with pytest.raises(NoAttemptError, match="attempt ghost"):
        publish_cut(Stream(world).pipeline, world, AttemptId("ghost"))


def test_leftovers_of_dead_attempts_go_with_the_next_cut(world: World) -> None:
    stream = Stream(world).create()
    stream.send([*ROWS, ticdc_watermark(200)])
    abandoned, winner = stream.attempt(), stream.attempt()
    stage_cut(stream.pipeline, world, CutRequest(abandoned))
    stage_cut(stream.pipeline, world, CutRequest(winner))
    publish_cut(stream.pipeline, world, winner)
    assert any(abandoned in name for name in refs(stream))
    stream.send([ticdc_row("DELETE", 1, 250), ticdc_watermark(300)])
    stream.cut()
    assert refs(stream) == {"main"}
    assert stream.rows() == {2: "b"}


def test_a_run_without_news_is_idle_and_says_so(world: World) -> None:
    stream = Stream(world).create()
    stream.send([*ROWS, ticdc_watermark(200)])
    stream.cut()
    plan = plan_cut(stream.pipeline, world)
    assert (plan.has_work, plan.sentence) == (False, "nothing is unread and nothing waits")
    assert stream.cut().status is CutStatus.IDLE
    assert read_progress(world.catalog, SystemTables.of(stream.pipeline.name)).cut == 1


def test_what_is_above_the_watermark_waits_and_is_explained(world: World) -> None:
    stream = Stream(world, partitions=2).create()
    stream.send([*ROWS, ticdc_watermark(105), ticdc_watermark(200, partition=1)])
    result = stream.cut()
    assert stream.rows() == {1: "a"}, "strictly below the smaller watermark (GATE-W1)"
    assert result.buckets["held"] == 1
    assert result.hold.startswith(f"partition 0 of topic {stream.topic} has sent no watermark")


def test_a_truncate_and_what_follows_it_publish_together(world: World) -> None:
    stream = Stream(world).create()
    stream.send([*ROWS, ticdc_watermark(200)])
    stream.cut()
    stream.send(
        [
            ticdc_row("INSERT", 2, 260, name="refilled"),
            ticdc_ddl("TRUNCATE TABLE `items`", 250),
            ticdc_watermark(300),
        ]
    )
    result = stream.cut()
    assert stream.rows() == {2: "refilled"}
    assert (result.tables[0].truncated, result.tables[0].inserted) == (2, 1)
    stream.send([ticdc_ddl("TRUNCATE TABLE `items`", 250), ticdc_watermark(400)])
    stream.cut()
    assert stream.rows() == {2: "refilled"}, "the same truncate again is a duplicate (TRUNC-3)"


def test_a_cut_of_nothing_but_a_truncate_is_audited_and_published(world: World) -> None:
    stream = Stream(world).create()
    stream.send([*ROWS, ticdc_watermark(200)])
    stream.cut()
    stream.send([ticdc_ddl("TRUNCATE TABLE `items`", 300), ticdc_watermark(400)])
    result = stream.cut()
    assert [(table.truncated, table.outcome) for table in result.tables] == [(2, Outcome.PASS)]
    assert stream.rows() == {}


@pytest.mark.parametrize(
    ("policy", "rows"),
    [
        pytest.param("apply", {3: "c"}, id="apply"),
        pytest.param("ignore", {1: "a", 2: "b", 3: "c"}, id="ignore"),
    ],
)
def test_truncate_policies(world: World, policy: str, rows: dict[int, str]) -> None:
    stream = Stream(world, table={"truncate": policy}).create()
    truncate = ticdc_ddl("TRUNCATE TABLE `items`", 150)
    stream.send([*ROWS, truncate, ticdc_row("INSERT", 3, 160, name="c"), ticdc_watermark(200)])
    stream.cut()
    assert stream.rows() == rows


def test_a_blocked_audit_leaves_main_and_a_later_change_repairs_it(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIDEMARK_EXPECTATIONS", str(tmp_path))
    (tmp_path / "items.yaml").write_text(
        "suite: items\n"
        "expectations:\n"
        "  - expect: expect_column_value_lengths_to_be_between\n"
        "    arguments: {column: name, max_value: 3}\n"
        "    severity: critical\n"
        "    scope: table\n"
    )
    stream = Stream(world, table={"expectations": "items"}).create()
    stream.send([*ROWS, ticdc_watermark(200)])
    assert stream.cut().status is CutStatus.PUBLISHED
    stream.send([ticdc_row("UPDATE", 1, 250, name="too long"), ticdc_watermark(300)])
    blocked = stream.cut()
    assert blocked.status is CutStatus.BLOCKED
    assert stream.rows() == {1: "a", 2: "b"}
    (verdict,) = read_verdicts(stream.pipeline, world, blocked.attempt, blocked.cut)
    assert [check.name.split("(")[0] for check in verdict.failures] == [
        "expect_column_value_lengths_to_be_between"
    ]
    with pytest.raises(AuditBlockedError, match=r"items \(block\)"):
        publish_cut(stream.pipeline, world, blocked.attempt)
    stream.send([ticdc_row("UPDATE", 2, 350, name="too long, too"), ticdc_watermark(400)])
    assert stream.cut().status is CutStatus.BLOCKED
    accepted = accept_audit(
        stream.pipeline, world, blocked_attempt(stream.pipeline, world), "names are longer now"
    )
    assert [table.outcome for table in accepted.tables] == [Outcome.WARN]
    assert stream.rows() == {1: "too long", 2: "too long, too"}
    stream.send([ticdc_row("INSERT", 3, 450, name="c"), ticdc_watermark(500)])
    assert stream.cut().status is CutStatus.BLOCKED, "a finding is accepted for one cut"
    stream.send([ticdc_row("UPDATE", 2, 550, name="b"), ticdc_watermark(600)])
    assert stream.cut().status is CutStatus.BLOCKED
    assert stream.rows() == {1: "too long", 2: "too long, too"}
    stream.send([ticdc_row("UPDATE", 1, 650, name="ok"), ticdc_watermark(700)])
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "ok", 2: "b", 3: "c"}
    assert (world.installation.state / "data_docs" / stream.name / "index.html").exists()
