"""Random transactions, truncates, snapshots by signal and DDL, on a database of either kind."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from uuid import UUID

from tests.live.source import Key, Source
from tests.support.server import Column, RefusedError

NUMBERS = 40
"""Of different keys of a table with one key column."""
OWN = {"marker", "signals"}
_WHOLE = {"tinyint", "smallint", "int", "integer", "bigint", "numeric", "decimal"}


@dataclass
class Workload:
    """What happens to the tables of ``source``.

    log: every script, and what was refused of it; refused: how many scripts were. made: names.
    """

    source: Source
    rng: random.Random
    log: list[str] = field(default_factory=list)
    made: int = 0
    refused: int = 0

    @property
    def tables(self) -> list[str]:
        """Tables of the workload."""
        return [table for table in self.source.tables() if table not in OWN]

    def run(self, *script: str) -> None:
        """Statements of one session; none of them is there if one is refused in a transaction."""
        try:
            self.source.run(script)
        except RefusedError as error:
            self.refused += 1
            self.log.append(f"-- refused: {' '.join(str(error).split())[:300]}")
        self.log += [f"{statement};" for statement in script]

    def fill(self) -> None:
        """Rows that a snapshot finds."""
        for table in self.tables:
            for _ in range(self.rng.randrange(5, 15)):
                self.run(self._upsert(_Open(self.source, table)))

    def transact(self) -> None:
        """A transaction over some tables, with savepoints, that is rolled back now and then."""
        tables = {table: _Open(self.source, table) for table in self.tables}
        script = ["BEGIN"]
        for _ in range(self.rng.choice((1, 1, 2, 3, 8, 20))):
            table = tables[self.rng.choice(sorted(tables))]
            kept = set(table.keys)
            statements = self._change(table)
            if self.rng.random() < 0.1:
                statements = ["SAVEPOINT s", *statements, "ROLLBACK TO SAVEPOINT s"]
                table.keys = kept
            script += statements
        script.append("ROLLBACK" if self.rng.random() < 0.08 else "COMMIT")
        self.run(*script)

    def truncate(self) -> None:
        """TRUNCATE TABLE, and rows of before that come again."""
        table = _Open(self.source, self.rng.choice(self.tables))
        self.run(f"TRUNCATE TABLE {table.name}", *(self._upsert(table) for _ in range(3)))

    def snapshot(self) -> None:
        """Ask for a snapshot of a table beside its changes, or of one that they wait for."""
        self.made += 1
        namespace = self.source.namespace
        # Debezium reads names of tables in signals as regular expressions.
        tables = [name for name in self.tables if name.isidentifier() and self.source.key(name)]
        table = self.rng.choice(tables)
        way = self.rng.choice(("incremental", "incremental", "blocking"))
        data = f'{{"data-collections": ["{namespace}.{table}"], "type": "{way}"}}'
        self.run(f"INSERT INTO signals VALUES ('s{self.made}', 'execute-snapshot', '{data}')")

    def alter(self) -> None:
        """ALTER TABLE, and rows behind it."""
        table = self.rng.choice(self.tables)
        self.run(self.source.altered(table))
        self.run(self._upsert(_Open(self.source, table)))

    def rearrange(self) -> None:
        """RENAME, a swap of two names, DROP and CREATE, with rows behind it."""
        self.made += 1
        table, other = self.rng.sample(self.tables, 2)
        new = f"n{self.made}"
        old = self.source.quoted(table)
        self.run(
            *self.rng.choice(
                (
                    self.source.renamed((table, new)),
                    self.source.renamed((table, new), (other, table), (new, other)),
                    [f"DROP TABLE {old}", f"CREATE TABLE {old} (id int PRIMARY KEY, z int)"],
                    [f"DROP TABLE {old}", f"CREATE TABLE {new} (id int PRIMARY KEY, z int)"],
                )
            )
        )
        self.run(self._upsert(_Open(self.source, self.rng.choice(self.tables))))

    def _upsert(self, table: _Open) -> str:
        key = table.fresh(self.rng)
        table.keys.add(key)
        values = [
            f"'{key[table.key.index(c.name)]}'" if c.name in table.key else self.source.value(c)
            for c in table.columns
        ]
        return self.source.upsert(table.table, [c.name for c in table.columns], values)

    def _change(self, table: _Open) -> list[str]:
        """Statements about a few rows."""
        if not table.key:
            return self._keyless_change(table) if self.rng.random() < 0.5 else [self._upsert(table)]
        if not table.keys:
            return [self._upsert(table)]
        kinds: list[tuple[int, Callable[[_Open], list[str]]]] = [
            (6, lambda table: [self._upsert(table)]),
            (6, self._update),
            (3, self._delete),
            (2, self._move),
            (1, self._swap),
            (1, self._chain),
            (1, self._replace),
        ]
        (maker,) = self.rng.choices([m for _, m in kinds], [weight for weight, _ in kinds])
        return maker(table)

    def _keyless_change(self, table: _Open) -> list[str]:
        where = f"a IN ({self.rng.randrange(3)}, {self.rng.randrange(3)})"
        update = f"UPDATE {table.name} SET a = {self.rng.randrange(3)} WHERE {where}"
        return [self.rng.choice((update, f"DELETE FROM {table.name} WHERE {where}"))]

    def _some(self, table: _Open, count: int) -> list[Key]:
        keys = sorted(table.keys)
        return self.rng.sample(keys, min(count, len(keys)))

    def _update(self, table: _Open) -> list[str]:
        others = [column for column in table.columns if column.name not in table.key]
        if not others:
            return self._move(table)
        some = self.rng.sample(others, self.rng.randint(1, len(others)))
        values = ", ".join(f"{self.source.quoted(c.name)} = {self.source.value(c)}" for c in some)
        keys = self._some(table, self.rng.choice((1, 1, 5)))
        return [f"UPDATE {table.name} SET {values} WHERE {table.where(*keys)}"]

    def _delete(self, table: _Open) -> list[str]:
        keys = self._some(table, self.rng.choice((1, 1, 3)))
        table.keys -= set(keys)
        return [f"DELETE FROM {table.name} WHERE {table.where(*keys)}"]

    def _move(self, table: _Open) -> list[str]:
        (old,) = self._some(table, 1)
        return [table.moved(old, table.fresh(self.rng))]

    def _replace(self, table: _Open) -> list[str]:
        (old,) = self._some(table, 1)
        gone = f"DELETE FROM {table.name} WHERE {table.where(old)}"
        table.keys.discard(old)
        return [gone, self._upsert(table)]

    def _swap(self, table: _Open) -> list[str]:
        """Two rows exchange their keys by way of a third one."""
        if len(table.keys) < 2:
            return self._move(table)
        one, other = self._some(table, 2)
        way = table.fresh(self.rng)
        return [table.moved(one, way), table.moved(other, one), table.moved(way, other)]

    def _chain(self, table: _Open) -> list[str]:
        """Rows hand their keys on, and maybe the first one comes back."""
        (last, *_), moves, free = self._some(table, 1), [], table.fresh(self.rng)
        for key in [last, *self._some(table, 2)]:
            if key in table.keys and key != free:
                moves.append(table.moved(key, free))
                free = key
        return moves


class _Open:
    """A table in a transaction, and the keys that its statements leave."""

    def __init__(self, source: Source, table: str) -> None:
        self.table = table
        self.name = source.quoted(table)
        self.columns = source.columns(table)
        self.key = list(source.key(table))
        self.keys = source.keys(table) if self.key else set()
        self._source = source
        self._kinds = [next(c for c in self.columns if c.name == name) for name in self.key]

    def fresh(self, rng: random.Random) -> Key:
        """A key that no row has."""
        while True:
            number = rng.randrange(4 * NUMBERS)
            parts = (number,) if len(self.key) < 2 else (number // 4, *[number % 4] * 9)
            key = tuple(_key_value(c, n) for c, n in zip(self._kinds, parts, strict=False))
            if key not in self.keys or not self.key:
                return key

    def where(self, *keys: Key) -> str:
        """The rows with one of ``keys``."""
        return " OR ".join("(" + " AND ".join(self._equals(key)) + ")" for key in keys)

    def moved(self, old: Key, new: Key) -> str:
        """A row gets another key."""
        self.keys = self.keys - {old} | {new}
        return f"UPDATE {self.name} SET {', '.join(self._equals(new))} WHERE {self.where(old)}"

    def _equals(self, key: Key) -> list[str]:
        names = map(self._source.quoted, self.key)
        return [f"{name} = '{part}'" for name, part in zip(names, key, strict=True)]


def _key_value(column: Column, number: int) -> str:
    if column.kind in _WHOLE:
        return str(number)
    if column.kind == "date":
        return str(date(2026, 1, 1) + timedelta(number))
    if column.kind == "uuid" or column.text == "char(36)":
        return str(UUID(int=number))
    return f"k{number}"
