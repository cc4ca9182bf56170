"""What the schema changes of a cut add up to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.names import ColumnName, TableName
from tidemark.model.position import Position
from tidemark.model.shift import Shift
from tidemark.schema.ddl_columns import Fill


@dataclass(frozen=True, slots=True)
class DdlRecord:
    """One schema change as it was landed; text: its value as JSON."""

    position: Position
    schema: str
    text: str


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column as a statement declares it anew; was: what an earlier one of the cut declared."""

    name: ColumnName
    type_text: str
    was: str | None
    statement: str
    position: Position


@dataclass(frozen=True, slots=True)
class ColumnShift:
    """What a statement did to the names of columns, as it writes them.

    fills: of those that joined, what the rows got that were there. optional: columns that joined
    unless they were there.
    """

    shift: Shift
    fills: Mapping[ColumnName, Fill]
    optional: frozenset[ColumnName]
    statement: str


@dataclass
class DdlEffects:
    """Schema changes, added up in position order.

    types: table -> column -> type text of Canal's and TiCDC's DDL. keys: table -> key columns of
    its DDL. shifts: table -> what became of its columns' names. changed: table -> its columns that
    were declared anew, each time. Both in position order.
    schemas: table -> its state after Debezium's newest change. truncated: table -> its truncates.
    dropped: table -> where it was dropped, last. remade: those of which another one was made after
    it. stops: table -> why it cannot go on; a table of None concerns the whole source.
    """

    types: dict[TableName, dict[str, str]] = field(default_factory=dict)
    keys: dict[TableName, tuple[ColumnName, ...]] = field(default_factory=dict)
    shifts: dict[TableName, list[ColumnShift]] = field(default_factory=dict)
    changed: dict[TableName, list[ColumnChange]] = field(default_factory=dict)
    schemas: dict[TableName, TableSchema] = field(default_factory=dict)
    truncated: dict[TableName, list[Position]] = field(default_factory=dict)
    dropped: dict[TableName, Position] = field(default_factory=dict)
    remade: set[TableName] = field(default_factory=set)
    stops: dict[TableName | None, str] = field(default_factory=dict)

    @property
    def tables(self) -> tuple[TableName, ...]:
        """Every table that something happened to."""
        named = {*self.types, *self.changed, *self.shifts, *self.schemas, *self.truncated}
        named |= self.dropped.keys()
        return tuple(sorted(named | {table for table in self.stops if table is not None}))

    def make(self, table: TableName) -> None:
        """A table is made; one that was dropped is another one, of which nothing was told yet."""
        if table not in self.dropped:
            return
        self.remade.add(table)
        for known in (self.types, self.keys, self.shifts, self.changed, self.schemas):
            known.pop(table, None)

    def keys_of(self, table: TableName) -> tuple[ColumnName, ...]:
        """The key of ``table`` as statements tell it; empty when none does."""
        state = self.schemas.get(table)
        return state.key if state is not None else self.keys.get(table, ())

    def type_of(self, table: TableName, column: SourceColumn) -> str:
        """The type's text of ``column`` as statements tell it, else as it is known."""
        state = self.schemas.get(table)
        if state is not None and column.name in state.names:
            return state[column.name].source_type
        return self.types.get(table, {}).get(column.name, column.source_type)


def spelled(names: Iterable[str], name: str) -> ColumnName:
    """``name`` as it stands in ``names``: a statement may write it in another case."""
    return ColumnName(next((known for known in names if known.lower() == name.lower()), name))
