"""What comes below a published watermark: a repeat, or a broken promise (GATE-5, GATE-W6)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.records import Record, ticdc_ddl, ticdc_row, ticdc_watermark
from tests.support.stack import Stream
from tidemark.errors import TableStoppedError
from tidemark.model.result import CutStatus
from tidemark.runs.status import pipeline_status
from tidemark.runs.world import World

BY_TABLE = {"publish": {"consistency": "table"}}
SENT = [
    ticdc_row("INSERT", 1, 100, name="a"),
    ticdc_row("DELETE", 1, 110, name="a"),
    ticdc_ddl("TRUNCATE TABLE items", 120),
    ticdc_row("INSERT", 2, 130, name="b"),
]


@pytest.mark.smoke
def test_what_was_sent_before_may_come_again(world: World) -> None:
    """Through any partition, also the insert of a row that was deleted since."""
    stream = Stream(world, 2).create()
    stream.send([*SENT, ticdc_watermark(200), ticdc_watermark(200, partition=1)])
    stream.cut()
    stream.send([*SENT, ticdc_row("INSERT", 1, 100, name="a", partition=1)])
    result = stream.cut()
    assert (result.buckets["duplicate"], stream.rows()) == (5, {2: "b"})


def changed(record: Record, **fields: Any) -> Record:
    return replace(record, value=json.dumps(json.loads(record.value or b"") | fields).encode())


@pytest.mark.smoke
def test_a_copy_may_have_another_form(world: World) -> None:
    """GATE-5, UNAV-9: with fields in another order, split, or of a delete the key alone."""
    stream = Stream(world, 2, options={"limits": {"max-unreadable": 1}}).create()
    moved = changed(ticdc_row("UPDATE", 4, 140, name="d"), old=[{"id": "3", "name": "c"}])
    renamed = changed(ticdc_row("UPDATE", 2, 150, name="e"), old=[{"name": "b"}])
    large = changed(
        ticdc_row("UPDATE", 2, 160),
        data=[{"id": "2"}],
        _tidb={"commitTs": 160, "onlyHandleKey": True},
    )
    stream.send([*SENT, ticdc_row("INSERT", 3, 135, name="c"), moved, renamed, large])
    stream.send([replace(ticdc_row("INSERT", 7, 170, name="z"), partition=1)])
    stream.send([ticdc_watermark(200), ticdc_watermark(200, partition=1)])
    stream.cut()
    published = {2: "e", 4: "d", 7: "z"}
    assert stream.rows() == published
    stream.send(
        [
            changed(SENT[0], data=[{"name": "a", "id": "1"}]),
            changed(SENT[1], data=[{"id": "1"}]),
            ticdc_row("DELETE", 3, 140, name="c"),
            ticdc_row("INSERT", 4, 140, name="d"),
            ticdc_row("DELETE", 2, 150, name="b"),
            ticdc_row("INSERT", 2, 150, name="e"),
            changed(ticdc_row("UPDATE", 2, 160, name="f"), old=[{"id": "2", "name": "e"}]),
            ticdc_row("INSERT", 7, 170, name="z"),
        ]
    )
    assert (stream.cut().buckets["duplicate"], stream.rows()) == (8, published)
    stream.send([moved])
    assert stream.cut().buckets["duplicate"] == 1


@pytest.mark.parametrize(
    "late",
    [
        pytest.param(ticdc_row("DELETE", 2, 110), id="the end of another row"),
        pytest.param(ticdc_row("INSERT", 1, 110, name="a"), id="a row where one ended"),
        pytest.param(ticdc_row("INSERT", 2, 130, name="c"), id="a row with other values"),
        pytest.param(ticdc_row("INSERT", 3, 130, name="c"), id="another row of a known commit"),
        pytest.param(ticdc_row("INSERT", 1, 105, name="a"), id="a known row of another commit"),
        pytest.param(ticdc_ddl("TRUNCATE TABLE items", 140), id="DDL"),
    ],
)
def test_what_was_never_sent_before_stops_its_table(world: World, late: Record) -> None:
    stream = Stream(world, options=BY_TABLE).create()
    stream.send([*SENT, ticdc_watermark(200)])
    stream.cut()
    stream.send([late, ticdc_row("INSERT", 9, 210), ticdc_watermark(300)])
    stopped = stream.cut().stopped["shop.items"]
    assert "LATE_VIOLATION: 1 changes came below a watermark that is published" in stopped
    assert "at offset 5 of partition 0" in stopped
    stream.send([ticdc_row("INSERT", 10, 310), ticdc_watermark(400)])
    assert "LATE_VIOLATION" in stream.cut().stopped["shop.items"], "it stays stopped"
    assert stream.rows() == {2: "b"}
    (table,) = pipeline_status(stream.pipeline, world).tables
    assert "LATE_VIOLATION" in table.why


def test_nothing_is_published_beside_a_late_change_unless_the_file_allows(world: World) -> None:
    stream = Stream(world).create()
    stream.send([*SENT, ticdc_watermark(200)])
    assert stream.cut().status is CutStatus.PUBLISHED
    stream.send([ticdc_row("INSERT", 3, 130, name="c")])
    for _ in range(2):
        with pytest.raises(TableStoppedError, match="LATE_VIOLATION"):
            stream.cut()
    assert stream.rows() == {2: "b"}
