"""DDL text of MySQL and TiDB to a closed set of operations; the text itself is never executed.

What is not in the set, or cannot be judged, is `Unsupported`, never "no effect" (SCHEMA-20, 24).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tidemark.errors import NameRefusedError
from tidemark.model.names import ColumnName, TableName, column_name

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

Columns = tuple[tuple[ColumnName, str], ...]


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    """A database is made; no table is concerned."""

    database: str


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A table is made; columns: name and type text in order."""

    table: TableName
    columns: Columns
    key: tuple[ColumnName, ...]


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """Every row of a table ends."""

    table: TableName


@dataclass(frozen=True, slots=True)
class AddColumns:
    """Columns are added at the end or in between; order means nothing to a target."""

    table: TableName
    columns: Columns


@dataclass(frozen=True, slots=True)
class NoEffect:
    """Nothing that a target would show: an index, a comment, a setting."""

    what: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """What Tidemark cannot follow; table: None when the text does not tell which."""

    table: TableName | None
    statement: str
    why: str


DdlOperation = CreateDatabase | CreateTable | TruncateTable | AddColumns | NoEffect | Unsupported

# TiDB hides its own options from MySQL in comments; these change storage, not rows or columns.
_TIDB_STORAGE = re.compile(
    r"/\*T!\[(?:clustered_index|auto_id_cache|auto_rand_base|auto_rand|placement|ttl|presplit"
    r"|pre_split|force_inc)\].*?\*/",
    re.DOTALL,
)
_EXECUTED = re.compile(r"/\*(?:!\d*|T!(?:\[[\w,]+\])?)\s?(.*?)\*/", re.DOTALL)
_UNIQUE = exp.UniqueColumnConstraint
_SHOWN_CHARACTERS = 200


def parse_ddl(statement: str, default_schema: str) -> tuple[DdlOperation, ...]:
    """The operations of ``statement``, which may hold several statements.

    default_schema: of names that have none; a qualified name in the text wins (SCHEMA-23).

    >>> parse_ddl("TRUNCATE TABLE `orders`", "shop")
    (TruncateTable(table=TableName(schema='shop', table='orders')),)
    """
    text = _EXECUTED.sub(r"\1", _TIDB_STORAGE.sub("", statement))
    try:
        parsed = sqlglot.parse(text, dialect="mysql")
    except (SqlglotError, RecursionError):
        return (_unsupported(None, statement, "the statement cannot be parsed"),)
    return tuple(
        operation
        for tree in parsed
        if tree is not None
        for operation in _operations(tree, default_schema)
    )


def _operations(tree: exp.Expression, schema: str) -> Iterator[DdlOperation]:
    read = _READERS.get(type(tree))
    if read is None:
        yield _unsupported(_named(tree, schema), tree.sql("mysql"), "it is of an unknown kind")
        return
    try:
        yield from read(tree, schema)
    except NameRefusedError as error:
        yield _unsupported(None, tree.sql("mysql"), error.what)


def _create(tree: exp.Expression, schema: str) -> Iterator[DdlOperation]:
    kind = str(tree.args.get("kind") or "").upper()
    if kind in {"DATABASE", "SCHEMA"}:
        yield CreateDatabase(tree.this.name)
    elif kind in {"INDEX", "VIEW", "PROCEDURE", "FUNCTION", "TRIGGER"}:
        yield NoEffect(f"CREATE {kind}")
    elif kind == "TABLE" and isinstance(tree.this, exp.Schema) and not tree.expression:
        yield _created_table(tree.this, schema)
    else:
        why = "the columns of the new table are not in the statement"
        yield _unsupported(_named(tree, schema), tree.sql("mysql"), why)


def _created_table(definition: exp.Schema, schema: str) -> CreateTable:
    columns: list[tuple[ColumnName, str]] = []
    key: list[str] = []
    for item in definition.expressions:
        if isinstance(item, exp.ColumnDef):
            columns.append(_column(item))
            if item.find(exp.PrimaryKeyColumnConstraint):
                key.append(item.name)
        for primary in [item, *item.find_all(exp.PrimaryKey)]:
            if isinstance(primary, exp.PrimaryKey) and not key:
                key = [part.name for part in primary.expressions]
    return CreateTable(
        _table(definition.this, schema), tuple(columns), tuple(column_name(k) for k in key)
    )


def _alter(tree: exp.Expression, schema: str) -> Iterator[DdlOperation]:
    """One ALTER is as good as its worst item (SCHEMA-22)."""
    if str(tree.args.get("kind") or "").upper() != "TABLE":
        yield NoEffect("ALTER of something that is no table")
        return
    table = _table(tree.this, schema)
    actions: list[exp.Expression] = tree.args.get("actions") or []
    added = [action for action in actions if isinstance(action, exp.ColumnDef)]
    others = [action for action in actions if action not in added and not _is_index(action)]
    if others or not actions:
        worst = others[0].sql("mysql") if others else tree.sql("mysql")
        yield _unsupported(table, tree.sql("mysql"), f"{worst} is not a change that can be followed")
    elif added:
        yield AddColumns(table, tuple(_column(action) for action in added))
    else:
        yield NoEffect("ALTER TABLE of indexes")


def _is_index(action: exp.Expression) -> bool:
    """Adding or dropping an index or a constraint that is not the primary key."""
    if isinstance(action, exp.AddConstraint):
        return not list(action.find_all(exp.PrimaryKey))
    if isinstance(action, exp.Drop):
        return str(action.args.get("kind") or "").upper() in {"INDEX", "KEY", "FOREIGN KEY"}
    return False


def _truncate(tree: exp.Expression, schema: str) -> Iterator[DdlOperation]:
    for table in tree.expressions:
        if tree.args.get("partition") or table.args.get("partition"):
            yield _unsupported(
                _table(table, schema), tree.sql("mysql"), "rows of partitions went without events"
            )
        else:
            yield TruncateTable(_table(table, schema))


def _drop(tree: exp.Expression, schema: str) -> Iterator[DdlOperation]:
    kind = str(tree.args.get("kind") or "").upper()
    if kind == "TABLE":
        yield _unsupported(_named(tree, schema), tree.sql("mysql"), "the table was dropped")
    elif kind in {"DATABASE", "SCHEMA"}:
        yield _unsupported(None, tree.sql("mysql"), "a database was dropped")
    else:
        yield NoEffect(f"DROP {kind}")


def _none(tree: exp.Expression, _schema: str) -> Iterator[DdlOperation]:
    yield NoEffect(type(tree).__name__.upper())


_READERS: Mapping[type, Callable[[exp.Expression, str], Iterator[DdlOperation]]] = {
    exp.Create: _create,
    exp.Alter: _alter,
    exp.TruncateTable: _truncate,
    exp.Drop: _drop,
    exp.Set: _none,
    exp.Use: _none,
    exp.Grant: _none,
}


def _column(definition: exp.ColumnDef) -> tuple[ColumnName, str]:
    kind = definition.args.get("kind")
    return column_name(definition.name), kind.sql("mysql") if kind else ""


def _table(tree: exp.Expression, schema: str) -> TableName:
    table = tree if isinstance(tree, exp.Table) else tree.find(exp.Table)
    assert isinstance(table, exp.Table)
    return TableName(table.db or schema, table.name)


def _named(tree: exp.Expression, schema: str) -> TableName | None:
    table = tree.find(exp.Table)
    if table is None:
        return None
    try:
        return TableName(table.db or schema, table.name)
    except NameRefusedError:
        return None


def _unsupported(table: TableName | None, statement: str, why: str) -> Unsupported:
    return Unsupported(table, statement[:_SHOWN_CHARACTERS], why)
