"""Operator actions by Airflow's form, on real tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.quarantined import TOO_MUCH, WIDE, opened, published, row
from tests.support.records import ticdc_row, ticdc_watermark
from tests.support.stack import Stream
from tidemark.errors import ActionRefusedError
from tidemark.model.result import CutStatus
from tidemark.runs.world import World
from tidemark.scheduling.actions import Done, act

UNTOUCHED = {
    **dict.fromkeys(("action", "table", "code", "record", "transaction", "statement", "reason")),
    "confirm": False,
}
SUITE = """\
suite: items
expectations:
  - expect: expect_table_row_count_to_equal
    arguments: {value: 0}
    severity: critical
    scope: table
"""


def acted(stream: Stream, **answers: Any) -> Done:
    return act(stream.pipeline, stream.world, {**UNTOUCHED, **answers})


@pytest.mark.smoke
def test_quarantine_is_listed_tried_again_and_given_up(world: World) -> None:
    """POISON-4: by table, code and record."""
    stream = opened(world, row("c", 1, 10, 1))
    stream.send([row("u", 1, 20, TOO_MUCH), row("c", 2, 30, TOO_MUCH), row("c", 3, 40, "heavy")])
    stream.cut()
    with capture_logs() as logs:
        assert acted(stream, action="quarantine list").sentence == "3 changes in quarantine"
    listed = [(line["code"], line["column"], line["changes"]) for line in logs if "code" in line]
    assert listed == [("TYPE_MISMATCH", "n", 1), ("VALUE_OUT_OF_RANGE", "n", 2)]
    (first, _) = [line["record"] for line in logs if "record" in line][::-1]
    dropped = acted(
        stream, action="quarantine drop", record=first, reason="the source has it", confirm=True
    )
    assert dropped.sentence == "1 change given up"
    stream.table = WIDE
    replayed = acted(
        stream, action="quarantine replay", table="shop.items", code="VALUE_OUT_OF_RANGE"
    )
    assert replayed.sentence == "the next cut tries 1 change again"
    stream.cut()
    assert published(stream) == {1: 1, 2: TOO_MUCH}
    assert acted(stream, action="quarantine list").sentence == "1 change in quarantine"


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({"action": "skip transaction", "transaction": "7"}, "waits for no transactions"),
        ({"action": "skip statement", "statement": "0A"}, "stands at position 0A"),
        ({"action": "skip record", "record": "t:0:7"}, "cannot be read stands at t:0:7"),
        ({"action": "handover continuous"}, "only a binlog that was read can start over"),
        ({"action": "handover gap"}, "only a binlog that was read can start over"),
    ],
)
def test_what_does_not_fit_the_pipeline_is_refused(
    world: World, answers: dict[str, str], why: str
) -> None:
    """As by the command: each action reaches the order that it names."""
    stream = Stream(world).create()
    stream.send([ticdc_row("INSERT", 1, 150, name="a"), ticdc_watermark(200)])
    stream.cut()
    reason = {"reason": "x"} if answers["action"] in ("skip statement", "skip record") else {}
    with pytest.raises(ActionRefusedError, match=why):
        acted(stream, **answers, **reason, confirm=True)


def test_findings_are_accepted(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PUB-7: the cut is published as it was staged, and this cut alone."""
    monkeypatch.setenv("TIDEMARK_EXPECTATIONS", str(tmp_path))
    (tmp_path / "items.yaml").write_text(SUITE)
    stream = Stream(world, table={"expectations": "items"}).create()
    stream.send([ticdc_row("INSERT", 1, 150, name="a"), ticdc_watermark(200)])
    assert stream.cut().status is CutStatus.BLOCKED
    done = acted(stream, action="accept", reason="the shop has opened")
    assert done.sentence == "cut 1 is published"
    assert done.published is not None
    assert [table.table for table in done.published.tables] == ["shop.items"]
    assert stream.rows() == {1: "a"}


def test_keys_of_a_file_are_erased(world: World) -> None:
    """ERASE-1: what is said of it tells numbers and no key."""
    stream = opened(world, row("c", 4711, 10, 1), row("c", 2, 20, 2), row("d", 4711, 30, 1))
    stream.cut()
    folder = world.installation.state / "erase"
    folder.mkdir(exist_ok=True)
    (folder / "march.jsonl").write_text('{"id": 4711}\n')
    asked = {"table": "shop.items", "keys": "march.jsonl", "reason": "requests of March"}
    with capture_logs() as logs:
        done = acted(stream, action="erase", **asked, confirm=True)
    assert done.sentence.startswith("1 key of shop.items: 2 records, 0 shortened records, 0 rows")
    assert "4711" not in f"{done} {logs}"
    again = acted(stream, action="erase", **asked, confirm=True)
    assert again.sentence.startswith("1 key of shop.items: 0 records")
    stream.cut()
    assert published(stream) == {2: 2}
