"""A source of three tables in plain Python: with a key, without one, and one of which all is kept.

Debezium's MySQL connector tells of it; every change has a place of its own in one binlog.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from tests.support import tellers
from tests.support.altered import AlteredTable, Sent
from tests.support.kept import Logged, changes, versions
from tests.support.records import Record, mysql_source
from tests.support.stack import Stream
from tidemark.lake.catalog import TableId
from tidemark.model.target_mode import TargetMode

KEYS = 6
TABLES = ("items", "notes", "events")
"""A mirror with a key, a mirror without, and a target with mode history or append."""
TELL = tellers.debezium(has_schema=False)


@dataclass(frozen=True)
class Change(Logged):
    """One of events; its place is the number of its change in the binlog."""

    @property
    def at(self) -> datetime:
        """As the source block has it."""
        return datetime.fromtimestamp(1_700_000_000 + self.place / 1000, UTC)


@dataclass(frozen=True)
class Contents:
    """What the three tables hold, as readers of their targets are to see it."""

    items: dict[int, dict[str, Any]]
    notes: Counter[tuple[int, str]]
    events: tuple[Change, ...]


@dataclass
class Shop:
    """The tables, and what was told of them and is not sent yet.

    units: how many changes those are beyond one a record.
    """

    rng: random.Random
    mode: TargetMode
    place: int = 0
    columns: int = 0
    items: AlteredTable = field(default_factory=lambda: AlteredTable(TELL, tellers.debezium_ddl))
    notes: Counter[tuple[int, str]] = field(default_factory=Counter)
    events: list[Change] = field(default_factory=list)
    unsent: list[Sent] = field(default_factory=list)
    units: int = 0

    def open(self) -> None:
        """Statements that tell the columns, and the first rows."""
        for name, key in (("notes", ()), ("events", ("id",))):
            table = AlteredTable(TELL, tellers.debezium_ddl, name, place=self._next() - 1, key=key)
            table.alter("COMMENT 'x'")
            self.unsent += table.sent
        self.alter("COMMENT 'x'")
        self.change_all()
        self.change(6)

    def contents(self) -> Contents:
        """As they are now."""
        return Contents(deepcopy(self.items.expected), Counter(self.notes), tuple(self.events))

    def send(self, stream: Stream) -> int:
        """Send what was not sent yet; how many changes that are, as cuts count them."""
        stream.send(one.record for one in self.unsent if not one.is_ddl)
        stream.send((one.record for one in self.unsent if one.is_ddl), stream.statements)
        sent, self.unsent, self.units = len(self.unsent) + self.units, [], 0
        return sent

    def change(self, number: int) -> None:
        """So many changes of rows."""
        for _ in range(number):
            self._change(self.rng.choice(TABLES))

    def change_all(self) -> None:
        """A change of a row of each table."""
        for table in TABLES:
            self._change(table)

    def _change(self, table: str) -> None:
        {"items": self._item, "notes": self._note, "events": self._event}[table]()

    def alter(self, statement: str, **how: Any) -> None:
        """ALTER TABLE items."""
        self._at_items(lambda: self.items.alter(statement, **how))

    def alter_columns(self) -> None:
        """A column of items joins, goes, or takes another name."""
        others = [name for name in self.items.columns if name not in ("id", "name")]
        self.columns += 1
        new = f"c{self.columns}"
        match self.rng.choice(("add", "fill", "drop", "rename") if others else ("add", "fill")):
            case "add":
                self.alter(f"ADD COLUMN {new} int", added={new: ("int", None)})
            case "fill":
                self.alter(f"ADD COLUMN {new} int NOT NULL DEFAULT 7", added={new: ("int", 7)})
            case "drop":
                gone = self.rng.choice(others)
                self.alter(f"DROP COLUMN {gone}", dropped=[gone])
            case "rename":
                old = self.rng.choice(others)
                self.alter(f"RENAME COLUMN {old} TO {new}", renamed={old: new})

    def widen(self, column: str) -> None:
        """Have a column of items take larger numbers."""
        self.items.columns[column] = "bigint"
        self.alter(f"MODIFY COLUMN {column} bigint")

    def put_item(self, number: int, **values: Any) -> None:
        """INSERT or UPDATE of a row of items."""
        self._at_items(lambda: self.items.put(number, **values))

    def truncate(self) -> None:
        """TRUNCATE of one of the tables, which MySQL tells among the rows."""
        name = self.rng.choice(TABLES)
        source = mysql_source(100 * self._next(), table=name, at=self.place)
        self._tell({"op": "t", "before": None, "after": None, "source": source})
        if name == "items":
            self.items.rows.clear()
        elif name == "notes":
            self.notes.clear()
        else:
            self.events.append(Change("t", 0, self.place))

    def snapshot_items(self) -> None:
        """An incremental snapshot of items: each row as it is."""
        self._next()
        for number in list(self.items.rows):
            row = dict(self.items.rows[number])
            reading = replace(self.items, sent=[], rows={}, place=self.place)
            reading.put(number, **row)
            self.unsent.append(tellers.of_snapshot(reading.sent[-1], self.place, "incremental"))

    def erase(self, table: str, number: int) -> None:
        """What is left of a key once it was erased: the row that stands, as it is."""
        if table == "items":
            return
        standing = [event for event in self.events if event.op == "t" or event.key == number][-1:]
        kept = [one for one in standing if one.op == "u"]
        self.events = [e for e in self.events if e.op == "t" or e.key != number or e in kept]

    def _at_items(self, doing: Any) -> None:
        self.items.place = self._next() - 1
        already = len(self.items.sent)
        doing()
        self.unsent += self.items.sent[already:]

    def _item(self) -> None:
        number = self.rng.randrange(KEYS)
        if number in self.items.rows and self.rng.random() < 0.3:
            self._at_items(lambda: self.items.delete(number))
            return
        values = {
            name: self.rng.randint(-99, 99)
            for name in self.items.columns
            if name not in ("id", "name") and self.rng.random() < 0.8
        }
        self.put_item(number, name=f"{number} at {self.place}", **values)

    def _note(self) -> None:
        there = sorted(self.notes)
        before = self.rng.choice(there) if there and self.rng.random() < 0.5 else None
        after = (self.rng.randrange(KEYS), self.rng.choice("xyz"))
        op = "c" if before is None else self.rng.choice("ud")
        if before is not None:
            self.notes -= Counter([before])
        if op != "d":
            self.notes[after] += 1
        source = mysql_source(100 * self._next(), table="notes", at=self.place)
        images = {"before": before, "after": None if op == "d" else after}
        rows = {name: row and {"id": row[0], "name": row[1]} for name, row in images.items()}
        self.units += op == "u"  # Without a key it takes one row away and brings another.
        self._tell({"op": op, **rows, "source": source}, self.rng.randrange(3))

    def _event(self) -> None:
        number, value = self.rng.randrange(KEYS), self.rng.choice("abc")
        alive = {key for key, *_, end in versions(self.events) if end is None}
        op = "d" if number in alive and self.rng.random() < 0.3 else "u"
        image = {"id": number, "name": value}
        source = mysql_source(100 * self._next(), table="events", at=self.place)
        images = {"before": image, "after": None} if op == "d" else {"before": None, "after": image}
        told = "u" if number in alive else "c"
        key = json.dumps({"id": number}).encode()
        value_told = {"op": "d" if op == "d" else told, **images, "source": source}
        record = Record(json.dumps(value_told).encode(), key, number % 3)
        self.unsent.append(Sent(record))
        self.events.append(Change(op, number, self.place, "" if op == "d" else value))

    def _tell(self, value: Any, partition: int = 0) -> None:
        self.unsent.append(Sent(Record(json.dumps(value).encode(), partition=partition)))

    def _next(self) -> int:
        self.place += 1
        return self.place


def read_contents(stream: Stream, names: Sequence[str], mode: TargetMode) -> dict[str, Any]:
    """What readers of main see of these targets, in the form of `expected_of`."""
    return {name: _read(stream, name, name, mode) for name in names}


def read_copy(stream: Stream, table: str, target: str, mode: TargetMode) -> Any:
    """As `read_contents`, of ``target``, a copy of ``table``."""
    return _read(stream, table, target, mode)


def _read(stream: Stream, table: str, target: str, mode: TargetMode) -> Any:
    loaded = stream.world.catalog.load_table(TableId(stream.name, target).parts)
    rows = loaded.scan().to_arrow().to_pylist()
    if table == "items":
        found = [{k: v for k, v in row.items() if not k.startswith("_tidemark_")} for row in rows]
        assert len({row["id"] for row in found}) == len(found), f"a key twice in {target}"
        return {row["id"]: row for row in found}
    if table == "notes":
        return Counter((row["id"], row["name"]) for row in rows)
    columns = {
        TargetMode.HISTORY: ("id", "name", "_tidemark_valid_from", "_tidemark_valid_to"),
        TargetMode.APPEND: ("_tidemark_op", "id", "name", "_tidemark_commit_time"),
    }[mode]
    return sorted((tuple(row[name] for name in columns) for row in rows), key=str)


def expected_of(contents: Contents, table: str, mode: TargetMode) -> Any:
    """What the target of ``table`` is to have."""
    if table == "items":
        return contents.items
    if table == "notes":
        return contents.notes
    return {TargetMode.HISTORY: versions, TargetMode.APPEND: changes}[mode](contents.events)
