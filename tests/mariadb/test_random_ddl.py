"""Random statements on a real MariaDB, and what the product makes of them.

Statements and rows are those of the server, and so is what must come out: each table of which no
statement stopped the folding is what the server selects.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from tests.mariadb.connector import Connector
from tests.mariadb.grammar import TYPES, grown, statement, value
from tests.support.binlog_server import DATABASE, Server
from tests.support.server import Column, RefusedError
from tests.support.stack import Stream
from tidemark.model.result import CutStatus
from tidemark.runs.world import World

STATEMENTS = 150
CUT_AFTER = 10
TABLES = 8
NUMBERS = 9
WHOLE_TABLES = 0.2
"""Share of steps that rename, recreate or truncate a table, or change its key."""
STOPPED = 0.1
"""Of the statements that the grammar makes, at most this share may have changed values."""


@dataclass
class Workload:
    """Tables that change at random.

    told: of each table the statements since it was compared. made: how many tables there were.
    """

    connector: Connector
    rng: random.Random
    told: dict[str, list[str]] = field(default_factory=dict)
    made: int = 0

    def make(self) -> None:
        """CREATE TABLE, and some rows."""
        self.made += 1
        table = f"t{self.made}"
        kinds = zip("abc", self.rng.sample(TYPES, 3), strict=True)
        columns = ", ".join(f"`{name}` {kind}" for name, kind in kinds)
        made = f"CREATE TABLE `{table}` (id int PRIMARY KEY, {columns})"
        self.connector.state(made, table, verb="CREATE")
        self.told[table] = [made]
        for number in range(1, 5):
            self.put(table, number)

    def put(self, table: str, number: int) -> None:
        """A row with this number, whether there is one or not."""
        columns = self.connector.server.columns(table)
        values = [str(number) if c.name == "id" else value(c, self.rng) for c in columns]
        names = ", ".join(f"`{column.name}`" for column in columns)
        listed = ", ".join(values)
        self.connector.rows_of(table, f"REPLACE INTO `{table}` ({names}) VALUES ({listed})")

    def say(self, statement: str, table: str) -> None:
        """A statement about ``table``, unless the server refuses it."""
        try:
            self.connector.state(statement, table)
        except RefusedError:
            return
        self.told[table].append(statement)

    def step(self) -> None:
        """One statement, and rows on both sides of it."""
        table, server = self.rng.choice(sorted(self.told)), self.connector.server
        if self.rng.random() < WHOLE_TABLES:
            whole = (self.rename, self.recreate, self.truncate, self.change_key, self.grow_key)
            table = self.rng.choice(whole)(table)
        for _ in range(self.rng.randrange(3)):
            self.put(table, self.rng.randrange(1, NUMBERS))
        gone = self.rng.randrange(4 * NUMBERS)
        self.connector.rows_of(table, f"DELETE FROM `{table}` WHERE id = {gone}")
        self.say(statement(table, server.columns(table), server.key(table), self.rng), table)
        if self.rng.random() < 0.5:
            self.put(table, self.rng.randrange(1, NUMBERS))

    def rename(self, table: str) -> str:
        """RENAME TABLE; its name of now."""
        self.made += 1
        name = f"t{self.made}"
        renamed = f"RENAME TABLE `{table}` TO `{name}`"
        self.connector.state(renamed, name)
        self.told[name] = [*self.told.pop(table), renamed]
        return name

    def recreate(self, table: str) -> str:
        """DROP TABLE, and CREATE TABLE with the same name, other columns and maybe another key."""
        key, verb = self.rng.choice(("id", "id, a")), "CREATE OR REPLACE"
        if self.rng.random() < 0.5:
            gone, verb = f"DROP TABLE `{table}`", "CREATE"
            self.connector.state(gone, table, verb="DROP")
            self.told[table].append(gone)
        made = f"{verb} TABLE `{table}` (id int, a int, z varchar(20), PRIMARY KEY ({key}))"
        self.connector.state(made, table, verb="CREATE")
        self.told[table].append(made)
        return table

    def truncate(self, table: str) -> str:
        """TRUNCATE TABLE."""
        self.connector.truncate(table)
        self.told[table].append(f"TRUNCATE TABLE `{table}`")
        return table

    def change_key(self, table: str) -> str:
        """ALTER TABLE that gives it another primary key."""
        self.made += 1
        name = f"k{self.made}"
        added = f"ADD COLUMN `{name}` int NOT NULL DEFAULT 5"
        key = f"DROP PRIMARY KEY, ADD PRIMARY KEY (id, `{name}`)"
        self.say(f"ALTER TABLE `{table}` {added}, {key}", table)
        return table

    def grow_key(self, table: str) -> str:
        """MODIFY of a column by which rows are found, to a type that holds each of them."""
        column = next(c for c in self.connector.server.columns(table) if c.name == "id")
        kind = grown(column, self.rng).replace("double", "bigint")
        self.say(f"ALTER TABLE `{table}` MODIFY id {kind} NOT NULL", table)
        return table


def stopped_by_cuts(stream: Stream) -> dict[str, str]:
    """Run until two runs find nothing to do; tables that some run stopped, and why.

    The first one may wait for what may be behind a statement that was landed just now.
    """
    stopped: dict[str, str] = {}
    idle = 0
    while idle < 2:
        result = stream.cut()
        idle = 0 if result.status is CutStatus.PUBLISHED else idle + 1
        stopped |= {str(table).partition(".")[2]: why for table, why in result.stopped.items()}
    return stopped


def is_same(column: Column, found: Any, wanted: str | None) -> bool:
    """Whether ``found`` in the target is what the server has, by value."""
    if wanted is None or found is None:
        return found is wanted
    match column.kind:
        case "double":
            return float(found) == float(wanted)
        case "time":  # Of a time with more digits now, rows that are there have fewer.
            return time.fromisoformat(found) == time.fromisoformat(wanted)
        case "bit":
            if isinstance(found, bool):
                return found == bool(int(wanted))
            return bool(found == int(wanted).to_bytes((column.digits + 7) // 8))
    match found:
        case bytes():
            return found.hex().upper() == wanted
        case datetime():
            return found.replace(tzinfo=None) == datetime.fromisoformat(wanted)
        case date() | Decimal() | int():
            return str(found) == wanted
    return bool(found == wanted)


def differences(server: Server, stream: Stream, table: str) -> list[str]:
    """What pyiceberg reads otherwise than the server selects."""
    loaded = stream.world.catalog.load_table((stream.name, table))
    key = server.key(table)
    found = {tuple(str(r[n]) for n in key): r for r in loaded.scan().to_arrow().to_pylist()}
    wanted = {tuple(str(row[name]) for name in key): row for row in server.rows(table)}
    if found.keys() != wanted.keys():
        return [f"{table}: rows {sorted(found)}, not {sorted(wanted)}"]
    return [
        f"{table}: {number}.{column.name} is {found[number].get(column.name)!r}, not "
        f"{row[column.name]!r} ({column.text})"
        for number, row in wanted.items()
        for column in server.columns(table)
        if not is_same(column, found[number].get(column.name), row[column.name])
    ]


def test_tables_are_what_the_server_selects(world: World, server: Server, seed: int) -> None:
    """SCHEMA-10, SCHEMA-13, SCHEMA-14, SCHEMA-30: and a stop is of one table alone."""
    rng = random.Random(f"ddl {seed}")  # noqa: S311  repeatable, not secret
    options = {"other-tables": "follow", "publish": {"consistency": "table"}}
    stream = Stream(world, 1, "debezium-mysql", "none", options=options, has_statements=True)
    stream.create()
    server.run(f"DROP DATABASE {DATABASE}; CREATE DATABASE {DATABASE}")
    workload, followed, stops = Workload(Connector(server), rng), 0, []
    for number in range(STATEMENTS):
        while len(workload.told) < TABLES:
            workload.make()
        workload.step()
        if number % CUT_AFTER:
            continue
        rows, statements = workload.connector.taken()
        stream.send(statements, stream.statements)
        stream.send(rows)
        stopped = stopped_by_cuts(stream)
        for table, told in sorted(workload.told.items()):
            if table in stopped:
                stops.append(f"{stopped[table].splitlines()[0]} of {told}")
                del workload.told[table]
                continue
            assert differences(server, stream, table) == [], told
            followed += len(told)
            workload.told[table] = []
    print(f"{followed} followed, {len(stops)} stopped:", *stops, sep="\n  ")
    assert len(stops) <= STOPPED * followed, stops
