"""Heads that are read once, and what is written behind them: real tables, an SQLite catalog."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tests.support.lake import RECORDS, land, publish, stage
from tidemark.errors import ForeignChangeError, StorageError, SupersededError
from tidemark.lake.catalog import SystemTables
from tidemark.lake.heads import Heads, read_heads
from tidemark.lake.landing import landed_ms, read_mark
from tidemark.lake.ledger import ensure_table, read_progress, record_action
from tidemark.lake.marks import PUBLISHED
from tidemark.lake.quarantine import SCHEMA, add_entries, read_entries
from tidemark.model.event import Reason
from tidemark.model.names import PipelineName, TableName
from tidemark.model.progress import Progress
from tidemark.model.quarantine import Entry, State

TABLES = SystemTables.of(PipelineName("shop"))
FIRST_OR_LATER = pytest.mark.parametrize("cuts", [pytest.param(0, id="first"), 1, 2])
ENTRY = Entry(
    *("shop.items", 0, 7, None, Reason.EMPTY_VALUE, "shop.items", "", "", None, 0, ""), cut=1
)


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    return SqlCatalog(
        "lake", uri=f"sqlite:///{tmp_path}/catalog.db?timeout=30", warehouse=str(tmp_path)
    )


def heads_after(catalog: SqlCatalog, cuts: int) -> Heads:
    """The heads behind as many landings and cuts."""
    for number in range(cuts):
        land(catalog, TABLES, read_heads(catalog, TABLES), f"l{number}")
        cut(catalog, f"c{number}")
    return read_heads(catalog, TABLES)


def cut(catalog: SqlCatalog, attempt: str) -> None:
    """Publish a cut behind the heads of now."""
    stage(catalog, TABLES, read_heads(catalog, TABLES), attempt)
    publish(catalog, TABLES, attempt)


def skip(progress: Progress, transaction: str) -> Progress:
    return replace(progress, skipped=progress.skipped | {transaction})


def test_landings_tell_when_they_were_made(catalog: SqlCatalog) -> None:
    assert landed_ms(catalog, TABLES, None, 1) == 0
    head = heads_after(catalog, 3).changelog.snapshot
    made = [
        snapshot.timestamp_ms
        for snapshot in catalog.load_table(TABLES.changelog.parts).metadata.snapshots
    ]
    found = [landed_ms(catalog, TABLES, head, landing) for landing in (1, 2, 3, 4)]
    assert found == [*made[1:], 0], "the first one made the table"


def test_metadata_that_is_gone_is_an_error_of_storage(catalog: SqlCatalog) -> None:
    heads_after(catalog, 1)
    metadata = Path(
        catalog.load_table(TABLES.ledger.parts).metadata_location.removeprefix("file://")
    )
    metadata.unlink()
    with pytest.raises(StorageError, match=metadata.name):
        read_heads(catalog, TABLES)


@FIRST_OR_LATER
def test_a_cut_of_heads_from_before_an_order_is_superseded(catalog: SqlCatalog, cuts: int) -> None:
    """PUB-8: be it recorded before the cut is staged, or after."""
    heads = heads_after(catalog, cuts)
    stage(catalog, TABLES, heads, "early")
    record_action(catalog, TABLES, lambda now: skip(now, "999"), "skip 999")
    stage(catalog, TABLES, heads, "late")
    for attempt in ("early", "late"):
        with pytest.raises(SupersededError, match="ledger stands at snapshot"):
            publish(catalog, TABLES, attempt)
    assert read_progress(catalog, TABLES) == skip(heads.ledger.progress, "999")
    cut(catalog, "next")
    assert read_progress(catalog, TABLES).cut == cuts + 1
    assert read_progress(catalog, TABLES).skipped == {"999"}


@FIRST_OR_LATER
def test_an_order_is_asked_again_where_a_cut_is_published_while_it_decides(
    catalog: SqlCatalog, cuts: int
) -> None:
    """Neither is lost: pyiceberg's append would be put on top of the cut, with the cut undone."""
    heads_after(catalog, cuts)
    asked: list[int] = []

    def change(progress: Progress) -> Progress:
        asked.append(progress.cut)
        if len(asked) == 1:
            cut(catalog, "between")
        return skip(progress, "999")

    assert record_action(catalog, TABLES, change, "skip 999").cut == cuts + 1
    assert asked == [cuts, cuts + 1]
    assert read_progress(catalog, TABLES).cut == cuts + 1
    assert read_progress(catalog, TABLES).skipped == {"999"}


def test_an_order_that_never_finds_a_gap_is_refused_and_says_so(catalog: SqlCatalog) -> None:
    def change(progress: Progress) -> Progress:
        cut(catalog, f"c{progress.cut}")
        return skip(progress, "999")

    with pytest.raises(SupersededError, match="next:  give it again"):
        record_action(catalog, TABLES, change, "skip 999")
    assert not read_progress(catalog, TABLES).skipped


@FIRST_OR_LATER
def test_of_two_landings_of_one_range_one_counts(catalog: SqlCatalog, cuts: int) -> None:
    """PUB-8, of the first of all as well: none of the two has seen a changelog."""
    heads = heads_after(catalog, cuts)
    first = land(catalog, TABLES, heads, "first")
    with pytest.raises(SupersededError, match="changelog stands at snapshot"):
        land(catalog, TABLES, heads, "second")
    assert read_heads(catalog, TABLES).changelog == first
    rows = catalog.load_table(TABLES.changelog.parts).scan().to_arrow()
    assert sorted(rows["offset"].to_pylist()) == list(range(RECORDS * (cuts + 1)))
    assert read_mark(catalog, TABLES).number == cuts + 1


def test_what_is_dropped_from_the_quarantine_while_a_cut_adds_to_it_stays(
    catalog: SqlCatalog,
) -> None:
    stage(catalog, TABLES, read_heads(catalog, TABLES), "first", entries=[ENTRY])
    publish(catalog, TABLES, "first")
    heads = read_heads(catalog, TABLES)
    dropped = replace(ENTRY, state=State.DROPPED)
    add_entries(catalog, TABLES, heads.quarantine, 1, [dropped])
    applied = [replace(ENTRY, state=State.APPLIED, cut=2)]
    stage(catalog, TABLES, heads, "second", entries=applied)
    with pytest.raises(SupersededError, match="quarantine stands at snapshot"):
        publish(catalog, TABLES, "second")
    with pytest.raises(SupersededError, match="quarantine stands at snapshot"):
        add_entries(catalog, TABLES, heads.quarantine, 1, [dropped])
    assert [entry.state for entry in read_entries(catalog, TABLES)] == [State.DROPPED]


def quarantine_once(catalog: SqlCatalog) -> None:
    """Publish a cut that quarantines a change of shop.items."""
    heads = heads_after(catalog, 1)
    progress = replace(heads.ledger.progress, quarantined=frozenset({TableName("shop", "items")}))
    heads = replace(heads, ledger=replace(heads.ledger, progress=progress))
    stage(catalog, TABLES, heads, "bad", entries=[ENTRY])
    publish(catalog, TABLES, "bad")


def test_a_quarantine_that_is_gone_is_missed(catalog: SqlCatalog) -> None:
    """PUB-11: what waits in it would be lost, and rows seem to be missing from a snapshot."""
    quarantine_once(catalog)
    assert read_heads(catalog, TABLES).quarantine is not None
    catalog.drop_table(TABLES.quarantine.parts)
    for _ in ("gone", "made anew"):
        with pytest.raises(ForeignChangeError, match=r"changes of shop\.items were quarantined"):
            read_heads(catalog, TABLES)
        ensure_table(catalog, TABLES.quarantine, SCHEMA, {})


def test_a_quarantine_without_a_record_of_its_rows_is_refused(catalog: SqlCatalog) -> None:
    """PUB-10"""
    quarantine_once(catalog)
    with catalog.load_table(TABLES.quarantine.parts).transaction() as change:
        change.remove_properties(PUBLISHED)
    with pytest.raises(ForeignChangeError, match=r"quarantine is not as it was published: it has"):
        read_heads(catalog, TABLES)
