"""The one atomic step: `update_mains` on a real SQLite catalog and real Iceberg tables."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from tests.support.compaction import rewrite
from tidemark.errors import SupersededError
from tidemark.lake.catalog import TableId
from tidemark.lake.marks import is_only_rewritten, read_published
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import (
    Displaced,
    RefUpdate,
    TargetRename,
    attempt_ref,
    create_branch,
    create_tag,
    drop_dead_refs,
    drop_refs,
    is_ref_of,
    main_head,
)
from tidemark.model.names import AttemptId

ROWS = pa.schema([pa.field("id", pa.int64())])
A, B = TableId("db", "a"), TableId("db", "b")
ATTEMPT = AttemptId("try_1")


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    catalog = SqlCatalog(
        "lake", uri=f"sqlite:///{tmp_path}/catalog.db?timeout=30", warehouse=str(tmp_path)
    )
    catalog.create_namespace("db")
    for table in (A, B):
        catalog.create_table(table.parts, ROWS).append(ROWS.empty_table())
    return catalog


def stage(catalog: SqlCatalog, table: TableId, *ids: int) -> RefUpdate:
    """Append ``ids`` on a branch of the attempt."""
    branch = attempt_ref(1, ATTEMPT)
    create_branch(load(catalog, table), branch, head(catalog, table))
    loaded = catalog.load_table(table.parts)
    loaded.append(pa.table({"id": list(ids)}, schema=ROWS), branch=branch)
    snapshot = loaded.refs()[branch].snapshot_id
    create_tag(loaded, snapshot, f"{branch}_audited")
    return RefUpdate(table, main_head(loaded), snapshot, (branch, f"{branch}_audited"))


def ids(catalog: SqlCatalog, table: TableId) -> list[int]:
    return sorted(catalog.load_table(table.parts).scan().to_arrow()["id"].to_pylist())


def load(catalog: SqlCatalog, table: TableId) -> Table:
    return catalog.load_table(table.parts)


def head(catalog: SqlCatalog, table: TableId) -> int:
    return load(catalog, table).refs()["main"].snapshot_id


def test_all_tables_move_and_their_refs_go(catalog: SqlCatalog) -> None:
    ref_updates = [stage(catalog, A, 1), stage(catalog, B, 2, 3)]
    assert (ids(catalog, A), ids(catalog, B)) == ([], [])
    update_mains(catalog, ref_updates)
    assert (ids(catalog, A), ids(catalog, B)) == ([1], [2, 3])
    assert set(load(catalog, A).refs()) == {"main"}


@pytest.mark.parametrize(
    ("there", "shown"),
    [
        pytest.param(None, "Tidemark's mirror of the table shop.b", id="none yet"),
        pytest.param(
            "Tidemark's mirror of the table shop.a",
            "Tidemark's mirror of the table shop.b",
            id="its table was renamed",
        ),
        pytest.param("Ask Ada", "Ask Ada", id="somebody's own"),
    ],
)
def test_a_table_says_what_it_is(catalog: SqlCatalog, there: str | None, shown: str) -> None:
    if there is not None:
        with load(catalog, A).transaction() as change:
            change.set_properties(comment=there)
    staged = replace(stage(catalog, A, 1), comment="Tidemark's mirror of the table shop.b")
    update_mains(catalog, [staged])
    assert load(catalog, A).properties["comment"] == shown


def test_a_staged_snapshot_that_somebody_expired_moves_none(catalog: SqlCatalog) -> None:
    """PUB-8, PUB-11: its branch and its tag were dropped first."""
    staged = stage(catalog, A, 1)
    refs = load(catalog, A).manage_snapshots()
    refs.remove_branch(staged.drops[0]).remove_tag(staged.drops[1]).commit()
    load(catalog, A).maintenance.expire_snapshots().by_id(staged.snapshot).commit()
    with pytest.raises(SupersededError, match=f"{staged.snapshot}, which was staged, is not there"):
        update_mains(catalog, [staged, stage(catalog, B, 2)])
    assert (ids(catalog, A), ids(catalog, B)) == ([], [])


def test_a_staged_snapshot_to_which_somebody_moved_main_is_not_published(
    catalog: SqlCatalog,
) -> None:
    """PUB-8, PUB-11: the table would not say that it is, and the next cut take it for foreign."""
    staged = stage(catalog, A, 1)
    load(catalog, A).manage_snapshots().set_current_snapshot(staged.snapshot).commit()
    with pytest.raises(SupersededError, match="but somebody else moved it there"):
        update_mains(catalog, [staged, stage(catalog, B, 2)])
    assert ids(catalog, B) == []
    assert read_published(load(catalog, A)) is None


def test_a_lost_race_on_one_table_moves_none(catalog: SqlCatalog) -> None:
    ref_updates = [stage(catalog, A, 1), stage(catalog, B, 2)]
    load(catalog, B).append(pa.table({"id": [9]}, schema=ROWS))
    with pytest.raises(SupersededError, match=r"main of db\.b stands at snapshot"):
        update_mains(catalog, ref_updates)
    assert (ids(catalog, A), ids(catalog, B)) == ([], [9])


def test_repeating_a_move_is_no_op(catalog: SqlCatalog) -> None:
    ref_updates = [stage(catalog, A, 1), stage(catalog, B, 2)]
    update_mains(catalog, ref_updates)
    before = [load(catalog, table).metadata_location for table in (A, B)]
    update_mains(catalog, ref_updates)
    assert [load(catalog, table).metadata_location for table in (A, B)] == before


def test_a_table_is_told_which_rewritten_files_a_cut_without_a_change_published(
    catalog: SqlCatalog,
) -> None:
    """PUB-9, PUB-11: what comes behind that is known by it, whatever expires in between."""
    update_mains(catalog, [stage(catalog, A, 1, 2)])
    published = read_published(load(catalog, A))
    assert published is not None
    rewrite(catalog, A, **{"total-position-deletes": "1"})
    stays = RefUpdate(A, head(catalog, A), head(catalog, A))
    for _ in range(2):
        update_mains(catalog, [stays])
        place = load(catalog, A).metadata_location
    assert load(catalog, A).metadata_location == place
    after = read_published(load(catalog, A))
    assert after is not None
    assert after == replace(published, snapshot=stays.snapshot, sequence=after.sequence)
    assert after.sequence == published.sequence + 1


def test_files_that_are_rewritten_time_and_again_stop_no_move(catalog: SqlCatalog) -> None:
    """PUB-12: nothing is left of what came between its base and main."""
    update_mains(catalog, [stage(catalog, A, 1)])
    staged = stage(catalog, A, 2)
    for _ in range(3):
        rewrite(catalog, A)
    forget(catalog, A)
    assert not is_only_rewritten(load(catalog, A), staged.base)
    update_mains(catalog, [staged])
    assert ids(catalog, A) == [1, 2]


def test_rows_that_others_published_stop_a_move(catalog: SqlCatalog) -> None:
    """PUB-8: whatever is left of what came in between."""
    update_mains(catalog, [stage(catalog, A, 1)])
    staged = stage(catalog, A, 2)
    drop_refs(load(catalog, A), staged.drops[1:])
    create_branch(load(catalog, A), "other", head(catalog, A))
    other = load(catalog, A)
    other.append(pa.table({"id": [9]}, schema=ROWS), branch="other")
    snapshot = other.refs()["other"].snapshot_id
    update_mains(catalog, [RefUpdate(A, staged.base, snapshot, ("other",))])
    rewrite(catalog, A)
    rewrite(catalog, A)
    forget(catalog, A)
    with pytest.raises(SupersededError, match="was made from"):
        update_mains(catalog, [staged])
    assert ids(catalog, A) == [1, 9]


def forget(catalog: SqlCatalog, name: TableId) -> None:
    """Have nothing tell what main was rewritten from."""
    table = load(catalog, name)
    parent = table.metadata.snapshot_log[-2].snapshot_id
    table.maintenance.expire_snapshots().by_id(parent).commit()
    table = load(catalog, name)
    for entry in table.metadata.metadata_log:
        Path(entry.metadata_file.removeprefix("file://")).unlink()


def test_a_table_is_not_told_of_a_snapshot_that_somebody_changed(catalog: SqlCatalog) -> None:
    """PUB-11: what they did to its rows stays to be seen."""
    update_mains(catalog, [stage(catalog, A, 1)])
    load(catalog, A).append(pa.table({"id": [9]}, schema=ROWS))
    stays = RefUpdate(A, head(catalog, A), head(catalog, A))
    with pytest.raises(SupersededError, match="is not as it was published"):
        update_mains(catalog, [stays])


def renamed(ref_update: RefUpdate, to: TableId, displaced: Displaced | None = None) -> RefUpdate:
    return replace(ref_update, rename=TargetRename(to, displaced))


def tables(catalog: SqlCatalog) -> dict[str, list[int]]:
    return {name: ids(catalog, TableId("db", name)) for _, name in catalog.list_tables("db")}


def test_tables_exchange_their_names_as_they_move(catalog: SqlCatalog) -> None:
    """SCHEMA-34, PUB-5: in the same step, and no second time."""
    ref_updates = [renamed(stage(catalog, A, 1), B), renamed(stage(catalog, B, 2, 3), A)]
    update_mains(catalog, ref_updates)
    assert tables(catalog) == {"a": [2, 3], "b": [1]}
    before = [load(catalog, table).metadata_location for table in (A, B)]
    update_mains(catalog, ref_updates)
    assert [load(catalog, table).metadata_location for table in (A, B)] == before


def test_who_has_the_name_gets_another(catalog: SqlCatalog) -> None:
    """SCHEMA-31: nothing is lost that a statement takes the name from."""
    load(catalog, B).append(pa.table({"id": [9]}, schema=ROWS))
    aside = TableId("db", "b__until_cut_7")
    displaced = Displaced(load(catalog, B).metadata_location, aside)
    ref_update = renamed(stage(catalog, A, 1), B, displaced)
    update_mains(catalog, [ref_update])
    assert tables(catalog) == {"b": [1], "b__until_cut_7": [9]}
    update_mains(catalog, [ref_update])
    assert tables(catalog) == {"b": [1], "b__until_cut_7": [9]}


def test_a_table_that_is_not_moved_can_get_a_name(catalog: SqlCatalog) -> None:
    """SCHEMA-31: no row of it is in the cut."""
    at = head(catalog, A)
    to = TableId("db", "c")
    update_mains(catalog, [RefUpdate(A, at, at, rename=TargetRename(to)), stage(catalog, B, 2)])
    assert tables(catalog) == {"b": [2], "c": []}


def test_a_name_that_somebody_changed_meanwhile_moves_nothing(catalog: SqlCatalog) -> None:
    displaced = Displaced(load(catalog, B).metadata_location, TableId("db", "aside"))
    ref_update = renamed(stage(catalog, A, 1), B, displaced)
    load(catalog, B).append(pa.table({"id": [9]}, schema=ROWS))
    with pytest.raises(SupersededError, match="was changed by another writer"):
        update_mains(catalog, [ref_update])
    assert tables(catalog) == {"a": [], "b": [9]}


def test_a_name_is_taken_from_a_table_whose_files_were_rewritten(catalog: SqlCatalog) -> None:
    """PUB-12, SCHEMA-31: it is the same table with the same rows."""
    load(catalog, B).append(pa.table({"id": [9]}, schema=ROWS))
    displaced = Displaced(load(catalog, B).metadata_location, TableId("db", "aside"))
    ref_update = renamed(stage(catalog, A, 1), B, displaced)
    rewrite(catalog, B)
    update_mains(catalog, [ref_update])
    assert tables(catalog) == {"b": [1], "aside": [9]}


def test_a_name_that_another_table_got_meanwhile_moves_nothing(catalog: SqlCatalog) -> None:
    """PUB-8: also where that has the rows of the one which had it."""
    displaced = Displaced(load(catalog, B).metadata_location, TableId("db", "aside"))
    ref_update = renamed(stage(catalog, A, 1), B, displaced)
    catalog.drop_table(B.parts)
    catalog.create_table(B.parts, ROWS).append(ROWS.empty_table())
    with pytest.raises(SupersededError, match="was changed by another writer"):
        update_mains(catalog, [ref_update])
    assert tables(catalog) == {"a": [], "b": []}


def test_a_snapshot_that_does_not_descend_from_main_is_refused(catalog: SqlCatalog) -> None:
    """The compare-and-set alone would let it through: main still stands where the move says."""
    orphan = stage(catalog, A, 1)
    update_mains(catalog, [stage_on(catalog, A, 5)])
    current = main_head(load(catalog, A))
    with pytest.raises(SupersededError):
        update_mains(catalog, [RefUpdate(A, current, orphan.snapshot)])
    assert ids(catalog, A) == [5]


def stage_on(catalog: SqlCatalog, table: TableId, number: int) -> RefUpdate:
    branch = attempt_ref(2, ATTEMPT)
    create_branch(load(catalog, table), branch, head(catalog, table))
    loaded = load(catalog, table)
    loaded.append(pa.table({"id": [number]}, schema=ROWS), branch=branch)
    return RefUpdate(table, main_head(loaded), loaded.refs()[branch].snapshot_id, (branch,))


def test_a_reader_of_the_catalog_sees_two_states_and_no_other(catalog: SqlCatalog) -> None:
    """Polls the database that readers load tables from, while ten moves are made."""
    seen: set[tuple[str, str]] = set()
    looking = threading.Lock()
    done = threading.Event()

    def poll() -> None:
        with catalog.engine.connect() as connection:
            while not done.is_set():
                with looking:
                    rows = connection.exec_driver_sql(
                        "SELECT table_name, metadata_location FROM iceberg_tables "
                        "WHERE table_namespace = 'db' ORDER BY table_name"
                    ).all()
                    connection.rollback()
                    seen.add((rows[0][1], rows[1][1]))

    def locations() -> tuple[str, str]:
        first, second = (load(catalog, table).metadata_location for table in (A, B))
        return first, second

    poller = threading.Thread(target=poll)
    poller.start()
    try:
        for number in range(10):
            ref_updates = [stage_on(catalog, table, number) for table in (A, B)]
            before = locations()
            with looking:
                seen.clear()
            update_mains(catalog, ref_updates)
            after = locations()
            assert after != before
            with looking:
                assert seen <= {before, after}
    finally:
        done.set()
        poller.join()


def test_dead_attempts_are_dropped_and_live_ones_stay(catalog: SqlCatalog) -> None:
    stage(catalog, A, 1)
    live = stage_on(catalog, A, 2)
    load(catalog, A).manage_snapshots().create_branch(live.snapshot, "a_users_branch").commit()
    drop_dead_refs(load(catalog, A), 2)
    assert set(load(catalog, A).refs()) == {"main", attempt_ref(2, ATTEMPT), "a_users_branch"}


@pytest.mark.parametrize(
    ("ref", "attempt", "belongs"),
    [
        pytest.param("tidemark_7_try_1", "try_1", True, id="branch"),
        pytest.param("tidemark_7_try_1_audited", "try_1", True, id="tag"),
        pytest.param("tidemark_7_try_12", "try_1", False, id="longer attempt"),
        pytest.param("tidemark_7_2_try_1", "try_1", False, id="attempt with the same end"),
        pytest.param("main", "try_1", False, id="main"),
    ],
)
def test_refs_of_an_attempt(ref: str, attempt: str, belongs: bool) -> None:
    assert is_ref_of(ref, AttemptId(attempt)) is belongs
