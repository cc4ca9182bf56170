"""What waits of the quarantine is known at a cost that does not grow with what is over."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tidemark.lake import quarantine
from tidemark.lake.catalog import SystemTables
from tidemark.lake.ledger import PROPERTIES, ensure_table
from tidemark.lake.quarantine import (
    SCHEMA,
    of_record,
    of_table,
    read_entries,
    read_records_waiting,
    read_waiting,
    rows_of,
)
from tidemark.model.event import Reason
from tidemark.model.names import PipelineName, TableName
from tidemark.model.position import Position
from tidemark.model.quarantine import Entry, State, newest_states
from tidemark.model.renames import Rename

SYSTEM = SystemTables.of(PipelineName("p"))
ITEMS, WARES = TableName.parse("shop.items"), TableName.parse("shop.wares")
RENAMED = [Rename(ITEMS, WARES, Position("5"))]
UNREAD = Entry(
    *("shop.items", 0, 7, None, Reason.JSON_INVALID, "", "", Position("1"), None),
    bytes=5,
    sha256="ab",
    cut=3,
)


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    return SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=str(tmp_path))


def write(catalog: SqlCatalog, entries: Sequence[Entry]) -> None:
    table = ensure_table(catalog, SYSTEM.quarantine, SCHEMA, PROPERTIES)
    table.append(rows_of(entries))


def some(rng: random.Random) -> Entry:
    """An entry of a few records, tables and rows, in any state."""
    return replace(
        UNREAD,
        topic=rng.choice(["shop.items", "shop.wares"]),
        partition=rng.choice([0, 1]),
        offset=rng.randrange(3),
        row=rng.choice([None, 0, 1]),
        code=rng.choice([Reason.JSON_INVALID, Reason.VALUE_OUT_OF_RANGE]),
        table=rng.choice(["", "shop.items", "shop.wares"]),
        position=Position(rng.choice(["1", "9"])),
        cut=rng.randrange(100),
        state=rng.choice([*State, State.WAITING, State.WAITING]),
    )


@pytest.mark.parametrize("seed", range(8))
def test_what_waits_is_what_has_come_to_no_end(catalog: SqlCatalog, seed: int) -> None:
    """POISON-4: whatever the order in which rows of a change were written."""
    rng = random.Random(seed)  # noqa: S311  repeatable, not secret
    entries = [some(rng) for _ in range(25)]
    write(catalog, entries)
    newest = newest_states(entry.under(RENAMED) for entry in entries)
    waiting = tuple(entry for entry in newest if entry.state is State.WAITING)
    assert read_waiting(catalog, SYSTEM, RENAMED) == waiting
    of_wares = tuple(entry for entry in waiting if entry.table == "shop.wares")
    assert read_waiting(catalog, SYSTEM, RENAMED, "shop.wares") == of_wares
    fresh = [some(rng) for _ in range(5)]
    whole = [entry for entry in newest_states([*entries, *fresh]) if entry.row is None]
    records = tuple(entry for entry in whole if entry.state is State.WAITING)
    assert read_records_waiting(catalog, SYSTEM, rows_of(fresh)) == records


def test_nothing_waits_where_nothing_was_ever_quarantined(catalog: SqlCatalog) -> None:
    fresh = rows_of([UNREAD, replace(UNREAD, row=1)])
    assert read_waiting(catalog, SYSTEM) == ()
    assert read_records_waiting(catalog, SYSTEM, None) == ()
    assert read_records_waiting(catalog, SYSTEM, fresh) == (UNREAD,)


def test_entries_are_sought_by_record_and_by_every_name_of_their_table(
    catalog: SqlCatalog,
) -> None:
    """SCHEMA-31: rows have the names that their records have."""
    of_items = replace(UNREAD, row=0, table="shop.items")
    of_wares = replace(of_items, offset=8, table="shop.wares", position=Position("9"))
    others = replace(of_items, offset=9, table="shop.others")
    write(catalog, [UNREAD, of_items, of_wares, others])
    entries = read_entries(catalog, SYSTEM, RENAMED, of_table("shop.wares", RENAMED))
    assert [(entry.offset, entry.table) for entry in entries] == [
        (7, "shop.wares"),
        (8, "shop.wares"),
    ]
    assert read_entries(catalog, SYSTEM, wanted=of_record(UNREAD.place)) == (UNREAD, of_items)


def test_what_is_over_is_not_looked_at_one_by_one(
    catalog: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred thousand changes that came to an end took each cut ten seconds."""
    over = [
        replace(UNREAD, offset=n, state=state, row=row)
        for n in range(1000)
        for row in (None, 0)
        for state in (State.WAITING, State.DROPPED)
    ]
    write(catalog, [*over, UNREAD, replace(UNREAD, offset=2000)])
    looked_at = []

    def entries_of(rows: pa.Table) -> list[Entry]:
        looked_at.append(rows.num_rows)
        return [replace(UNREAD, offset=2000)] * rows.num_rows

    monkeypatch.setattr(quarantine, "entries_of", entries_of)
    assert len(read_waiting(catalog, SYSTEM)) == 1
    assert len(read_records_waiting(catalog, SYSTEM, None)) == 1
    assert looked_at == [1, 1]
