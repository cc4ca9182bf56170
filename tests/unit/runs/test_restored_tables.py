"""FLASHBACK TABLE and RECOVER TABLE: which tables have the rows that come back (SCHEMA-18)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tidemark.errors import TableStoppedError
from tidemark.model.columns import SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName, TableName, TopicName
from tidemark.model.position import Place, Position
from tidemark.runs.ddl.barriers import barriers_of_ended
from tidemark.runs.ddl.effects import DdlEffects, DdlRecord
from tidemark.runs.ddl.records import add_up
from tidemark.runs.tables.dropped import refuse_restored
from tidemark.spec import OnDrop, SourceSpec

ITEMS, OTHERS = TableName("shop", "items"), TableName("shop", "others")
MADE = "CREATE TABLE items (x int PRIMARY KEY)"
DROP = "DROP TABLE items"
BACK = "FLASHBACK TABLE items"
AS_OTHERS = "FLASHBACK TABLE items TO others"
TICDC = SourceSpec.model_validate(
    {"format": "ticdc-canal-json", "gate": "watermark", "topics": {"data": ["t"]}}
)


def position(number: int, offset: int = 0) -> Position:
    return Position(f"0001{number:016X}2{0:020X}{offset:016X}")


def told(*statements: str, begins: int = 1) -> list[DdlRecord]:
    return [
        DdlRecord(
            position(number),
            "shop",
            json.dumps({"isDdl": True, "sql": statement}),
            TopicName("items"),
        )
        for number, statement in enumerate(statements, start=begins)
    ]


def effects_of(*statements: str, before: tuple[str, ...] = ()) -> DdlEffects:
    """before: statements of earlier cuts."""
    earlier = told(*before)
    return add_up(TICDC, told(*statements, begins=len(before) + 1), earlier)


@pytest.mark.parametrize("back", [BACK, "RECOVER TABLE `shop`.`items`"])
def test_a_table_that_came_back_in_the_cut_goes_on(back: str) -> None:
    for statements in ([DROP, back], [DROP, back, DROP, back], ["CREATE DATABASE x", DROP, back]):
        effects = effects_of(*statements)
        assert (effects.stops, effects.dropped, effects.remade) == ({}, {}, set())
        assert effects.dropped_at(ITEMS, None) is None
        assert ITEMS in effects.tables
    made = effects_of(MADE, DROP, BACK)
    assert (made.made, set(made.created), made.stops) == ({ITEMS}, {ITEMS}, {})
    assert not any(made.ended.values())


def test_a_table_that_was_made_again_before_it_came_back_is_the_new_one() -> None:
    effects = effects_of(DROP, MADE, DROP, BACK)
    assert effects.dropped_at(ITEMS, None) == position(1)
    assert effects.created[ITEMS].position == position(2)
    assert effects.remade == {ITEMS}


def test_a_table_that_came_back_after_its_drop_was_published_goes_on() -> None:
    """As long as the earlier DROP is the one that the target knows."""
    effects = effects_of(BACK, before=(MADE, DROP))
    assert effects.stops == {}
    copy = position(2, offset=7)
    assert [effects.dropped_at(ITEMS, at) for at in (copy, position(1))] == [None, position(1)]
    unknown = effects_of(BACK)
    assert (unknown.unseen_drops, set(unknown.stops)) == ({ITEMS}, {ITEMS})


@pytest.mark.parametrize(
    ("before", "statements"),
    [
        ((DROP, MADE), (AS_OTHERS,)),
        ((), (DROP, MADE, AS_OTHERS)),
        ((), ("TRUNCATE items", AS_OTHERS)),
        ((DROP, "TRUNCATE items"), (AS_OTHERS,)),
        ((DROP,), (MADE, AS_OTHERS)),
        ((DROP, "RENAME TABLE u TO items"), (AS_OTHERS,)),
        ((), (DROP, "RENAME TABLE u TO items", AS_OTHERS)),
        ((DROP, "DROP DATABASE shop"), (AS_OTHERS,)),
        ((), ("DROP DATABASE shop", "CREATE DATABASE shop", AS_OTHERS)),
        ((DROP,), ("DROP DATABASE shop", "CREATE DATABASE shop", AS_OTHERS)),
        ((), (DROP, "DROP DATABASE shop", "CREATE DATABASE shop", AS_OTHERS)),
    ],
)
def test_rows_that_no_record_has_stop_the_table_that_gets_them(
    before: tuple[str, ...], statements: tuple[str, ...]
) -> None:
    """And no other one: what the name has since goes on."""
    stops = effects_of(*statements, before=before).stops
    assert "rows come back without events" in stops[OTHERS].why
    assert {table for table, stop in stops.items() if stop.by is None} == {OTHERS}


def test_a_table_that_comes_back_under_another_name_takes_its_rows_with_it() -> None:
    """SCHEMA-31: it is renamed, as if it had never gone."""
    for before, statements in (((), (DROP, AS_OTHERS)), ((DROP,), (AS_OTHERS,))):
        effects = effects_of(*statements, before=before)
        by = effects.stops[OTHERS].by
        assert by is not None
        assert by.pairs == ((ITEMS, OTHERS),)


@pytest.mark.parametrize(
    ("before", "statements"),
    [
        (("DROP TABLE Items",), (BACK,)),
        ((), ("DROP TABLE Items", BACK)),
        ((DROP,), ("DROP TABLE Items", AS_OTHERS)),
        ((DROP, "DROP TABLE Items"), (BACK,)),
        ((DROP, "CREATE TABLE ITEMS (x int)", "TRUNCATE ITEMS"), (AS_OTHERS,)),
        ((), (DROP, "CREATE TABLE ITEMS (x int)", "TRUNCATE ITEMS", AS_OTHERS)),
    ],
)
def test_names_that_differ_in_case_alone_are_one_for_tidb(
    before: tuple[str, ...], statements: tuple[str, ...]
) -> None:
    """It takes the newest of them that went, and each that may be meant stops."""
    stops = effects_of(*statements, before=before).stops
    assert stops
    assert all("rows come back without events" in stop.why for stop in stops.values())
    is_other = statements[-1] == AS_OTHERS
    assert (OTHERS if is_other else ITEMS) in stops
    other = TableName("shop", "Items")
    assert (other in stops) == (not is_other)
    newest = effects_of("DROP TABLE Items", MADE, DROP, BACK)
    assert newest.stops == {}


def target(dropped_at: Position | None = None) -> TableSchema:
    column = SourceColumn(ColumnName("x"), "int", ValueEncoding.INTEGER, "int")
    return TableSchema((column,), (column.name,), dropped_at=dropped_at)


@pytest.mark.parametrize("on_drop", OnDrop)
def test_what_came_back_before_another_one_was_made_does_not_stop_that_one(on_drop: OnDrop) -> None:
    """Its rows end at its DROP, and those of one that is made in the cut are all there."""
    for statements in ((MADE, DROP, BACK), (BACK, DROP, MADE), (MADE, DROP, BACK, DROP, BACK)):
        effects = effects_of(*statements, before=(DROP,))
        refuse_restored(effects, ITEMS, target(position(1)), on_drop, Position(""))
        refuse_restored(effects, ITEMS, None, on_drop, Position(""))
    gone = effects_of(BACK, DROP, before=(DROP,))
    refuse_restored(gone, ITEMS, target(position(1)), on_drop, Position(""))
    back = effects_of(BACK, DROP, BACK, before=(DROP,))
    if on_drop is OnDrop.EMPTY:
        with pytest.raises(TableStoppedError, match="leave the target"):
            refuse_restored(back, ITEMS, target(position(1)), on_drop, Position(""))


@pytest.mark.parametrize("before", [(), (DROP,)])
def test_a_table_that_came_back_without_target_stops(before: tuple[str, ...]) -> None:
    """No record has the rows from before the first cut."""
    effects = effects_of(*(() if before else (DROP,)), BACK, before=before)
    with pytest.raises(TableStoppedError, match="no target has the rows") as stopped:
        refuse_restored(effects, ITEMS, None, OnDrop.KEEP, Position(""))
    assert "new snapshot" in stopped.value.next_step
    refuse_restored(effects, ITEMS, target(), OnDrop.KEEP, Position(""))


def test_without_positions_nothing_tells_which_drop_came_last() -> None:
    canal = SourceSpec.model_validate(
        {"format": "ticdc-canal-json", "gate": "none", "topics": {"data": ["t"]}}
    )
    records = [
        DdlRecord(
            Position(f"0001{number:016X}"),
            "shop",
            json.dumps({"isDdl": True, "sql": statement}),
            TopicName("items"),
        )
        for number, statement in enumerate((DROP, BACK), start=1)
    ]
    effects = add_up(canal, records)
    assert (set(effects.stops), effects.unseen_drops) == ({ITEMS}, set())


NAMES = tuple(TableName(schema, name) for schema in ("shop", "web") for name in ("items", "others"))
HISTORIES, LONGEST = 150, 16


@dataclass(frozen=True)
class Rows:
    """What a table holds: since which statement, 0 for before all, and where it was truncated."""

    since: int
    truncates: tuple[int, ...] = ()


@dataclass
class TiDb:
    """Two databases, the first one of the session, and what TiDB keeps of tables that went.

    tables: name -> its rows, and the number that the table has inside. gone: what went, by DROP and
    TRUNCATE alone.
    """

    rng: random.Random
    tables: dict[TableName, tuple[Rows, int]] = field(
        default_factory=lambda: {name: (Rows(0), at) for at, name in enumerate(NAMES)}
    )
    gone: list[tuple[TableName, Rows, int]] = field(default_factory=list)
    numbers: int = len(NAMES)

    def say(self, at: int) -> str:
        """A statement at the position ``at``; empty where the database refuses it."""
        name = self.rng.choice(NAMES)
        other = self.rng.choice([n for n in NAMES if n.schema == name.schema and n != name])
        named = name.table if name.schema == "shop" and self.rng.random() < 0.5 else str(name)
        self.numbers += 1
        match self.rng.choice(("create", "drop", "drop", "truncate", "back", "back", "as", "all")):
            case "create" if name not in self.tables:
                self.tables[name] = (Rows(at), self.numbers)
                return f"CREATE TABLE {named} (x int PRIMARY KEY)"
            case "drop" if name in self.tables:
                self.gone.append((name, *self.tables.pop(name)))
                return f"DROP TABLE {named}"
            case "truncate" if name in self.tables:
                rows, number = self.tables[name]
                self.gone.append((name, rows, number))
                self.tables[name] = (Rows(rows.since, (*rows.truncates, at)), self.numbers)
                return f"TRUNCATE TABLE {named}"
            case "back" if name not in self.tables and self._come_back(name, name):
                return f"{self.rng.choice(('FLASHBACK', 'RECOVER'))} TABLE {named}"
            case "as" if other not in self.tables and self._come_back(name, other):
                return f"FLASHBACK TABLE {named} TO {other.table}"
            case "all" if self.rng.random() < 0.2:
                schema = name.schema
                self.tables = {n: kept for n, kept in self.tables.items() if n.schema != schema}
                return f"DROP DATABASE {schema}; CREATE DATABASE {schema}"
        return ""

    def _come_back(self, name: TableName, as_name: TableName) -> bool:
        """The newest one of that name, unless it is there already."""
        newest = next(((rows, at) for of, rows, at in reversed(self.gone) if of == name), None)
        there = {number for _, number in self.tables.values()}
        if newest is None or newest[1] in there:
            return False
        self.tables[as_name] = newest
        return True


@dataclass
class Target:
    """What a target holds, and where its table went, once a cut is published.

    is_emptied: its rows left it with their table.
    """

    on_drop: OnDrop
    rows: Rows = Rows(0)
    dropped_at: Position | None = None
    is_emptied: bool = False

    def take(self, effects: DdlEffects, table: TableName) -> None:
        """What the statements of a cut make of it.

        Raises TableStoppedError where the product does; with on-drop: keep it has no reason to.
        """
        try:
            refuse_restored(effects, table, target(self.dropped_at), self.on_drop, Position(""))
        except TableStoppedError:
            assert self.on_drop is OnDrop.EMPTY, table
            raise
        told = [int(at[4:20], 16) for at in effects.truncated.get(table, ())]
        if table in effects.created:
            since = int(effects.created[table].position[4:20], 16)
            self.rows = Rows(since, tuple(at for at in told if at > since))
        else:
            self.rows = Rows(self.rows.since, (*self.rows.truncates, *told))
        gone = effects.dropped_at(table, self.dropped_at)
        self.dropped_at = None if table in effects.made else gone
        is_emptied = self.dropped_at is not None and self.on_drop is OnDrop.EMPTY
        self.is_emptied = is_emptied or (self.is_emptied and table not in effects.made)


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_target_never_has_other_rows_than_its_table(seed: int) -> None:
    """Whatever comes between, and wherever a cut ends: it has the same rows, or it stops."""
    rng = random.Random(f"restored {seed}")  # noqa: S311  repeatable, not secret
    source, statements = TiDb(rng), list[str]()
    on_drop = rng.choice(list(OnDrop))
    targets = {name: Target(on_drop) for name in NAMES}
    stopped: set[TableName] = set()
    begins = 1
    for _ in range(rng.randint(1, 3)):
        cut: list[str] = []
        while len(cut) < rng.randint(1, LONGEST):
            cut += filter(None, [source.say(begins + len(cut))])
        earlier, records = told(*statements), told(*cut, begins=begins)
        statements += cut
        begins += len(cut)
        for part in parts_of(records, earlier):
            effects = add_up(TICDC, part, earlier)
            earlier += part
            stopped |= {table for table in effects.stops if table is not None}
            for table in targets.keys() - stopped:
                try:
                    targets[table].take(effects, table)
                except TableStoppedError:
                    stopped.add(table)
        for table in targets.keys() - stopped:
            kept, (rows, _) = targets[table], source.tables.get(table, (None, 0))
            assert (rows is None) == (kept.dropped_at is not None), (table, statements)
            assert rows is None or (rows == kept.rows and not kept.is_emptied), (table, statements)


def parts_of(records: list[DdlRecord], earlier: list[DdlRecord]) -> Iterator[list[DdlRecord]]:
    """What one cut holds each, as it ends where a table was made that goes again."""
    effects = add_up(TICDC, records, earlier)
    ends = {barrier.position for barrier in barriers_of_ended(effects, Place(""), {*NAMES})}
    first = [record for record in records if not ends or record.position <= min(ends)]
    if first == records:
        yield records
        return
    yield from parts_of(first, earlier)
    yield from parts_of(records[len(first) :], [*earlier, *first])
