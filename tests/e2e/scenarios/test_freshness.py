"""How old tables are of which nothing was published."""

from __future__ import annotations

from dataclasses import replace

from tests.support.records import ticdc_row, ticdc_watermark
from tests.support.stack import Stream
from tidemark.runs.freshness import stale_tables
from tidemark.runs.status import PipelineStatus, pipeline_status
from tidemark.runs.world import World

DAY_MS = 86_400_000


def stale(status: PipelineStatus, after_ms: int) -> list[int]:
    """Since when, with a limit of a day, so long after the oldest landing that may wait."""
    limited = replace(status, freshness_ms=DAY_MS)
    tables = stale_tables(limited, status.waiting_since_ms + after_ms)
    return [table.since_ms - status.waiting_since_ms for table in tables]


def test_a_table_ages_while_records_wait_for_its_first_cut(world: World) -> None:
    stream = Stream(world).create()
    assert pipeline_status(stream.pipeline, world).waiting_since_ms == 0
    stream.send([ticdc_row("INSERT", 1, 100)])
    assert pipeline_status(stream.pipeline, world).waiting_since_ms == 0, "nothing is landed"
    for number in (2, 3):
        stream.cut()
        status = pipeline_status(stream.pipeline, world)
        assert status.waiting_since_ms > 0
        assert (stale(status, DAY_MS), stale(status, DAY_MS + 1)) == ([], [DAY_MS])
        stream.send([ticdc_row("INSERT", number, 100 + number)])
    stream.send([ticdc_watermark(200)])
    stream.cut()
    status = pipeline_status(stream.pipeline, world)
    assert stream.rows() == {1: "x", 2: "x", 3: "x"}
    assert status.waiting_since_ms == 0
    assert stale(status, 9 * DAY_MS) == []
