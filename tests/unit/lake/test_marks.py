"""What a table's head says of itself, on a real SQLite catalog and real Iceberg tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table

from tests.support.marks import append_published
from tidemark.errors import ForeignChangeError, SupersededError
from tidemark.lake.catalog import TableId
from tidemark.lake.marks import (
    CUT,
    PUBLISHED,
    adopt_head,
    foreign_change,
    read_checked,
    read_published,
)
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import RefUpdate, create_branch, main_head

ROWS = pa.schema([pa.field("id", pa.int64())])
TABLE = TableId("db", "t")
MARK = "tidemark.landing"


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    catalog.create_table(TABLE.parts, ROWS).append(ROWS.empty_table())
    return catalog


def load(catalog: SqlCatalog) -> Table:
    return catalog.load_table(TABLE.parts)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids)}, schema=ROWS)


def publish(catalog: SqlCatalog, branch: str, mark: str, *ids: int) -> int:
    """Stage rows on a branch with ``mark`` in their summary, and move main there."""
    base = main_head(load(catalog))
    assert base is not None
    create_branch(load(catalog), branch, base)
    table = load(catalog)
    table.append(rows(*ids), snapshot_properties={MARK: mark}, branch=branch)
    snapshot = table.refs()[branch].snapshot_id
    update_mains(catalog, [RefUpdate(TABLE, base, snapshot, (branch,))])
    return snapshot


def said(catalog: SqlCatalog) -> Mapping[str, str]:
    published = read_checked(load(catalog), TABLE)
    assert published is not None
    return published.marks


def expire(catalog: SqlCatalog) -> None:
    later = datetime.now(UTC) + timedelta(days=1)
    load(catalog).maintenance.expire_snapshots().older_than(later).commit()


def forget(catalog: SqlCatalog) -> None:
    """Take the property and the older files of metadata away."""
    with load(catalog).transaction() as change:
        change.set_properties({"write.metadata.previous-versions-max": "1"})
    if PUBLISHED in load(catalog).properties:
        with load(catalog).transaction() as change:
            change.remove_properties(PUBLISHED)
    with load(catalog).transaction() as change:
        change.set_properties({"owner": "somebody"})


def test_main_and_what_it_says_move_in_one_commit(catalog: SqlCatalog) -> None:
    """PUB-9: of one file of metadata a reader has both, and there is one mark, not one a cut."""
    sizes = []
    for number in range(3):
        snapshot = publish(catalog, f"b{number}", f"landing {number}", number)
        table = load(catalog)
        before = table.io.new_input(table.metadata.metadata_log[-1].metadata_file)
        older = FromInputFile.table_metadata(before)
        assert older.current_snapshot_id != snapshot
        assert older.properties.get(PUBLISHED) != table.properties[PUBLISHED]
        published = read_published(table)
        assert published is not None
        assert (published.snapshot, published.rows) == (snapshot, number + 1)
        assert published.marks == {MARK: f"landing {number}"}
        sizes.append(len(table.properties[PUBLISHED]))
    assert max(sizes) - min(sizes) < 5


def test_what_is_appended_to_main_counts_as_published(catalog: SqlCatalog) -> None:
    """PUB-9: what the new snapshot does not say goes on being said."""
    publish(catalog, "b", "landing 1", 1)
    append_published(catalog, load(catalog), rows(2), {"tidemark.order": "resync"})
    assert said(catalog) == {MARK: "landing 1", "tidemark.order": "resync"}


def test_an_append_does_not_follow_what_it_has_not_read(catalog: SqlCatalog) -> None:
    """PUB-8: pyiceberg would append behind it, with words that are older than it."""
    stale = load(catalog)
    publish(catalog, "b", "landing 1", 1)
    with pytest.raises(SupersededError):
        append_published(catalog, stale, rows(2), {MARK: "landing 0"})
    assert said(catalog) == {MARK: "landing 1"}


def test_a_mark_outlives_its_snapshots(catalog: SqlCatalog) -> None:
    """PUB-9: nothing but the head is left, and it says as much as before."""
    publish(catalog, "b", "landing 1", 1)
    append_published(catalog, load(catalog), rows(), {"tidemark.order": "skip"})
    expire(catalog)
    assert len(load(catalog).snapshots()) == 1
    assert said(catalog)[MARK] == "landing 1"


def test_a_table_of_the_version_before_is_read(catalog: SqlCatalog) -> None:
    """PUB-9: it has summaries alone, and gets the property when it is published next."""
    load(catalog).append(rows(1), snapshot_properties={MARK: "landing 1"})
    assert said(catalog) == {MARK: "landing 1"}
    publish(catalog, "b", "landing 2", 2)
    assert PUBLISHED in load(catalog).properties


def test_an_expired_summary_is_found_in_older_metadata(catalog: SqlCatalog) -> None:
    """PUB-9: of a table of the version before; its head is a snapshot without a word of ours."""
    table = load(catalog)
    table.append(rows(1), snapshot_properties={MARK: "landing 1", "tidemark.cut": "1"})
    table.append(rows(), snapshot_properties={"tidemark.cut": "2"})
    table.append(rows())
    expire(catalog)
    published = read_published(load(catalog))
    assert published is not None
    assert published.marks == {MARK: "landing 1", "tidemark.cut": "2"}


def test_rows_without_a_mark_are_refused(catalog: SqlCatalog) -> None:
    """PUB-10: a table without rows is new; one with rows and without a mark was robbed of it."""
    assert read_checked(load(catalog), TABLE) is None
    publish(catalog, "b", "landing 1", 1)
    load(catalog).append(rows())
    expire(catalog)
    forget(catalog)
    with pytest.raises(ForeignChangeError, match=r"db\.t is not as .* it has rows, but neither"):
        read_checked(load(catalog), TABLE)


def test_what_somebody_appended_is_named(catalog: SqlCatalog) -> None:
    """PUB-11: whose it is, as far as its summary says, and how to undo it."""
    snapshot = publish(catalog, "b", "landing 1", 1)
    load(catalog).append(rows(7), snapshot_properties={"engine-name": "spark", "app-id": "etl-9"})
    with pytest.raises(
        ForeignChangeError,
        match=r"behind snapshot \d+ came snapshot \d+ \(append: 1 rows added, 0 deleted\) of "
        r"spark etl-9 from 20",
    ) as refused:
        read_checked(load(catalog), TABLE)
    assert f"CALL lake.system.set_current_snapshot('db.t', {snapshot})" in str(refused.value)
    with pytest.raises(SupersededError, match="it is not as it was published: behind"):
        publish(catalog, "b2", "landing 2", 2)


def test_a_main_that_was_set_back_is_named(catalog: SqlCatalog) -> None:
    """PUB-11: what it was set back to is ours, and older."""
    first = publish(catalog, "b1", "landing 1", 1)
    second = publish(catalog, "b2", "landing 2", 2)
    load(catalog).manage_snapshots().rollback_to_snapshot(first).commit()
    with pytest.raises(
        ForeignChangeError, match=rf"main was set back from snapshot {second} to snapshot {first} "
    ):
        read_checked(load(catalog), TABLE)
    expire(catalog)
    with pytest.raises(ForeignChangeError, match=rf"snapshot {second} is expired: fold a new"):
        read_checked(load(catalog), TABLE)


def test_a_main_that_goes_on_with_a_branch_is_named(catalog: SqlCatalog) -> None:
    """PUB-11: an attempt that was not published has all the marks that a published one has."""
    first = publish(catalog, "b1", "landing 1", 1)
    create_branch(load(catalog), "b2", first)
    table = load(catalog)
    table.append(rows(2), snapshot_properties={MARK: "landing 2"}, branch="b2")
    staged = table.refs()["b2"].snapshot_id
    load(catalog).manage_snapshots().set_current_snapshot(staged).commit()
    with pytest.raises(ForeignChangeError, match=rf"came snapshot {staged} \(append"):
        read_checked(load(catalog), TABLE)


def test_what_nobody_can_trace_is_compared_by_rows(catalog: SqlCatalog) -> None:
    """PUB-11: expired and in no file of metadata; that nothing tells is no reason to go on."""
    publish(catalog, "b", "landing 1", 1)
    table = load(catalog)
    for number in (7, 8):
        table.append(rows(number))
    table.append(rows())
    kept = load(catalog).properties[PUBLISHED]
    expire(catalog)
    forget(catalog)
    with load(catalog).transaction() as change:
        change.set_properties({PUBLISHED: kept})
    published = read_published(load(catalog))
    assert "append" in foreign_change(load(catalog), published)


def test_a_head_may_be_taken_as_it_is(catalog: SqlCatalog) -> None:
    """PUB-11, SNAP-8: where a new snapshot of the source is to fix what somebody did."""
    publish(catalog, "b", "landing 1", 1)
    load(catalog).append(rows(7))
    adopt_head(catalog, TABLE, 1)
    adopt_head(catalog, TableId("db", "not_there"), 1)
    assert said(catalog) == {MARK: "landing 1", CUT: "1"}
    publish(catalog, "b2", "landing 2", 2)
    assert sorted(load(catalog).scan().to_arrow()["id"].to_pylist()) == [1, 2, 7]
