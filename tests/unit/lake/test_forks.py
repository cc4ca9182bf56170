"""A changed schema shows with its rows: forks on a real SQLite catalog and real Iceberg tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from tidemark.errors import SupersededError
from tidemark.lake.catalog import TableId
from tidemark.lake.forks import drop_dead_forks, drop_forks, make_fork
from tidemark.lake.marks import PUBLISHED
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import RefUpdate, attempt_ref, create_branch, main_head
from tidemark.model.names import AttemptId

A, B = TableId("db", "a"), TableId("db", "b")
OWN = "tidemark_shop"
BRANCH = attempt_ref(3, AttemptId("try_1"))
HOUSEKEEPING = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "3",
}


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    catalog = SqlCatalog(
        "lake", uri=f"sqlite:///{tmp_path}/catalog.db?timeout=30", warehouse=str(tmp_path)
    )
    for namespace in ("db", OWN):
        catalog.create_namespace(namespace)
    for table in (A, B):
        rows = pa.table({"id": [1], "name": ["x"]})
        catalog.create_table(table.parts, rows.schema).append(rows)
    return catalog


def load(catalog: SqlCatalog, table: TableId) -> Table:
    return catalog.load_table(table.parts)


def rows(catalog: SqlCatalog, table: TableId) -> list[dict[str, object]]:
    found: list[dict[str, object]] = load(catalog, table).scan().to_arrow().to_pylist()
    return found


def is_there(location: str) -> bool:
    return Path(location.removeprefix("file://")).exists()


def staged(catalog: SqlCatalog, table: TableId) -> RefUpdate:
    """On a fork: ``name`` is called ``title``, and a row joins on the attempt's branch."""
    fork = make_fork(catalog, table, load(catalog, table).metadata_location, OWN, BRANCH)
    with load(catalog, fork.table).update_schema() as update:
        update.rename_column("name", "title")
    base = main_head(load(catalog, fork.table))
    assert base is not None
    create_branch(load(catalog, fork.table), BRANCH, base)
    loaded = load(catalog, fork.table)
    loaded.append(pa.table({"id": [2], "title": ["y"]}), branch=BRANCH)
    return RefUpdate(table, base, loaded.refs()[BRANCH].snapshot_id, (BRANCH,), fork)


def test_a_schema_shows_with_its_rows(catalog: SqlCatalog) -> None:
    """SCHEMA-10, SCHEMA-30: not before they are published, and under the column's own id."""
    before, field = main_head(load(catalog, A)), load(catalog, A).schema().find_field("name")
    ref_update = staged(catalog, A)
    assert rows(catalog, A) == [{"id": 1, "name": "x"}]
    update_mains(catalog, [ref_update])
    assert rows(catalog, A) == [{"id": 2, "title": "y"}, {"id": 1, "title": "x"}]
    table = load(catalog, A)
    assert table.schema().find_field("title").field_id == field.field_id
    assert table.scan(snapshot_id=before).to_arrow().to_pylist() == [{"id": 1, "name": "x"}]
    assert set(table.refs()) == {"main"}
    assert not catalog.table_exists(ref_update.place.parts)


def test_repeating_a_move_is_no_op(catalog: SqlCatalog) -> None:
    ref_update = staged(catalog, A)
    update_mains(catalog, [ref_update])
    location = load(catalog, A).metadata_location
    update_mains(catalog, [ref_update])
    assert load(catalog, A).metadata_location == location


def test_a_table_that_was_changed_meanwhile_moves_nothing(catalog: SqlCatalog) -> None:
    """PUB-8: what another writer did is not lost under the fork."""
    ref_updates = [staged(catalog, A), staged(catalog, B)]
    load(catalog, B).manage_snapshots().create_tag(ref_updates[1].base or 0, "of_a_user").commit()
    with pytest.raises(SupersededError, match=r"db\.b .* was changed after its fork"):
        update_mains(catalog, ref_updates)
    assert rows(catalog, A) == [{"id": 1, "name": "x"}]
    assert "of_a_user" in load(catalog, B).refs()


def test_a_fork_that_is_gone_moves_nothing(catalog: SqlCatalog) -> None:
    ref_update = staged(catalog, A)
    drop_dead_forks(catalog, OWN, 4)
    with pytest.raises(SupersededError, match="is gone"):
        update_mains(catalog, [ref_update])
    assert rows(catalog, A) == [{"id": 1, "name": "x"}]


def test_a_changed_schema_whose_fork_is_gone_moves_nothing(catalog: SqlCatalog) -> None:
    """SCHEMA-10, PUB-8: main stands where such a move takes it, whether it was made or not."""
    fork = make_fork(catalog, A, load(catalog, A).metadata_location, OWN, BRANCH)
    with load(catalog, fork.table).update_schema() as update:
        update.rename_column("name", "title")
    base = main_head(load(catalog, A)) or 0
    create_branch(load(catalog, fork.table), BRANCH, base)
    ref_updates = [RefUpdate(A, base, base, (BRANCH,), fork), staged(catalog, B)]
    drop_forks(catalog, OWN, BRANCH, A)
    with pytest.raises(SupersededError, match="is gone"):
        update_mains(catalog, ref_updates)
    assert rows(catalog, B) == [{"id": 1, "name": "x"}]


def test_a_changed_schema_that_is_published_stays_so(catalog: SqlCatalog) -> None:
    """SCHEMA-10: its fork is gone, and all other moves are made."""
    fork = make_fork(catalog, A, load(catalog, A).metadata_location, OWN, BRANCH)
    with load(catalog, fork.table).update_schema() as update:
        update.rename_column("name", "title")
    base = main_head(load(catalog, A)) or 0
    create_branch(load(catalog, fork.table), BRANCH, base)
    ref_updates = [RefUpdate(A, base, base, (BRANCH,), fork), staged(catalog, B)]
    update_mains(catalog, ref_updates)
    locations = [load(catalog, table).metadata_location for table in (A, B)]
    update_mains(catalog, ref_updates)
    assert [load(catalog, table).metadata_location for table in (A, B)] == locations
    assert rows(catalog, A) == [{"id": 1, "title": "x"}]


def test_dead_forks_go_and_the_tables_of_the_pipeline_stay(catalog: SqlCatalog) -> None:
    ref_update = staged(catalog, A)
    catalog.create_table((OWN, "ledger"), pa.schema([pa.field("id", pa.int64())]))
    drop_dead_forks(catalog, OWN, 3)
    assert catalog.table_exists(ref_update.place.parts)
    drop_dead_forks(catalog, OWN, 4)
    assert catalog.list_tables(OWN) == [(OWN, "ledger")]
    assert rows(catalog, A) == [{"id": 1, "name": "x"}]


def test_what_expired_meanwhile_stays_so(catalog: SqlCatalog) -> None:
    """SCHEMA-10, PUB-12: the fork names snapshots of which the files are gone by now."""
    for number in (5, 6):
        load(catalog, A).append(pa.table({"id": [number], "name": ["z"]}))
    first, second, third = load(catalog, A).snapshots()
    ref_update = staged(catalog, A)
    expired = (first.snapshot_id, second.snapshot_id)
    load(catalog, A).maintenance.expire_snapshots().by_ids(list(expired)).commit()
    update_mains(catalog, [ref_update])
    metadata = load(catalog, A).metadata
    there = [third.snapshot_id, ref_update.snapshot]
    assert [snapshot.snapshot_id for snapshot in metadata.snapshots] == there
    assert [entry.snapshot_id for entry in metadata.snapshot_log] == there
    assert {row["id"] for row in rows(catalog, A)} == {1, 2, 5, 6}


def changed(catalog: SqlCatalog, table: TableId, times: int) -> None:
    for number in range(times):
        with load(catalog, table).transaction() as changes:
            changes.set_properties({"changed": str(number)})


@pytest.mark.parametrize("fate", ["published", "dropped"])
def test_a_fork_owns_no_file_of_its_table(catalog: SqlCatalog, fate: str) -> None:
    """SCHEMA-10: however often it is changed, and whatever becomes of it."""
    with load(catalog, A).transaction() as changes:
        changes.set_properties(HOUSEKEEPING)
    changed(catalog, A, 2)
    live = load(catalog, A)
    before = {live.metadata_location, *(log.metadata_file for log in live.metadata.metadata_log)}
    other = make_fork(
        catalog, A, load(catalog, A).metadata_location, OWN, attempt_ref(3, AttemptId("try_2"))
    )
    ref_update = staged(catalog, A)
    changed(catalog, ref_update.place, 4)
    changed(catalog, other.table, 4)
    fork = load(catalog, ref_update.place)
    assert fork.properties.items() >= {"gc.enabled": "false", "tidemark.fork-of": "db.a"}.items()
    own = {fork.metadata_location, *(log.metadata_file for log in fork.metadata.metadata_log)}
    assert len(own) == 8
    assert not own & before
    assert all(map(is_there, own | before))

    if fate == "published":
        update_mains(catalog, [ref_update])
    drop_dead_forks(catalog, OWN, 4)
    assert not any(map(is_there, own))
    table = load(catalog, A)
    log = [entry.metadata_file for entry in table.metadata.metadata_log]
    assert all(map(is_there, [table.metadata_location, *log]))
    if fate == "published":
        kept = {**table.properties}
        assert kept.pop("changed") == "3"
        assert kept.pop(PUBLISHED), "it says what was published"
        assert kept.items() == live.properties.items() - {("changed", "1")}
        assert log == [log.metadata_file for log in live.metadata.metadata_log][1:] + [
            live.metadata_location
        ]
        assert {log for log in before if is_there(log)} == set(log)
    else:
        assert table.metadata_location == live.metadata_location
    changed(catalog, A, 9)
    assert len(rows(catalog, A)) == (2 if fate == "published" else 1)


def test_a_fork_whose_metadata_is_lost_goes(catalog: SqlCatalog) -> None:
    """As where a stranger removed the orphans of the table while the fork was new."""
    ref_update = staged(catalog, A)
    Path(load(catalog, ref_update.place).metadata_location.removeprefix("file://")).unlink()
    drop_dead_forks(catalog, OWN, 4)
    assert not catalog.table_exists(ref_update.place.parts)
    assert rows(catalog, A) == [{"id": 1, "name": "x"}]


def test_the_forks_of_one_attempt_go(catalog: SqlCatalog) -> None:
    """Those of another attempt at the same cut stay, and so does what is asked for by name."""
    first, second = (
        make_fork(catalog, table, load(catalog, table).metadata_location, OWN, BRANCH)
        for table in (A, B)
    )
    other = make_fork(
        catalog, A, load(catalog, A).metadata_location, OWN, attempt_ref(3, AttemptId("try_1_2"))
    )
    drop_forks(catalog, OWN, BRANCH, A)
    assert set(catalog.list_tables(OWN)) == {second.table.parts, other.table.parts}
    make_fork(catalog, A, load(catalog, A).metadata_location, OWN, BRANCH)
    drop_forks(catalog, OWN, BRANCH)
    assert catalog.list_tables(OWN) == [other.table.parts]
    assert first.origin == other.origin
