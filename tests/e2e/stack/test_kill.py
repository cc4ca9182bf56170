"""A run that is killed at any point leaves main as it was, and the next one makes up for it."""

from __future__ import annotations

from pathlib import Path

from tests.support.killed import run_killed
from tests.support.records import TABLE, ticdc_ddl, ticdc_row, ticdc_watermark
from tests.support.stack import Stream
from tidemark.model.names import AttemptId, TableName
from tidemark.model.result import CutStatus
from tidemark.runs.publish import publish_cut
from tidemark.runs.refold import begin_refold
from tidemark.runs.world import World

FIRST = [ticdc_row("INSERT", 1, 100, name="a"), ticdc_row("INSERT", 2, 110, name="b")]
SECOND = [
    ticdc_row("UPDATE", 2, 250, name="dropped by the truncate"),
    ticdc_ddl("TRUNCATE TABLE `items`", 260),
    ticdc_row("INSERT", 1, 270, name="again"),
]


def kill_at(stream: Stream, folder: Path, attempt: str, event: str) -> None:
    """SIGKILL to the job of an attempt as soon as its log tells of ``event``."""
    ended = run_killed(
        stream.pipeline,
        stream.world,
        folder,
        AttemptId(attempt),
        lambda line: f"event={event}" in line,
    )
    assert f"event={event}" in ended.lines[-1], "".join(ended.lines)
    assert ended.was_killed


def test_a_killed_run_changes_nothing_and_the_next_one_is_right(
    world: World, tmp_path: Path
) -> None:
    stream = Stream(world).create()
    stream.send([*FIRST, ticdc_watermark(200)])
    assert stream.cut().status is CutStatus.PUBLISHED
    before = stream.rows()
    assert before == {1: "a", 2: "b"}
    stream.send([*SECOND, ticdc_watermark(300)])
    for number, event in enumerate(["landed", "table_staged", "cut_staged"]):
        kill_at(stream, tmp_path, f"killed_{number}", event)
        assert stream.rows() == before, f"killed at {event}"
    result = stream.cut()
    assert result.status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "again"}


def test_a_run_that_was_killed_after_staging_can_still_be_published(
    world: World, tmp_path: Path
) -> None:
    stream = Stream(world).create()
    stream.send([*FIRST, ticdc_watermark(200)])
    kill_at(stream, tmp_path, "staged_then_killed", "cut_staged")
    assert stream.rows() == {}
    publish_cut(stream.pipeline, world, AttemptId("staged_then_killed"))
    assert stream.rows() == {1: "a", 2: "b"}


def test_a_killed_refold_leaves_the_target_and_the_next_run_ends_it(
    world: World, tmp_path: Path
) -> None:
    """REFOLD-1: readers see the old target until the new one is whole."""
    stream = Stream(world).create()
    stream.send([*FIRST, *SECOND, ticdc_watermark(300)])
    stream.cut()
    before = world.catalog.load_table((stream.name, "items")).metadata.table_uuid
    begin_refold(stream.pipeline, world, TableName.parse(TABLE))
    for number, event in enumerate(["table_staged", "cut_staged"]):
        kill_at(stream, tmp_path, f"refold_{number}", event)
        assert stream.rows() == {1: "again"}
    table = world.catalog.load_table((stream.name, "items"))
    assert table.metadata.table_uuid == before, "no attempt was published"
    assert stream.cut().status is CutStatus.PUBLISHED
    table = world.catalog.load_table((stream.name, "items"))
    assert table.metadata.table_uuid != before
    assert stream.rows() == {1: "again"}
