"""Shadow tables: what an online schema change did to the table that it fills beside another one.

gh-ost and pt-online-schema-change make a table like the one to be changed, alter it, copy all rows
into it, and let it take the other one's place. The rows are equal by construction, in all columns
that both have by name; so the whole is one ALTER of the table, at the place where the names change
(SCHEMA-32, SCHEMA-33).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tidemark.model.names import ColumnName, TableName
from tidemark.schema.alter_items import ColumnItems
from tidemark.schema.ddl_columns import ColumnText
from tidemark.schema.ddl_operations import (
    AlterColumns,
    BeginCutOver,
    CopyTable,
    CreateTable,
    CutOver,
    DdlOperation,
    DropTable,
    RenameTable,
    TruncateTable,
    Unsupported,
)


@dataclass(slots=True)
class Shadow:
    """A shadow table, from its making on; columns by their names in small letters.

    like: the table that it was made like. made: the columns that its text lists, None where it was
    made like another. key: as in `ColumnItems`. warning: why its rows may differ from those of the
    other table by more than its columns tell; empty while they do not.
    """

    like: TableName | None = None
    made: dict[str, ColumnText] | None = None
    added: dict[str, ColumnText] = field(default_factory=dict)
    changed: dict[str, ColumnText] = field(default_factory=dict)
    dropped: dict[str, ColumnName] = field(default_factory=dict)
    optional: set[ColumnName] = field(default_factory=set)
    key: tuple[ColumnName, ...] | None = None
    statements: list[str] = field(default_factory=list)
    warning: str = ""

    def alter(self, items: ColumnItems, statement: str) -> None:
        """What goes and comes again under its name was copied by it, and is another type of it."""
        self.statements.append(statement)
        if items.renamed:
            old, new = items.renamed[0]
            self._warning(f"it renames {old} to {new}, and a tool may copy the values or not")
        for name in items.dropped:
            if self.added.pop(name.lower(), None) is None:
                self.changed.pop(name.lower(), None)
                self.dropped[name.lower()] = name
        for column in items.added:
            came_again = self.dropped.pop(column.name.lower(), None) is not None
            (self.changed if came_again else self.added)[column.name.lower()] = column
        for column in items.changed:
            if column.name.lower() in self.added:
                self._warning(f"it declares {column.name} more than once")
            self.changed[column.name.lower()] = column
        self.optional |= items.optional
        self.key = self.key if items.key is None else items.key

    def refuse(self, why: str, statement: str) -> None:
        """What was done to it is not followed."""
        self._warning(f"{why}: {statement}")

    def _warning(self, why: str) -> None:
        self.warning = self.warning or why

    @property
    def items(self) -> ColumnItems:
        """In what it differs from the table whose place it takes.

        Columns that its text lists are all declared again, which a change of their type shows. They
        take null as they did before.
        """
        stay = {
            name: column._replace(fills_nulls=False, numbers_rows=False)
            for name, column in (self.made or {}).items()
            if name not in self.dropped
        }
        return ColumnItems(
            added=list(self.added.values()),
            changed=list((stay | self.changed).values()),
            dropped=list(self.dropped.values()),
            optional=self.optional,
            key=self.key,
        )


class Shadows:
    """The shadow tables of a source, followed through its statements in their order.

    shadowed: a table -> the one whose shadow it is by its name, None where it is none. unknown:
    shadow tables that took a place, and of whose making nothing was told.
    """

    def __init__(self, shadowed: Callable[[TableName], TableName | None]) -> None:
        self._shadowed = shadowed
        self._known: dict[TableName, Shadow] = {}
        self.unknown: set[TableName] = set()

    def follow(self, operation: DdlOperation) -> Sequence[DdlOperation]:
        """What ``operation`` does to tables that are no shadows."""
        match operation:
            case RenameTable():
                return self._renamed(operation)
            case (
                CreateTable(table)
                | CopyTable(table)
                | AlterColumns(table)
                | DropTable(table)
                | TruncateTable(table)
                | Unsupported(TableName() as table)
            ) if self._shadowed(table) is not None:
                self._change(table, operation)
                return ()
            case AlterColumns(table, _, statement):
                for name, shadow in self._known.items():
                    if self._shadowed(name) == table:
                        shadow.refuse(f"{table} was changed meanwhile", statement)
        return (operation,)

    def _change(self, table: TableName, operation: DdlOperation) -> None:
        shadow = self._known.get(table, Shadow())
        match operation:
            case CreateTable(if_absent=True) | CopyTable(if_absent=True) if table in self._known:
                return
            case CreateTable(_, columns):
                made = {column.name.lower(): column for column in columns}
                self._known[table] = Shadow(made=made)
            case CopyTable(_, like, statement):
                self._known[table] = Shadow(like=like)
                if like is None:
                    self._known[table].refuse("its rows are those of a query", statement)
            case DropTable():
                self._known.pop(table, None)
            case AlterColumns(_, items, statement):
                shadow.alter(items, statement)
            case TruncateTable():
                shadow.refuse("its rows went", f"TRUNCATE {table}")
            case Unsupported(_, statement, why):
                shadow.refuse(why, statement)

    def _renamed(self, operation: RenameTable) -> Sequence[DdlOperation]:
        old, new, statement = operation.old, operation.new, operation.statement
        comes, goes = self._shadowed(old), self._shadowed(new)
        shadow = self._known.pop(old, None)
        if goes is not None:
            self._known.pop(new, None)
            if comes is None:
                return (BeginCutOver(old),)
            if shadow is not None:
                self._known[new] = shadow
            return ()
        if comes is None:
            return (operation,)
        if shadow is None:
            self.unknown.add(old)
            return (Unsupported(new, statement, f"the statements that made {old} were not read"),)
        why = _refusal(new, old, comes, shadow)
        if why:
            return (Unsupported(new, statement, f"{old} takes its place, and {why}"),)
        columns = frozenset(column.name for column in shadow.made.values()) if shadow.made else None
        statements = "; ".join([*shadow.statements, statement])
        return (CutOver(new, shadow.items, columns, statements),)


def _refusal(table: TableName, old: TableName, shadowed: TableName, shadow: Shadow) -> str:
    """Why ``table`` cannot go on as its ``shadow`` ``old``; empty where it can."""
    if shadowed != table:
        return f"that is a shadow of {shadowed} by its name"
    if shadow.like not in (None, table):
        return f"{old} was made like {shadow.like}"
    return shadow.warning
