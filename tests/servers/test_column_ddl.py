"""Random statements on a real MariaDB, and what the product makes of them.

Statements and rows are those of the server, and so is what must come out: each table of which no
statement stopped the folding is what the server selects.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from tests.servers.connector import Connector
from tests.servers.grammar import TYPES, statement, value
from tests.servers.mariadb import Column, RefusedError, Server
from tests.support.stack import Stream
from tidemark.model.result import CutStatus
from tidemark.runs.world import World

STATEMENTS = 60
CUT_AFTER = 4
TABLES = 5


@dataclass
class Game:
    """Tables that change at random; told: statements of each since it was compared."""

    connector: Connector
    rng: random.Random
    made: int = 0
    told: dict[str, list[str]] = field(default_factory=dict)
    followed: int = 0
    stops: Counter[str] = field(default_factory=Counter)

    def make(self) -> None:
        """CREATE TABLE, and some rows."""
        self.made += 1
        table = f"t{self.made}"
        kinds = self.rng.sample(TYPES, 3)
        columns = ", ".join(f"`{name}` {kind}" for name, kind in zip("abc", kinds, strict=True))
        made = f"CREATE TABLE `{table}` (id int PRIMARY KEY, {columns})"
        self.connector.alter(made, table, verb="CREATE")
        self.told[table] = [made]
        for number in range(1, 5):
            self.put(table, number)

    def put(self, table: str, number: int) -> None:
        """A row with this number, whether there is one or not."""
        columns = self.connector.server.columns(table)
        values = [str(number) if c.name == "id" else value(c, self.rng) for c in columns]
        names = ", ".join(f"`{column.name}`" for column in columns)
        self.connector.change(
            table, f"REPLACE INTO `{table}` ({names}) VALUES ({', '.join(values)})"
        )

    def step(self) -> None:
        """One statement, and rows on both sides of it."""
        table = self.rng.choice(sorted(self.told))
        server = self.connector.server
        for _ in range(self.rng.randrange(3)):
            self.put(table, self.rng.randrange(1, 9))
        if self.rng.random() < 0.2:
            self.connector.change(
                table, f"DELETE FROM `{table}` WHERE id = {self.rng.randrange(9)}"
            )
        text = statement(table, server.columns(table), server.key(table), self.rng)
        try:
            self.connector.alter(text, table)
        except RefusedError:
            return
        self.told[table].append(text)
        if self.rng.random() < 0.5:
            self.put(table, self.rng.randrange(1, 9))


def shown(column: Column, found: Any) -> Any:
    """A value of the target, as the server writes it."""
    match found:
        case None:
            return None
        case bool():
            return str(int(found))
        case bytes():
            return str(int.from_bytes(found)) if column.kind == "bit" else found.hex().upper()
        case datetime():
            text = found.replace(tzinfo=None).isoformat(" ", "microseconds")
            return text[: 19 + (column.digits + 1 if column.digits else 0)]
        case date():
            return found.isoformat()
        case Decimal():
            return f"{found:f}"
    return str(found)


def same(column: Column, found: Any, wanted: str | None) -> bool:
    """Whether ``found`` is what the server has."""
    if wanted is None or found is None:
        return found is wanted
    if column.kind == "double":
        return float(found) == float(wanted)
    if column.kind == "time":  # Of a time with more digits now, rows that are there have fewer.
        return time.fromisoformat(found) == time.fromisoformat(wanted)
    return bool(shown(column, found) == wanted)


def differences(server: Server, stream: Stream, table: str) -> list[str]:
    """What pyiceberg reads otherwise than the server selects."""
    loaded = stream.world.catalog.load_table((stream.name, table))
    found = {row["id"]: row for row in loaded.scan().to_arrow().to_pylist()}
    wanted = {int(row["id"] or 0): row for row in server.rows(table)}
    if found.keys() != wanted.keys():
        return [f"{table}: rows {sorted(found)}, not {sorted(wanted)}"]
    return [
        f"{table}: {number}.{column.name} is {found[number].get(column.name)!r}, not "
        f"{row[column.name]!r} ({column.text})"
        for number, row in wanted.items()
        for column in server.columns(table)
        if not same(column, found[number].get(column.name), row[column.name])
    ]


@pytest.mark.parametrize("seed", range(4))
def test_tables_are_what_the_server_selects(world: World, server: Server, seed: int) -> None:
    """SCHEMA-10, SCHEMA-13, SCHEMA-14, SCHEMA-30: and a stop is of one table alone."""
    rng = random.Random(f"columns {seed}")  # noqa: S311  repeatable, not secret
    stream = Stream(
        world,
        format="debezium-mysql",
        gate="none",
        has_statements=True,
        options={"other-tables": "follow", "publish": {"consistency": "table"}},
    ).create()
    server.run("DROP DATABASE shop; CREATE DATABASE shop")
    game = Game(Connector(server), rng)
    for number in range(STATEMENTS):
        while len(game.told) < TABLES:
            game.make()
        game.step()
        if number % CUT_AFTER:
            continue
        connector = game.connector
        stream.send(connector.statements, stream.statements)
        stream.send(connector.rows)
        connector.statements, connector.rows = [], []
        stopped: dict[str, str] = {}
        while True:
            result = stream.cut()
            stopped |= {str(table).partition(".")[2]: why for table, why in result.stopped.items()}
            if result.status is not CutStatus.PUBLISHED:
                break
        for table in sorted(game.told):
            told = game.told[table]
            if table in stopped:
                game.stops[f"{stopped[table].splitlines()[0]} {told}"] += 1
                del game.told[table]
                continue
            found = differences(server, stream, table)
            assert found == [], f"{found} {told} {stopped}"
            game.followed += len(told)
            game.told[table] = []
    print(f"followed {game.followed}, stopped {sum(game.stops.values())}")  # noqa: T201
    for why in game.stops:
        print("  ", why)  # noqa: T201
