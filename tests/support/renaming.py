"""Tables whose names change, in plain Python, and the pipeline that follows whatever there is."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support import tellers
from tests.support.altered import AlteredTable, Row, Sent, Tell, TellDdl
from tests.support.records import ticdc_watermark
from tests.support.stack import Stream
from tidemark.model.result import CutResult
from tidemark.runs.world import World

MOST_CUTS = 20
"""That one read may take; each ends at a statement."""
FAMILIES = ("debezium", "ticdc")
COLUMNS = {"id": "bigint", "name": "varchar(20)"}


@dataclass
class Source:
    """Tables by their names, what was sent of them, and what targets of lost names have to keep.

    kept: name -> rows of the table that was dropped under it. next: what was not sent yet.
    """

    stream: Stream
    tell: Tell
    tell_ddl: TellDdl
    tables: dict[str, AlteredTable] = field(default_factory=dict)
    kept: dict[str, dict[int, Row]] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    place: int = 0
    next: int = 0

    @property
    def is_debezium(self) -> bool:
        return self.stream.format.startswith("debezium")

    def on(self, name: str) -> AlteredTable:
        """The table that is called ``name``, which goes on where the source is."""
        table = self.tables[name]
        self.place += 10
        table.place = self.place
        return table

    def create(self, name: str, columns: dict[str, str] = COLUMNS) -> None:
        """CREATE TABLE; of one that was dropped under that name nothing is left."""
        self.tables[name] = AlteredTable(self.tell, self.tell_ddl, name, sent=self.sent)
        self.on(name).make_anew(columns)
        self.kept.pop(name, None)

    def drop(self, name: str) -> None:
        """DROP TABLE."""
        self.on(name).drop()
        self.kept[name] = self.tables.pop(name).expected

    def rename(self, *pairs: tuple[str, str]) -> None:
        """RENAME TABLE: all pairs at one place, each by a record of its own (MSG-23, MSG-54)."""
        self.place += 10
        names = {name: name for name in self.tables}
        for old, new in pairs:
            names[new] = names.pop(old)
        for old, new in pairs:
            statement = f"RENAME TABLE {old} TO {new}"
            table = self.tables[names[new] if new in names else next(iter(self.tables))]
            told = self.tell_ddl(replace(table, name=new, place=self.place), statement)
            if self.is_debezium and new not in names:
                body = json.loads(told.record.value or b"") | {"tableChanges": []}
                told = replace(told, record=replace(told.record, value=json.dumps(body).encode()))
            self.sent.append(told)
        for old in names.values():
            self.kept.pop(old, None)
        self.tables = {new: replace(self.tables[old], name=new) for new, old in names.items()}
        for name in self.tables:
            self.kept.pop(name, None)

    def send(self, sent: list[Sent] | None = None) -> None:
        """What is new, or ``sent``, to its topics; TiCDC promises that all of it was sent."""
        if sent is None:
            sent, self.next = self.sent[self.next :], len(self.sent)
        if not self.is_debezium:
            at = tellers.commit_ts(self.place + 9)
            sent = [*sent, *(Sent(ticdc_watermark(at, partition)) for partition in range(3))]
        for one in sent:
            apart = one.is_ddl and self.is_debezium
            self.stream.send([one.record], self.stream.statements if apart else "")

    def cut(self) -> list[CutResult]:
        """Read what is new in as many cuts as it takes, and compare."""
        self.send()
        results = [self.stream.cut()]
        while results[-1].hold:
            assert len(results) < MOST_CUTS, results[-1].hold
            results.append(self.stream.cut())
        self.compare()
        return results

    def compare(self) -> None:
        """Every target has the rows of the table that has its name, or had it when it went."""
        expected = self.kept | {name: table.expected for name, table in self.tables.items()}
        found = {name: self.rows(name) for name in expected}
        assert found == expected

    def rows(self, target: str) -> dict[int, Row]:
        """What a reader sees, without Tidemark's own columns; nothing where there is no target."""
        place = (self.stream.name, target)
        if not self.stream.world.catalog.table_exists(place):
            return {}
        rows = self.stream.world.catalog.load_table(place).scan().to_arrow().to_pylist()
        return {
            row["id"]: {k: v for k, v in row.items() if not k.startswith("_tidemark_")}
            for row in rows
        }


def opened(world: World, family: str, **options: Any) -> Source:
    """A source without tables."""
    given = {"tables": [], "other-tables": "follow", **options}
    if family == "ticdc":
        stream = Stream(world, 3, options=given).create()
        return Source(stream, tellers.ticdc, tellers.ticdc_ddl)
    stream = Stream(world, 3, "debezium-mysql", "none", options=given, has_statements=True)
    return Source(stream.create(), tellers.debezium(has_schema=False), tellers.debezium_ddl)


def filled(world: World, family: str, *names: str, **options: Any) -> Source:
    """A source with a few rows in each of its tables, all of them published."""
    source = opened(world, family, **options)
    for name in names:
        source.create(name)
        for number in range(1, 4):
            source.on(name).put(number, name=f"{name} {number}")
    source.cut()
    return source


def change_at_random(source: Source, rng: random.Random) -> None:
    """One statement, or one row."""
    names = sorted(source.tables)
    free = [name for name in "abcdef" if name not in source.tables]
    action = rng.random()
    if free and (len(names) < 2 or action < 0.1):
        source.create(rng.choice(free))
    elif action < 0.15 and len(names) > 2:
        source.drop(rng.choice(names))
    elif free and action < 0.25:
        source.rename((rng.choice(names), rng.choice(free)))
    elif action < 0.3:
        one, two = rng.sample(names, 2)
        source.rename((one, "tmp"), (two, one), ("tmp", two))
    elif free and action < 0.35:
        one, two = rng.sample(names, 2)
        source.rename((one, rng.choice(free)), (two, one))
    else:
        table, number = source.on(rng.choice(names)), rng.randint(1, 6)
        if number in table.rows and action < 0.5:
            table.delete(number)
        else:
            table.put(number, name=str(rng.randint(1, 999)))
