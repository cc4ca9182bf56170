"""In which database a statement names a table without saying so (SCHEMA-23).

That is the database of the session, which a record has beside the text where all names are in it.
Where one of them is qualified, the record has the database of that one or of the session: Canal and
TiCDC write the one that the renamed table is in now, Canal and Debezium the one that is named first
or that a part of the statement is about. Where Canal's parser does not understand a text, the
record has none at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from tidemark.model.names import TableName
from tidemark.schema.ddl import parse_ddl
from tidemark.schema.ddl_operations import DdlOperation, Unsupported, tables_of

_OF_SESSION = "-" * 65
"""No database of MySQL, MariaDB or TiDB: their names have at most 64 characters."""


@dataclass(frozen=True, slots=True)
class FollowedNames:
    """The tables that a pipeline follows, under every name that it knows of them.

    shadowed: a table -> the one whose shadow it is by its name, None where it is none.
    """

    tables: Collection[TableName]
    shadowed: Callable[[TableName], TableName | None]

    def called(self, name: str) -> Iterator[TableName]:
        """Those of them, and those of their shadows, that bear ``name`` in any database."""
        for schema in sorted({table.schema for table in self.tables}):
            table = TableName(schema, name)
            if table in self.tables or self.shadowed(table) in self.tables:
                yield table


def parse_in_session(sql: str, schema: str, followed: FollowedNames) -> tuple[DdlOperation, ...]:
    """What the statements of ``sql`` do, of which a record says that they are in ``schema``.

    Names without a database are in ``schema`` unless it stands in the text; then in the database in
    which ``followed`` has a table of that name, if that is a single one. Where that leaves it open,
    or the record has no database, each followed table that may be meant is `Unsupported`.
    """
    operations = parse_ddl(sql, _OF_SESSION)
    named = {table for operation in operations for table in tables_of(operation)}
    bare = {table.table for table in named if table.schema == _OF_SESSION}
    if schema and all(table.schema != schema for table in named):
        return parse_ddl(sql, schema)
    schemas = {table.schema for name in bare for table in followed.called(name)}
    if schema and len(schemas) <= 1:
        return parse_ddl(sql, next(iter(schemas), schema))
    return tuple(part for operation in operations for part in _refused(operation, sql, followed))


def _refused(operation: DdlOperation, sql: str, followed: FollowedNames) -> Iterator[DdlOperation]:
    """``operation``; where it names a table of the session's database, what that may be about."""
    tables = set(tables_of(operation))
    if all(table.schema != _OF_SESSION for table in tables):
        yield operation
        return
    why = "its record does not tell in which database its names without one are"
    meant = {table for table in tables if table.schema != _OF_SESSION}
    meant |= {name for table in tables - meant for name in followed.called(table.table)}
    for name in sorted(meant):
        yield Unsupported(name, sql.strip(), why)
