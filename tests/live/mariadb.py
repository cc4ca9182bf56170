"""MariaDB as a source: its statements, what it selects, and its connector."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.live.source import Key, Script
from tests.mariadb.grammar import TYPES, statement, value
from tests.support.binlog_server import DATABASE, Server
from tests.support.mariadb import running_mariadb
from tests.support.server import Column

_WHOLE = {"tinyint", "smallint", "mediumint", "int", "bigint", "year"}
_BYTES = {"binary", "varbinary", "blob"}


@dataclass(frozen=True)
class MariaDb:
    """One database of a server."""

    name: str
    server: Server
    rng: random.Random
    history_servers: str
    namespace = DATABASE

    def crash(self) -> None:
        """SIGKILL, and start again."""
        self.server.crash()

    def run(self, script: Script) -> None:
        """Statements of one session."""
        self.server.run("; ".join(script))

    def tables(self) -> Sequence[str]:
        """Every table of the database."""
        return self.server.run("SHOW TABLES").splitlines()

    def columns(self, table: str) -> Sequence[Column]:
        """The columns in their order."""
        return self.server.columns(table)

    def key(self, table: str) -> Sequence[str]:
        """Columns of the primary key."""
        return self.server.key(table)

    def keys(self, table: str) -> set[Key]:
        """Keys that are there."""
        key = self.key(table)
        return {tuple(str(row[name]) for name in key) for row in self.server.rows(table)}

    def rows(self, table: str) -> list[dict[str, Any]]:
        """What a SELECT shows."""
        columns = self.server.columns(table)
        return [
            {column.name: _plain(column, row[column.name]) for column in columns}
            for row in self.server.rows(table)
        ]

    def quoted(self, name: str) -> str:
        """A name as statements write it."""
        return "`" + name.replace("`", "``") + "`"

    def value(self, column: Column) -> str:
        """A random literal that fits."""
        return value(column, self.rng)

    def upsert(self, table: str, columns: Sequence[str], values: Sequence[str]) -> str:
        """REPLACE, or INSERT ON DUPLICATE KEY UPDATE."""
        names = [self.quoted(name) for name in columns]
        rest = f"INTO {self.quoted(table)} ({', '.join(names)}) VALUES ({', '.join(values)})"
        if self.rng.random() < 0.5 or not self.key(table):
            return f"REPLACE {rest}"
        updates = ", ".join(f"{name} = VALUES({name})" for name in names)
        return f"INSERT {rest} ON DUPLICATE KEY UPDATE {updates}"

    def made(self) -> Script:
        """A table for every kind of key, and one without any."""
        kinds = iter(self.rng.sample(TYPES, len(TYPES)))

        def columns(number: int) -> str:
            return ", ".join(f"c{place} {next(kinds)}" for place in range(number))

        return [
            f"CREATE TABLE t1 (id int PRIMARY KEY, {columns(5)})",
            f"CREATE TABLE t2 (id bigint unsigned PRIMARY KEY, {columns(5)})",
            f"CREATE TABLE t3 (id char(36), no int, {columns(4)}, PRIMARY KEY (id, no))",
            f"CREATE TABLE t4 (id varchar(20) PRIMARY KEY, {columns(4)})",
            f"CREATE TABLE t5 (day date PRIMARY KEY, body text, {columns(2)})",
            "CREATE TABLE t7 (a int, b varchar(20))",
            'CREATE TABLE `T 8.ä"x` (`Id` int PRIMARY KEY, `a b` text, `sel"ect` int)',
            "CREATE TABLE marker (id int PRIMARY KEY)",
            "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32), data text)",
        ]

    def altered(self, table: str) -> str:
        """ALTER TABLE, of which each is followed: a stop of one table would end its case."""
        columns, key = self.server.columns(table), self.server.key(table)
        return statement(table, columns, key, self.rng, may_lose=False)

    def renamed(self, *pairs: tuple[str, str]) -> Script:
        """RENAME TABLE."""
        names = [" TO ".join(map(self.quoted, pair)) for pair in pairs]
        return [f"RENAME TABLE {', '.join(names)}"]

    def connector(self) -> Mapping[str, str]:
        """Of Debezium's MariaDB connector."""
        return {
            **self.binlog_connector(),
            "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
            "database.ssl.mode": "disable",
        }

    def binlog_connector(self) -> Mapping[str, str]:
        """Settings that Debezium's connectors of MariaDB and MySQL both have."""
        return {
            "database.hostname": "127.0.0.1",
            "database.port": str(self.server.port),
            "database.user": "root",
            "database.password": "",
            "database.server.id": "7102",
            "database.include.list": DATABASE,
            "include.schema.changes": "true",
            "schema.history.internal.kafka.bootstrap.servers": self.history_servers,
            "schema.history.internal.kafka.topic": f"_history.{self.name}",
            "schema.history.internal.store.only.captured.databases.ddl": "true",
            "time.precision.mode": "adaptive_time_microseconds",
            "bigint.unsigned.handling.mode": "precise",
            "signal.data.collection": f"{DATABASE}.signals",
        }


@contextmanager
def running_source(name: str, rng: random.Random, servers: str) -> Iterator[MariaDb]:
    """A server of its own, with one empty database; servers: of the topic of schema history."""
    with running_mariadb() as server:
        yield MariaDb(name, server, rng, servers)


def _plain(column: Column, text: str | None) -> Any:
    if text is None:
        return None
    if column.kind in _WHOLE:
        return int(text)
    if column.kind in _BYTES:
        return base64.b64encode(bytes.fromhex(text)).decode()
    if column.kind == "bit":
        size = column.digits
        packed = int(text).to_bytes((size + 7) // 8, "big")
        return int(text) if size == 1 else base64.b64encode(packed).decode()
    return text
