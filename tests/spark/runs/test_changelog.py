"""One reader of the changelog: rows have the same positions, names and zones however they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.lake.catalog import SystemTables
from tidemark.lake.heads import Heads
from tidemark.lake.landing import SCHEMA, ChangelogHead
from tidemark.lake.ledger import LedgerHead, ensure_table
from tidemark.lake.refs import main_head
from tidemark.model.cut import Cut, Frontier, GateMode
from tidemark.model.names import AttemptId, TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import EPOCH_DIGITS, OFFSET_DIGITS, Position
from tidemark.model.progress import LandingMark, Progress
from tidemark.model.renames import Rename
from tidemark.runs.changelog import Changelog
from tidemark.runs.run import CutRequest, Run
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec

TOPIC = TopicName("db.rows")
OLD, NEW = TableName("shop", "old"), TableName("shop", "new")
BINLOG_RESET_AT = 4
# offset -> landing, place in its log, name in its record. The new log starts over at offset 4.
ROWS = {
    0: (1, 50, "old"),
    1: (1, 60, "new"),
    2: (2, 70, "old"),
    4: (2, 10, "old"),
    5: (2, 30, "new"),
    6: (3, 31, "new"),
    7: (3, 40, "old"),
}
RENAMED = Rename(OLD, NEW, Position("0002" + "20".zfill(8) + "F" * OFFSET_DIGITS))
NAMES = {0: "new", 1: None, 2: "new", 4: "new", 5: "new", 6: "new", 7: "old"}
"""Of now, as the statement at 20 in the new log has it; another table was called new before."""
GATED, CUT_END = 2, 7
STATUSES = {
    0: "committed",
    1: "committed",
    2: "committed",
    4: "pending",
    5: "pending",
    6: "pending",
    7: "held",
}


def landed(offset: int, landing: int, place: int, table: str) -> dict[str, Any]:
    """A row as it is landed, in the first epoch."""
    nothing: dict[str, Any] = dict.fromkeys(SCHEMA.names)
    position = f"0001{place:08d}{offset:0{OFFSET_DIGITS}X}"
    own = {"topic": TOPIC, "partition": 0, "offset": offset, "kind": "row", "landing": landing}
    return nothing | own | {"source_schema": "shop", "source_table": table, "position": position}


def expected(offset: int) -> tuple[str, str | None]:
    epoch = "0002" if offset >= BINLOG_RESET_AT else "0001"
    position = landed(offset, *ROWS[offset])["position"]
    return epoch + position[EPOCH_DIGITS:], NAMES[offset]


def found(frame: DataFrame, *more: str) -> Mapping[int, tuple[Any, ...]]:
    rows = frame.select("offset", "position", "source_table", *more).collect()
    return {row[0]: tuple(row)[1:] for row in rows}


@pytest.fixture(scope="module")
def changelog(world: World) -> Changelog:
    """Rows of two logs, before their names are known; the third landing was not gated yet."""
    pipeline = PipelineSpec.model_validate(
        {
            "name": "reads",
            "description": "a test",
            "owner": "tests",
            "schedule": None,
            "source": {"format": "debezium-mysql", "gate": "none", "topics": {"data": [TOPIC]}},
            "tables": [
                {"source": str(NEW), "was": str(OLD), "target": "rows", "expectations": "none"}
            ],
        }
    )
    table = ensure_table(world.catalog, SystemTables.of(pipeline.name).changelog, SCHEMA, {})
    rows = [landed(offset, *told) for offset, told in ROWS.items()]
    table.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    starts = {TopicPartition(TOPIC, 0): BINLOG_RESET_AT}
    progress = Progress(landing=GATED, oldest_held=2, epochs=(starts,))
    head = main_head(table)
    heads = Heads(LedgerHead(None, progress), ChangelogHead(head, LandingMark()), None)
    return Changelog(Run(pipeline, world, CutRequest(AttemptId("one")), heads, pipeline.declared))


def test_names_go_by_the_positions_of_their_epoch(changelog: Changelog) -> None:
    """POS-17, SCHEMA-31: of every kind of rows; without renames they have those of the records."""
    named = changelog.under([RENAMED])
    assert found(named.landed()) == {offset: expected(offset) for offset in ROWS}
    assert found(named.landed(NEW)).keys() == {0, 2, 4, 5, 6}
    assert found(named.published()) == {o: expected(o) for o in (0, 1, 2, 4, 5)}
    assert found(named.published(OLD)) == {}
    assert found(named.waiting()) == {o: expected(o) for o in (2, 4, 5, 6, 7)}
    assert found(named.published_at([(TOPIC, 0, 5), (TOPIC, 0, 6)])) == {5: expected(5)}
    told = {offset: (expected(offset)[0], ROWS[offset][2]) for offset in ROWS}
    assert found(changelog.landed()) == told


def test_rows_that_are_not_landed_are_read_as_if_they_were(changelog: Changelog) -> None:
    """What a preview would land first, and what a decoder makes of records that were
    quarantined.
    """
    rows = changelog.landed().where("offset >= 6")
    raw = rows.withColumn("position", F.concat(F.lit("0001"), F.expr("substr(position, 5)")))
    named = changelog.under([RENAMED])
    heads = replace(named.run.heads, changelog=ChangelogHead())
    only = replace(named, unlanded=raw, run=replace(named.run, heads=heads))
    assert found(only.waiting()) == {6: expected(6), 7: expected(7)}
    again = raw.withColumn("offset", F.col("offset") + 10)
    beside = found(replace(named, unlanded=again).waiting())
    assert beside.keys() == {2, 4, 5, 6, 7, 16, 17}
    assert beside[16] == expected(6)
    assert found(named.published_at([(TOPIC, 0, 1)], raw)) == {o: expected(o) for o in (1, 6, 7)}


def test_zones_stand_beside_names(changelog: Changelog) -> None:
    """GATE-3: the same rows, each with its status."""
    place = TopicPartition(TOPIC, 0)
    cut = Cut(2, GateMode.NONE, Frontier(offsets={place: CUT_END}))
    zoned = changelog.under([RENAMED]).towards(cut, Frontier(offsets={place: BINLOG_RESET_AT}))
    for offset, row in found(zoned.landed(), "status").items():
        assert row == (*expected(offset), STATUSES[offset])


def test_what_is_asked_for_is_asked_of_the_scan(
    changelog: Changelog, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of other landings are not opened, nor row groups of other kinds and tables."""
    filters = ["landing >= 1", f"landing <= {GATED}", "kind = 'row'"]
    of_record = ["source_schema = 'shop'", "source_table = 'old'"]
    for reader, pushed in (
        (changelog, [*filters, *of_record]),
        (changelog.under([RENAMED]), filters),
    ):
        reader.published(OLD).where(F.col("kind") == "row").explain()
        plan = capsys.readouterr().out.splitlines()
        (scan,) = [line for line in plan if "IcebergScan" in line]
        assert [one for one in pushed if one not in scan] == [], scan
