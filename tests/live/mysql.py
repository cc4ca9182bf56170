"""MySQL as a source: what it has beside MariaDB, and its connector."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.live.mariadb import MariaDb
from tests.live.source import Script
from tests.support.mysql import running_mysql
from tests.support.server import Column

_PARENT = "parent"
_DOCUMENTS = ("'{}'", """'{"a": 1.50, "b": [true, null], "c": {"d": "é"}}'""", "'[]'", "'null'")


class MySql(MariaDb):
    """One database of a server, with documents and with foreign keys that cascade."""

    def value(self, column: Column) -> str:
        """A random literal that fits; of a foreign key one that refers to a row."""
        if column.name == _PARENT:
            order = self.rng.choice(("ASC", "DESC"))
            return f"(SELECT id FROM parents ORDER BY id {order} LIMIT 1)"
        if column.kind == "json":
            return self.rng.choice(_DOCUMENTS)
        return super().value(column)

    def made(self) -> Script:
        """Documents that are set in parts, a generated column, and rows that go with others."""
        return [
            *super().made(),
            "CREATE TABLE documents (id int PRIMARY KEY, body json, n int, "
            "twice bigint GENERATED ALWAYS AS (n * 2) STORED)",
            "CREATE TABLE parents (id int PRIMARY KEY, a int)",
            f"CREATE TABLE children (id int PRIMARY KEY, {_PARENT} int, a int, FOREIGN KEY "
            f"({_PARENT}) REFERENCES parents (id) ON DELETE CASCADE ON UPDATE CASCADE)",
        ]

    def connector(self) -> Mapping[str, str]:
        """Of Debezium's MySQL connector."""
        return {
            **self.binlog_connector(),
            "connector.class": "io.debezium.connector.mysql.MySqlConnector",
            "driver.allowPublicKeyRetrieval": "true",
        }


@contextmanager
def running_source(name: str, rng: random.Random, servers: str, root: Path) -> Iterator[MySql]:
    """A server of its own, with one empty database; root: as `running_mysql` has it."""
    with running_mysql(root) as server:
        yield MySql(name, server, rng, servers)
