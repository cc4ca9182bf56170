"""What a statement does: the closed set of operations that DDL text is parsed into (SCHEMA-20)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from tidemark.model.names import ColumnName, TableName
from tidemark.schema.alter_items import ColumnItems
from tidemark.schema.ddl_columns import ColumnText

RESTORED = "rows come back without events"


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    """A database is made."""

    name: str


@dataclass(frozen=True, slots=True)
class CreateTable:
    """An empty table is made; key: empty when it has no primary key.

    if_absent: nothing happens where a table has the name.
    """

    table: TableName
    columns: tuple[ColumnText, ...]
    key: tuple[ColumnName, ...]
    if_absent: bool = False


@dataclass(frozen=True, slots=True)
class CopyTable:
    """A table is made with the columns of another table or of a query.

    like: the other table; None for a query. if_absent: as of `CreateTable`.
    """

    table: TableName
    like: TableName | None
    statement: str
    if_absent: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """Every row of a table goes."""

    table: TableName


@dataclass(frozen=True, slots=True)
class DropTable:
    """A table goes."""

    table: TableName


@dataclass(frozen=True, slots=True)
class RestoreTable:
    """A table comes back as it was where it was dropped or truncated last; name: what it has now.

    The rows come without events (SCHEMA-18).
    """

    table: TableName
    name: TableName
    statement: str


@dataclass(frozen=True, slots=True)
class DropDatabase:
    """A database goes, and every table in it."""

    name: str


@dataclass(frozen=True, slots=True)
class RenameTable:
    """A table takes another name; of a list each pair for itself, in its order.

    if_present: nothing happens where no table has the old name.
    """

    old: TableName
    new: TableName
    statement: str
    if_present: bool = False


@dataclass(frozen=True, slots=True)
class AlterColumns:
    """Columns of a table change, all by one statement.

    items: what it does; names of what is added or declared again are those from after it.
    statement: its text.
    """

    table: TableName
    items: ColumnItems
    statement: str


@dataclass(frozen=True, slots=True)
class BeginCutOver:
    """A table goes out of the way of its shadow (SCHEMA-33)."""

    table: TableName


@dataclass(frozen=True, slots=True)
class CutOver:
    """The shadow of a table takes its place (SCHEMA-33).

    items: in what it differs. columns: those that it was made with, where its text lists them; the
    table must have had the same.
    """

    table: TableName
    items: ColumnItems
    columns: frozenset[ColumnName] | None
    statement: str


@dataclass(frozen=True, slots=True)
class NoEffect:
    """Rows and columns stay as they are."""

    what: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """What cannot be followed; table: None when the statement names none."""

    table: TableName | None
    statement: str
    why: str


DdlOperation = (
    CreateDatabase
    | CreateTable
    | CopyTable
    | TruncateTable
    | DropTable
    | RestoreTable
    | DropDatabase
    | RenameTable
    | AlterColumns
    | BeginCutOver
    | CutOver
    | NoEffect
    | Unsupported
)


def tables_of(operation: DdlOperation) -> Iterator[TableName]:
    """The tables that ``operation`` names; a database names none."""
    for part in fields(operation):
        value = getattr(operation, part.name)
        if isinstance(value, TableName):
            yield value
