"""Statements of MariaDB that are no changes of rows, weighted by how often people write them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.live.source import Script
from tests.mariadb.grammar import TYPES, statement
from tests.support.binlog_server import Server
from tests.support.server import Column

_FREE_TYPES = (*TYPES, "json", "uuid", "mediumint", "float", "varchar(30)", "longtext")
_ALTER, _TABLE, _AROUND = 8, 4, 3
"""Shares of statements about columns, whole tables and everything else."""


@dataclass(frozen=True)
class Statements:
    """Scripts about tables of ``server``; new: a name that nothing has."""

    server: Server
    rng: random.Random

    def about(self, tables: Sequence[str], new: str) -> Script:
        """One statement, or the few that people write together."""
        table, other = self.rng.sample(tables, 2)
        columns, key = self.server.columns(table), self.server.key(table)
        shape = _Shape(table, columns, key, new, self.rng)
        kinds = [[shape.columns_change()], shape.table_changes(other), shape.nothing_changes(other)]
        (kind,) = self.rng.choices(kinds, [_ALTER, _TABLE, _AROUND])
        return self.rng.choice(kind)


@dataclass(frozen=True)
class _Shape:
    table: str
    columns: Sequence[Column]
    key: Sequence[str]
    new: str
    rng: random.Random

    def columns_change(self) -> Script:
        """ALTER TABLE of columns.

        None by which two exchange their names: Debezium 3.5 loses one of them.
        """
        if self.rng.random() < 0.5:
            return [statement(self.table, self.columns, self.key, self.rng, may_lose=False)]
        return [f"ALTER TABLE {self.table} {self.rng.choice(self._items())()}"]

    def _items(self) -> list[Callable[[], str]]:
        new, some = self.new, [c for c in self.columns if c.name not in self.key]
        kind = self.rng.choice(_FREE_TYPES)
        always: list[Callable[[], str]] = [
            lambda: f"ADD {new} {kind}",
            lambda: f"ADD COLUMN ({new} int, {new}b varchar(20) DEFAULT 'x(,)y')",
            lambda: f"ADD COLUMN IF NOT EXISTS {new} int FIRST",
            lambda: f"ADD COLUMN {new} int DEFAULT NULL COMMENT 'a, b; it''s `c`'",
            lambda: f"ADD COLUMN {new} varchar(20) CHARACTER SET latin1 NOT NULL DEFAULT 'é'",
            lambda: f"ADD COLUMN {new} int UNSIGNED NOT NULL DEFAULT 7 CHECK ({new} < 100)",
            lambda: f"ADD COLUMN {new} int INVISIBLE DEFAULT 5",
            lambda: f"ADD COLUMN {new} decimal(8,2) UNSIGNED ZEROFILL DEFAULT 1.5",
            lambda: f"ADD COLUMN {new} boolean NOT NULL DEFAULT TRUE, ADD INDEX ({new})",
            lambda: f"ADD COLUMN {new} int UNIQUE, ALGORITHM=INPLACE, LOCK=NONE",
            lambda: f"ADD COLUMN {new} nvarchar(10) DEFAULT 'n'",
            lambda: f"ADD COLUMN {new} double precision DEFAULT -1.5e3",
            lambda: f"ADD COLUMN {new} timestamp NULL DEFAULT NULL",
            lambda: f"ADD COLUMN {new} datetime DEFAULT CURRENT_TIMESTAMP",
            lambda: f"ADD COLUMN {new} varchar(36) DEFAULT (1 + 1)",
            lambda: f"DROP COLUMN IF EXISTS {new}, ADD COLUMN {new} int",
            lambda: f"COMMENT 'x', ADD COLUMN {new} int, AUTO_INCREMENT = 100",
        ]
        if not some:
            return always
        one = self.rng.choice(some)
        name = f"`{one.name}`"
        return always + [
            lambda: f"DROP {name}",
            lambda: f"DROP COLUMN {name}, ADD COLUMN {name} {kind}",
            lambda: f"CHANGE COLUMN {name} {new} {one.text}",
            lambda: f"CHANGE {name} {name} {one.text} COMMENT 'it is, well'",
            lambda: f"RENAME COLUMN {name} TO {new}",
            lambda: f"RENAME COLUMN {name} TO {new}, ADD COLUMN {name} int",
            lambda: f"ALTER {name} SET DEFAULT 1",
            lambda: f"ALTER COLUMN {name} DROP DEFAULT",
            lambda: f"MODIFY {name} {one.text} FIRST",
            lambda: f"MODIFY COLUMN {name} {one.text} AFTER `{self.columns[0].name}`",
            lambda: f"MODIFY IF EXISTS {name} {one.text} NULL",
            lambda: f"ADD COLUMN {new} {kind} AFTER {name}",
        ]

    def table_changes(self, other: str) -> list[Script]:
        """Statements of whole tables.

        Not CREATE OR REPLACE: Debezium 3.5 goes on with the columns of before, and fails.
        """
        table, new, far = self.table, self.new, f"{self.new}far"
        return [
            [f"CREATE TABLE {new} (id int AUTO_INCREMENT PRIMARY KEY, v varchar(9) DEFAULT 'v')"],
            [
                f"CREATE TABLE IF NOT EXISTS `{new}` (`id` bigint(20) NOT NULL, `v` decimal(9,3), "
                f"`w` enum('a','b') DEFAULT 'b', PRIMARY KEY (`id`), KEY `{new}_k` (`v`)) "
                "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='a; b'"
            ],
            [f"CREATE TABLE IF NOT EXISTS {table} (id int PRIMARY KEY, other int)"],
            [f"CREATE TABLE {new} LIKE {table}"],
            [f"CREATE TABLE {new} (PRIMARY KEY (id)) AS SELECT 1 AS id, 'x' AS v"],
            [f"CREATE TABLE {new} (id int, no int, v text, PRIMARY KEY (no, id))"],
            [f"CREATE TABLE {new} (id int PRIMARY KEY, v int) PARTITION BY HASH (id) PARTITIONS 3"],
            [f"DROP TABLE {table}"],
            [f"DROP TABLE IF EXISTS {table}, {far} /* both */"],
            [f"DROP TABLE {table}", f"CREATE TABLE {table} (id int PRIMARY KEY, z int)"],
            [f"TRUNCATE TABLE {table}"],
            [f"TRUNCATE {table}"],
            [f"RENAME TABLE {table} TO {new}"],
            [f"ALTER TABLE {table} RENAME TO {new}"],
            [f"ALTER TABLE {table} RENAME {new}, ADD COLUMN {new} int"],
            [f"RENAME TABLE {table} TO {far}, {other} TO {table}, {far} TO {other}"],
            [f"CREATE TABLE {new} LIKE {table}", f"INSERT INTO {new} SELECT * FROM {table}"],
            [
                f"CREATE TABLE {new} LIKE {table}",
                f"INSERT INTO {new} SELECT * FROM {table}",
                f"RENAME TABLE {table} TO {far}, {new} TO {table}",
                f"DROP TABLE {far}",
            ],
        ]

    def nothing_changes(self, other: str) -> list[Script]:
        """Statements after which rows and columns are as before."""
        table, new = self.table, self.new
        first = f"`{self.columns[0].name}`"
        return [
            [f"CREATE INDEX {new} ON {table} ({first})"],
            [f"CREATE INDEX {new} ON {table} ({first})", f"DROP INDEX {new} ON {table}"],
            [f"CREATE OR REPLACE INDEX {new} USING BTREE ON {table} ({first} DESC) COMMENT 'i'"],
            [f"ALTER TABLE {table} ADD KEY {new} ({first}), COMMENT = 'k'"],
            [f"ALTER TABLE {table} ADD CONSTRAINT {new} CHECK ({first} IS NOT NULL)"],
            [
                f"ALTER TABLE {table} ADD CONSTRAINT {new} CHECK (1 = 1)",
                f"ALTER TABLE {table} DROP CONSTRAINT {new}",
            ],
            [
                f"ALTER TABLE {table} ADD CONSTRAINT {new} FOREIGN KEY ({first}) "
                f"REFERENCES {other} (id)"
            ],
            [f"ALTER TABLE {table} FORCE"],
            [f"ALTER TABLE {table} ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='none'"],
            [f"ALTER TABLE {table} CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"],
            [f"ALTER TABLE {table} DEFAULT CHARACTER SET = latin1"],
            [f"ALTER TABLE {table} PAGE_COMPRESSED=0, STATS_PERSISTENT=1"],
            [f"ALTER TABLE {table} DISABLE KEYS", f"ALTER TABLE {table} ENABLE KEYS"],
            [f"ALTER TABLE {table} ORDER BY {first}"],
            [f"ALTER ONLINE TABLE {table} COMMENT 'online'"],
            [f"ALTER TABLE {table} WAIT 5 COMMENT 'waits'"],
            [
                f"ALTER TABLE {table} PARTITION BY HASH ({first}) PARTITIONS 2",
                f"ALTER TABLE {table} COALESCE PARTITION 1",
                f"ALTER TABLE {table} REMOVE PARTITIONING",
            ],
            [f"SET STATEMENT max_statement_time=60 FOR ALTER TABLE {table} COMMENT = 'c'"],
            [f"/* by a tool */ ALTER TABLE {table} -- why\n COMMENT = 'c' # done"],
            [f"ALTER TABLE {table} /*!50100 COMMENT = 'c' */"],
            [f"ANALYZE TABLE {table}"],
            [f"OPTIMIZE TABLE {table}"],
            [f"CHECK TABLE {table}", f"REPAIR TABLE {table}"],
            ["FLUSH TABLES", "FLUSH LOGS"],
            [f"LOCK TABLES {table} WRITE", f"ALTER TABLE {table} COMMENT 'l'", "UNLOCK TABLES"],
            [f"CREATE VIEW {new} AS SELECT * FROM {table}", f"DROP VIEW {new}"],
            [f"CREATE OR REPLACE SQL SECURITY INVOKER VIEW {new} AS SELECT 1", f"DROP VIEW {new}"],
            [
                f"CREATE TRIGGER {new} BEFORE INSERT ON {table} FOR EACH ROW SET @a = 1",
                f"DROP TRIGGER {new}",
            ],
            [f"CREATE PROCEDURE {new} () SELECT 1", f"DROP PROCEDURE {new}"],
            [
                f"CREATE FUNCTION {new} () RETURNS int DETERMINISTIC RETURN 1",
                f"DROP FUNCTION IF EXISTS {new}",
            ],
            [f"CREATE EVENT {new} ON SCHEDULE EVERY 1 DAY DO DELETE FROM {table} WHERE FALSE"],
            [f"CREATE SEQUENCE {new} START WITH 5", f"DROP SEQUENCE {new}"],
            [f"CREATE TEMPORARY TABLE {new} (a int)", f"DROP TEMPORARY TABLE {new}"],
            [f"CREATE TEMPORARY TABLE {table} (a int)", f"DROP TABLE {table}"],
            [f"CREATE USER {new} IDENTIFIED BY 'secret'", f"DROP USER {new}"],
            [f"GRANT SELECT ON {table} TO root@localhost"],
            [f"CREATE ROLE {new}", f"DROP ROLE {new}"],
            [f"CREATE DATABASE {new}", f"DROP DATABASE {new}"],
            ["ALTER DATABASE CHARACTER SET = utf8mb4"],
            ["SET GLOBAL max_connections = 200"],
            [f"PREPARE s FROM 'ALTER TABLE {table} COMMENT = ''p'''", "EXECUTE s"],
            [f"CREATE DATABASE {new}", f"CREATE TABLE {new}.t (a int)", f"DROP DATABASE {new}"],
        ]
