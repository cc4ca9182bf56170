"""PostgreSQL as a source: its statements, what it selects, and its connector."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import psycopg2
from psycopg2.extensions import connection as Connection
from psycopg2.extensions import cursor as Cursor

from tests.live.source import Key, Script
from tests.support.postgres import USER, PostgresServer, running_postgres
from tests.support.server import Column, RefusedError
from tidemark.schema.postgres_statements import TRIGGERS

SCHEMA = "app"
_ENUM = "mood"
_NATIVE = {
    *("smallint", "integer", "bigint", "boolean", "double precision", "real", "numeric", "bytea"),
    "character",  # As text it would lose its blanks.
}
_SESSION = (
    f"SET search_path = {SCHEMA}; SET TimeZone = 'UTC'; SET IntervalStyle = 'iso_8601'; "
    "SET bytea_output = 'hex'"
)
_TYPES = (
    *("integer", "bigint", "smallint", "numeric(10,2)", "numeric(14,4)", "varchar(20)", "text"),
    *("boolean", "double precision", "real", "date", "timestamp(3)", "timestamp(6)", "uuid"),
    *("timestamptz(6)", "time(6)", "bytea", "jsonb", _ENUM, "integer[]", "text[]", "char(8)"),
    *("inet", "interval", "bit(1)"),
)
_VALUES: Mapping[str, Sequence[str]] = {
    "smallint": ("0", "1", "-32768", "32767"),
    "integer": ("0", "1", "-2147483648", "2147483647"),
    "bigint": ("0", "1", "-9223372036854775808", "9223372036854775807"),
    "boolean": ("true", "false"),
    "double precision": ("0", "0.1", "-1e30", "123456.789", "'NaN'", "'Infinity'"),
    "real": ("0", "0.1", "-1e30", "123.456"),
    "date": ("'0001-01-01'", "'2024-02-29'", "'9999-12-31'", "'1969-12-31'"),
    "timestamp": ("'1969-12-31 23:59:59.999'", "'2026-03-29 02:30:00.5'", "'9999-12-31 23:59:59'"),
    "timestamp with time zone": ("'1970-01-01 00:00:01+00'", "'2026-03-29 02:30:00.125+02'"),
    "time": ("'00:00:00'", "'23:59:59.999999'", "'12:30:00.5'"),
    "bytea": (r"'\x'", r"'\x00ff'", r"'\x616263'"),
    "jsonb": ("""'{"a": 1.50, "b": [true, null]}'""", "'[]'", "'null'", """'"text"'"""),
    _ENUM: ("'sad'", "'ok'", "'happy'"),
    "integer[]": ("'{}'", "'{1,NULL,3}'", "'{-5}'"),
    "text[]": ("'{}'", """'{a,"b c",NULL}'""", """'{"qu\\"ote","{x}"}'"""),
    "uuid": ("'00000000-0000-4000-8000-0000000000ff'",),
    "inet": ("'10.0.0.1'", "'10.0.0.0/8'", "'::1'"),
    "interval": ("'1 year 2 mons 3 days 04:05:06.5'", "'-3 days'", "'00:00:00'"),
    "bit": ("b'0'", "b'1'"),
}
_TEXTS = ("''", "'abc'", "'Täble😀'", "'it''s'", "'12'", "'__dbz'")
_WIDE = 3000
"""Letters of a text that PostgreSQL keeps beside its row."""
_DEFAULTS = {
    "integer": "7",
    "bigint": "9000000000",
    "smallint": "3",
    "varchar(20)": "'it''s'",
    "text": "'new'",
    "boolean": "true",
    "numeric(10,2)": "-3.25",
    "date": "'2026-01-02'",
}
_GROWN = {
    "smallint": ("integer", "bigint"),
    "integer": ("bigint", "numeric(20,0)"),
    "character varying": ("varchar(60)", "text"),
    "numeric": ("numeric(20,4)",),
    "date": ("timestamp(6)",),
    "real": ("double precision",),
}
"""Base type -> types that hold every value of the usual one."""


@dataclass
class Postgres:
    """One database of a server, whose tables stand in the schema `SCHEMA`."""

    name: str
    server: PostgresServer
    rng: random.Random
    tells_ddl: bool
    session: Cursor = field(init=False)
    namespace = SCHEMA

    def __post_init__(self) -> None:
        self.session = _connect(self.server, self.name).cursor()
        self.session.execute(_SESSION)

    def crash(self) -> None:
        """SIGKILL, and another session once the server is back."""
        self.session.connection.close()
        self.server.crash()
        self.__post_init__()

    def run(self, script: Script) -> None:
        """Statements of one session."""
        for statement in script:
            try:
                self.session.execute(statement)
            except psycopg2.Error as error:
                self.session.execute("ROLLBACK")
                raise RefusedError(f"{statement}: {error}") from error

    def tables(self) -> Sequence[str]:
        """Every table of the schema."""
        told = self._ask(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = "
            f"'{SCHEMA}'::regnamespace ORDER BY 1"
        )
        return [name for (name,) in told]

    def columns(self, table: str) -> Sequence[Column]:
        """The columns in their order."""
        told = self._ask(
            "SELECT attname, format_type(atttypid, NULL), format_type(atttypid, atttypmod), "
            "NOT attnotnull FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT "
            "attisdropped ORDER BY attnum",
            self.quoted(table),
        )
        # What is not in the catalog of PostgreSQL stands with its schema in cases.
        return [
            Column(name, kind, f"{SCHEMA}.{text}" if kind == _ENUM else text, is_nullable)
            for name, kind, text, is_nullable in told
        ]

    def key(self, table: str) -> Sequence[str]:
        """Columns of the primary key."""
        told = self._ask(
            "SELECT attname FROM pg_index, unnest(indkey) WITH ORDINALITY AS k(num, place), "
            "pg_attribute WHERE indrelid = %s::regclass AND indisprimary AND attrelid = indrelid "
            "AND attnum = num ORDER BY place",
            self.quoted(table),
        )
        return [name for (name,) in told]

    def keys(self, table: str) -> set[Key]:
        """Keys that are there."""
        columns = ", ".join(f"{self.quoted(name)}::text" for name in self.key(table))
        return set(self._ask(f"SELECT {columns} FROM {self.quoted(table)}"))

    def rows(self, table: str) -> list[dict[str, Any]]:
        """What a SELECT shows."""
        columns = self.columns(table)
        shown = ", ".join(map(self._shown, columns))
        told = self._ask(f"SELECT {shown} FROM {self.quoted(table)}")
        names = [column.name for column in columns]
        return [dict(zip(names, map(_plain, row), strict=True)) for row in told]

    def quoted(self, name: str) -> str:
        """A name as statements write it."""
        return '"' + name.replace('"', '""') + '"'

    def value(self, column: Column) -> str:
        """A random literal that fits."""
        if column.is_nullable and self.rng.random() < 0.2:
            return "NULL"
        kind = column.kind.removesuffix(" without time zone")
        if kind == "numeric":
            return self.rng.choice(("0", "1", "-12.34", "99999999", "-0.01"))
        if kind == "text" and self.rng.random() < 0.5:
            return "'" + self.rng.choice("xyz") * self.rng.randrange(_WIDE, 3 * _WIDE) + "'"
        return self.rng.choice(_VALUES.get(kind, _TEXTS))

    def upsert(self, table: str, columns: Sequence[str], values: Sequence[str]) -> str:
        """INSERT, and UPDATE where the key is there."""
        names = [self.quoted(name) for name in columns]
        key = [self.quoted(name) for name in self.key(table)]
        others = [f"{name} = EXCLUDED.{name}" for name in names if name not in key]
        conflict = f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {', '.join(others)}"
        put = f"INSERT INTO {self.quoted(table)} ({', '.join(names)}) VALUES ({', '.join(values)})"
        return put + (conflict if key else "")

    def made(self) -> Script:
        """A table for every kind of key, and one without any."""
        kinds = iter(self.rng.sample(_TYPES, len(_TYPES)))

        def columns(number: int) -> str:
            return ", ".join(f"c{place} {next(kinds)}" for place in range(number))

        return [
            f"CREATE SCHEMA {SCHEMA}",
            f"CREATE TYPE {_ENUM} AS ENUM ('sad', 'ok', 'happy')",
            f"CREATE TABLE t1 (id integer PRIMARY KEY, {columns(5)})",
            f"CREATE TABLE t2 (id numeric(20,0) PRIMARY KEY, {columns(5)})",
            f"CREATE TABLE t3 (id uuid, no integer, {columns(4)}, PRIMARY KEY (id, no))",
            f"CREATE TABLE t4 (id varchar(20) PRIMARY KEY, {columns(4)})",
            f"CREATE TABLE t5 (day date PRIMARY KEY, body text, {columns(3)})",
            "ALTER TABLE t5 ALTER body SET STORAGE EXTERNAL",
            "CREATE TABLE t6 (id integer PRIMARY KEY, body text, n integer)",
            "ALTER TABLE t6 ALTER body SET STORAGE EXTERNAL",
            "ALTER TABLE t6 REPLICA IDENTITY FULL",
            "CREATE TABLE t7 (a integer, b varchar(20))",
            "ALTER TABLE t7 REPLICA IDENTITY FULL",
            'CREATE TABLE "T 8.ä""x" ("Id" integer PRIMARY KEY, "a b" text, "sel""ect" integer)',
            "CREATE TABLE marker (id integer PRIMARY KEY)",
            "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32), data text)",
            "CREATE PUBLICATION sent FOR ALL TABLES",
            *([TRIGGERS.read_text()] if self.tells_ddl else []),
        ]

    def altered(self, table: str) -> str:
        """ALTER TABLE."""
        columns, key = self.columns(table), self.key(table)
        taken = {column.name for column in columns}
        name = self.rng.choice([n for n in "defghijklmnopqr" if n not in taken])
        kind = self.rng.choice(_TYPES)
        default = f" DEFAULT {_DEFAULTS[kind]}" if kind in _DEFAULTS else ""
        changes = [f"ADD COLUMN {name} {kind}{self.rng.choice(('', default))}"] * 4
        others = [column for column in columns if column.name not in key]
        if len(others) > 1:
            one = self.rng.choice(others)
            changes.append(f"DROP COLUMN {self.quoted(one.name)}")
            changes += [f"RENAME COLUMN {self.quoted(one.name)} TO {name}"] * 2
            base = one.kind.removesuffix(" without time zone")
            changes += [
                f"ALTER COLUMN {self.quoted(one.name)} TYPE {t}" for t in _GROWN.get(base, ())
            ]
        return f"ALTER TABLE {self.quoted(table)} {self.rng.choice(changes)}"

    def renamed(self, *pairs: tuple[str, str]) -> Script:
        """ALTER TABLE RENAME, in one transaction."""
        names = [tuple(map(self.quoted, pair)) for pair in pairs]
        return ["BEGIN", *(f"ALTER TABLE {old} RENAME TO {new}" for old, new in names), "COMMIT"]

    def connector(self) -> Mapping[str, str]:
        """Of Debezium's PostgreSQL connector."""
        return {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "database.hostname": "127.0.0.1",
            "database.port": str(self.server.port),
            "database.user": USER,
            "database.password": "",
            "database.dbname": self.name,
            "plugin.name": "pgoutput",
            "slot.name": self.name,
            "publication.name": "sent",
            "publication.autocreate.mode": "disabled",
            "schema.include.list": SCHEMA,
            "time.precision.mode": "adaptive",
            "signal.data.collection": f"{SCHEMA}.signals",
        }

    def _ask(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        self.session.execute(query, values or None)
        rows: list[tuple[Any, ...]] = self.session.fetchall()
        return rows

    def _shown(self, column: Column) -> str:
        name = self.quoted(column.name)
        return name if column.kind in _NATIVE else f"{name}::text"


@contextmanager
def running_source(name: str, rng: random.Random, *, tells_ddl: bool) -> Iterator[Postgres]:
    """A server of its own, with one empty database; tells_ddl: it has our event triggers."""
    with running_postgres({"wal_level": "logical"}) as server:
        with closing(_connect(server, "postgres")) as connection:
            connection.cursor().execute(f"CREATE DATABASE {name}")
        source = Postgres(name, server, rng, tells_ddl)
        yield source
        source.session.connection.close()


def _connect(server: PostgresServer, database: str) -> Connection:
    """A connection that commits each statement by itself, but for what BEGIN opens."""
    connection = psycopg2.connect(host="127.0.0.1", port=server.port, user=USER, dbname=database)
    connection.autocommit = True
    return connection


def _plain(value: Any) -> Any:
    match value:
        case memoryview():
            return base64.b64encode(value).decode()
        case Decimal() | float():
            return str(value)
    return value
