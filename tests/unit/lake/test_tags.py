"""PUB-14: one tag on every target, on a real SQLite catalog and real Iceberg tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRef

from tests.support.compaction import rewrite
from tests.support.marks import append_published
from tidemark.errors import SupersededError
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.due import Due
from tidemark.lake.marks import PUBLISHED, TAG, read_published
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import (
    DAY_MS,
    KEEP_TAG_DAYS,
    MAX_INTERVAL_TAGS,
    RefUpdate,
    create_branch,
    create_tag,
)
from tidemark.lake.table_files import read_files
from tidemark.lake.tags import tag_targets
from tidemark.model.names import PipelineName, interval_tag

ROWS = pa.schema([pa.field("id", pa.int64())])
CHANGED, UNCHANGED, ABSENT = (TableId("db", name) for name in ("changed", "unchanged", "absent"))
TARGETS = (CHANGED, UNCHANGED, ABSENT)
SYSTEM = SystemTables.of(PipelineName("p"))
EIGHT = "asof_20261124T0800"


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    for table in (CHANGED, UNCHANGED):
        catalog.create_table(table.parts, ROWS).append(ROWS.empty_table())
        append_published(catalog, load(catalog, table), rows(1), {})
    return catalog


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids)}, schema=ROWS)


def load(catalog: SqlCatalog, table: TableId) -> Table:
    return catalog.load_table(table.parts)


def head(catalog: SqlCatalog, table: TableId) -> int:
    return load(catalog, table).refs()["main"].snapshot_id


def tag(catalog: SqlCatalog, table: TableId, name: str = EIGHT) -> SnapshotRef | None:
    return load(catalog, table).refs().get(name)


def stage(catalog: SqlCatalog, *ids: int) -> RefUpdate:
    base = head(catalog, CHANGED)
    create_branch(load(catalog, CHANGED), "tidemark_2_try", base)
    table = load(catalog, CHANGED)
    table.append(rows(*ids), branch="tidemark_2_try")
    snapshot = table.refs()["tidemark_2_try"].snapshot_id
    return RefUpdate(CHANGED, base, snapshot, ("tidemark_2_try",))


def test_moved_and_unmoved_tables_get_it_in_one_step(catalog: SqlCatalog) -> None:
    before = head(catalog, UNCHANGED)
    staged = stage(catalog, 2)
    tagging = tag_targets(catalog, [staged], TARGETS, EIGHT, SYSTEM)
    assert tagging.refused == ""
    update_mains(catalog, tagging.moves)
    tags = {table: tag(catalog, table) for table in (CHANGED, UNCHANGED)}
    assert {table: ref and ref.snapshot_id for table, ref in tags.items()} == {
        CHANGED: staged.snapshot,
        UNCHANGED: before,
    }
    scan = load(catalog, CHANGED).scan(snapshot_id=staged.snapshot).to_arrow()
    assert sorted(scan["id"].to_pylist()) == [1, 2]
    published = read_published(load(catalog, UNCHANGED))
    assert published is not None
    assert (published.snapshot, published.marks[TAG]) == (before, EIGHT)
    places = [load(catalog, table).metadata_location for table in (CHANGED, UNCHANGED)]
    update_mains(catalog, tagging.moves)
    assert [load(catalog, table).metadata_location for table in (CHANGED, UNCHANGED)] == places


def test_a_table_of_somebody_else_stays_as_it_is(catalog: SqlCatalog) -> None:
    """It has the name of a target, and nothing was published in it."""
    foreign = TableId("db", "foreign")
    catalog.create_table(foreign.parts, ROWS).append(rows(1))
    before = load(catalog, foreign).metadata_location
    tagging = tag_targets(catalog, [stage(catalog, 2)], [*TARGETS, foreign], EIGHT, SYSTEM)
    assert tagging.refused == ""
    update_mains(catalog, tagging.moves)
    assert load(catalog, foreign).metadata_location == before


def test_a_lost_race_on_an_unmoved_table_tags_none(catalog: SqlCatalog) -> None:
    tagging = tag_targets(catalog, [stage(catalog, 2)], TARGETS, EIGHT, SYSTEM)
    load(catalog, UNCHANGED).append(rows(9))
    with pytest.raises(SupersededError, match=r"main of db\.unchanged"):
        update_mains(catalog, tagging.moves)
    assert [tag(catalog, table) for table in (CHANGED, UNCHANGED)] == [None, None]


def test_files_that_are_rewritten_before_it_stay_on_main(catalog: SqlCatalog) -> None:
    """PUB-12: the tag keeps the snapshot that had the rows; nothing else of the table changes."""
    moves = tag_targets(catalog, [stage(catalog, 2)], TARGETS, EIGHT, SYSTEM).moves
    before, published = head(catalog, UNCHANGED), read_published(load(catalog, UNCHANGED))
    rewrite(catalog, UNCHANGED)
    for _ in range(2):
        update_mains(catalog, moves)
        ref, after = tag(catalog, UNCHANGED), read_published(load(catalog, UNCHANGED))
        assert (ref and ref.snapshot_id, head(catalog, UNCHANGED)) == (before, before + 1)
        assert published is not None
        assert after == replace(published, marks={**published.marks, TAG: EIGHT})


@pytest.mark.parametrize("at", [CHANGED, UNCHANGED])
@pytest.mark.parametrize("has_rows", [False, True])
def test_a_branch_that_somebody_makes_meanwhile_stays(
    catalog: SqlCatalog, at: TableId, *, has_rows: bool
) -> None:
    moves = tag_targets(catalog, [stage(catalog, 2)], TARGETS, EIGHT, SYSTEM).moves
    create_branch(load(catalog, at), EIGHT, head(catalog, at))
    if has_rows:
        load(catalog, at).append(rows(9), branch=EIGHT)
    before = tag(catalog, at)
    for _ in range(2):
        update_mains(catalog, moves)
        assert tag(catalog, at) == before
        assert sorted(load(catalog, CHANGED).scan().to_arrow()["id"].to_pylist()) == [1, 2]


def test_a_fold_that_changed_nothing_in_a_table_without_a_mark_leaves_all_without(
    catalog: SqlCatalog,
) -> None:
    foreign = TableId("db", "foreign")
    catalog.create_table(foreign.parts, ROWS).append(rows(1))
    moves = (RefUpdate(foreign, head(catalog, foreign), head(catalog, foreign)),)
    tagging = tag_targets(catalog, moves, TARGETS, EIGHT, SYSTEM)
    assert tagging.refused == "db.foreign cannot get it: nothing is published in it"
    update_mains(catalog, tagging.moves)


def lose_metadata(table: Table) -> None:
    Path(table.metadata_location.removeprefix("file://")).unlink()


def break_metadata(table: Table) -> None:
    Path(table.metadata_location.removeprefix("file://")).write_text("{}")


def garble_property(table: Table) -> None:
    with table.transaction() as change:
        change.set_properties({PUBLISHED: "{"})


def empty_property(table: Table) -> None:
    with table.transaction() as change:
        change.set_properties({PUBLISHED: "{}"})


@pytest.mark.parametrize("harm", [lose_metadata, break_metadata, garble_property, empty_property])
def test_an_unmoved_table_that_cannot_be_read_leaves_all_without(
    catalog: SqlCatalog, harm: Callable[[Table], None]
) -> None:
    """The cut does not touch it, and is published."""
    moves = (stage(catalog, 2),)
    harm(load(catalog, UNCHANGED))
    tagging = tag_targets(catalog, moves, TARGETS, EIGHT, SYSTEM)
    assert tagging.moves == moves
    assert tagging.refused.startswith("db.unchanged cannot be read: ")
    update_mains(catalog, tagging.moves)
    assert head(catalog, CHANGED) == moves[0].snapshot


def test_the_oldest_tag_of_an_interval_makes_room(catalog: SqlCatalog) -> None:
    """PUB-14: those of people, and one that is kept for ever, count for nothing and stay."""
    table = load(catalog, UNCHANGED)
    days = [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days) for days in range(MAX_INTERVAL_TAGS)]
    snapshots = table.manage_snapshots()
    at = head(catalog, UNCHANGED)
    for name in map(interval_tag, days):
        snapshots = snapshots.create_tag(at, name, DAY_MS * 10_000)
    kept = ("asof_20190101T0000", "asof_of_ours", "month_end")
    for other in kept:
        snapshots = snapshots.create_tag(at, other, None if other == kept[0] else DAY_MS)
    snapshots.commit()
    update_mains(catalog, tag_targets(catalog, [], [UNCHANGED], EIGHT, SYSTEM).moves)
    there = set(load(catalog, UNCHANGED).refs()) - {"main"}
    assert there == {*map(interval_tag, days[1:]), EIGHT, *kept}
    update_mains(catalog, tag_targets(catalog, [], [UNCHANGED], "year_end", SYSTEM).moves)
    assert set(load(catalog, UNCHANGED).refs()) == {"main", *there, "year_end"}


def test_a_tag_of_somebody_else_keeps_its_age(catalog: SqlCatalog) -> None:
    create_tag(load(catalog, UNCHANGED), head(catalog, UNCHANGED), EIGHT)
    before = tag(catalog, UNCHANGED)
    update_mains(catalog, tag_targets(catalog, [], TARGETS, EIGHT, SYSTEM).moves)
    assert tag(catalog, UNCHANGED) == before


def test_what_a_stranger_removes_stays_away(catalog: SqlCatalog) -> None:
    moves = tag_targets(catalog, [], TARGETS, EIGHT, SYSTEM).moves
    update_mains(catalog, moves)
    load(catalog, UNCHANGED).manage_snapshots().remove_tag(EIGHT).commit()
    update_mains(catalog, moves)
    assert tag(catalog, UNCHANGED) is None
    assert tag(catalog, CHANGED) is not None


def test_iceberg_keeps_it_as_long_on_a_table_that_did_not_change_for_years(
    catalog: SqlCatalog,
) -> None:
    """It counts the age of a tag from the snapshot on."""
    table = load(catalog, UNCHANGED)
    old = table.metadata.snapshots[-1]
    aged = old.model_copy(update={"timestamp_ms": old.timestamp_ms - 1000 * DAY_MS})
    others = table.metadata.snapshots[:-1]
    metadata = table.metadata.model_copy(update={"snapshots": [*others, aged]})
    before = Table(table.name(), metadata, table.metadata_location, table.io, table.catalog)
    move = RefUpdate(UNCHANGED, old.snapshot_id, old.snapshot_id, tag=EIGHT)
    refs = [u for u in Due(move, table, table).updates(before) if u.action == "set-snapshot-ref"]
    (age_ms,) = (update.max_ref_age_ms for update in refs if update.ref_name == EIGHT)
    left_ms = (age_ms or 0) - (time.time_ns() // 1_000_000 - aged.timestamp_ms)
    assert abs(left_ms - KEEP_TAG_DAYS * DAY_MS) < 60_000


def test_one_that_is_over_keeps_no_snapshot_from_maintenance(catalog: SqlCatalog) -> None:
    table = load(catalog, UNCHANGED)
    first = table.snapshots()[0]
    create_tag(table, first.snapshot_id, EIGHT, KEEP_TAG_DAYS * DAY_MS)
    assert first.timestamp_ms not in read_files(load(catalog, UNCHANGED)).snapshots
    create_tag(load(catalog, UNCHANGED), first.snapshot_id, EIGHT, 1)
    assert first.timestamp_ms in read_files(load(catalog, UNCHANGED)).snapshots


def test_a_name_that_is_taken_or_a_foreign_change_leaves_all_without(catalog: SqlCatalog) -> None:
    moves = (stage(catalog, 2),)
    create_tag(load(catalog, CHANGED), moves[0].base or 0, EIGHT)
    tagging = tag_targets(catalog, moves, TARGETS, EIGHT, SYSTEM)
    assert (tagging.moves, tagging.refused) == (moves, f"db.changed has a tag {EIGHT} already")
    load(catalog, UNCHANGED).append(rows(9))
    tagging = tag_targets(catalog, moves, TARGETS, "asof_20261124T0900", SYSTEM)
    assert tagging.moves == moves
    assert tagging.refused.startswith("db.unchanged is not as it was published: behind snapshot")
