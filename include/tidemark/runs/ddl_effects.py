"""What the schema changes of a cut add up to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.names import ColumnName, TableName
from tidemark.model.position import Position, place_of
from tidemark.model.renames import Rename, Renames
from tidemark.runs.told_columns import ColumnChange, ColumnShift
from tidemark.schema.alter_items import CHANGES_KEY, ColumnItems
from tidemark.schema.ddl_operations import (
    AlterColumns,
    CopyTable,
    CreateTable,
    DdlOperation,
    DropDatabase,
    DropTable,
    ParkTable,
    RenameTable,
    ReplaceTable,
    Unsupported,
)


@dataclass(frozen=True, slots=True)
class DdlRecord:
    """One schema change as it was landed; text: its value as JSON."""

    position: Position
    schema: str
    text: str


@dataclass(frozen=True, slots=True)
class DdlStop:
    """Why a table cannot go on.

    position: of the statement that a person may judge (SCHEMA-26); None where there is nothing to.
    renamed_to: what the table is called now.
    """

    why: str
    position: Position | None
    renamed_to: TableName | None = None


@dataclass
class DdlEffects:
    """Schema changes, added up in position order.

    names: what the file says of former names of tables. renames: those that came in the cut.
    types: table -> column -> type text of Canal's and TiCDC's DDL. keys: table -> key columns of
    its DDL. shifts: table -> what became of its columns' names. changed: table -> its columns that
    were declared anew, each time. Both in position order.
    schemas: table -> its state after Debezium's newest change. truncated: table -> its truncates.
    dropped: table -> where it was dropped, last. emptied: database -> likewise. made: tables that
    were made, unless dropped later; remade: those of them that were dropped before. parked: table
    -> where it went out of the way of its shadow. replaced: table -> where that took its place,
    last. rekeyed: table -> the first statement that gave it another key. unknown_shadows: those
    that took a place, and of which nothing was told. stops: table -> why it cannot go on; a table
    of None concerns the whole source.
    """

    names: Renames = field(default_factory=Renames)
    types: dict[TableName, dict[str, str]] = field(default_factory=dict)
    keys: dict[TableName, tuple[ColumnName, ...]] = field(default_factory=dict)
    shifts: dict[TableName, list[ColumnShift]] = field(default_factory=dict)
    changed: dict[TableName, list[ColumnChange]] = field(default_factory=dict)
    schemas: dict[TableName, TableSchema] = field(default_factory=dict)
    truncated: dict[TableName, list[Position]] = field(default_factory=dict)
    dropped: dict[TableName, Position] = field(default_factory=dict)
    emptied: dict[str, Position] = field(default_factory=dict)
    made: set[TableName] = field(default_factory=set)
    remade: set[TableName] = field(default_factory=set)
    parked: dict[TableName, Position] = field(default_factory=dict)
    rekeyed: dict[TableName, str] = field(default_factory=dict)
    replaced: dict[TableName, Position] = field(default_factory=dict)
    stops: dict[TableName | None, DdlStop] = field(default_factory=dict)
    unknown_shadows: frozenset[TableName] = frozenset()
    renames: list[Rename] = field(default_factory=list)

    @property
    def tables(self) -> tuple[TableName, ...]:
        """Every table that something happened to."""
        named = {*self.types, *self.changed, *self.shifts, *self.schemas, *self.truncated}
        named |= {*self.dropped, *self.parked, *self.replaced, *self.rekeyed}
        return tuple(sorted(named | {table for table in self.stops if table is not None}))

    def take(self, table: TableName, other: DdlEffects) -> None:
        """Of ``table`` what ``other`` says counts, and nothing else."""
        for mine, its in zip(self._by_table, other._by_table, strict=True):
            mine.pop(table, None)
            if table in its:
                mine[table] = its[table]
        for marked, by_it in ((self.made, other.made), (self.remade, other.remade)):
            marked.discard(table)
            marked |= by_it & {table}
        self.stops.pop(table, None)
        why = other.stops.get(table, other.stops.get(None))
        if why is not None:
            self.stops[table] = why
        told = set(self.renames)
        self.renames += [one for one in other.renames if one.new == table and one not in told]
        if table.schema in other.emptied:
            self.dropped.setdefault(table, other.emptied[table.schema])

    @property
    def _by_table(self) -> tuple[dict[TableName, Any], ...]:
        columns = (self.types, self.keys, self.shifts, self.changed, self.schemas)
        return (*columns, self.truncated, self.dropped, self.parked, self.replaced, self.rekeyed)

    def follow(self, operation: DdlOperation, position: Position) -> None:
        """Add what ``operation`` does to whole tables; what it does to columns, others add."""
        match operation:
            case CreateTable(table) | CopyTable(table):
                self.make(table)
            case DropTable(table):
                self.drop(table, position)
            case DropDatabase(name):
                self.drop_all(name, position)
            case ParkTable(table):
                self.park(table, position)
            case AlterColumns(table, items, text):
                self._rekey(table, items, text, position)
            case ReplaceTable(table, items, _, text):
                self.replace(table, position)
                self._rekey(table, items, text, position)
            case RenameTable(old, new, text):
                self._rename(old, new, position, text)
            case Unsupported(table, text, why):
                self.stop(table, f"{why}: {text}" if text else why, position)

    def _rename(self, old: TableName, new: TableName, position: Position, statement: str) -> None:
        """A table that the file knows under both names goes on; else each of them stops."""
        done = self.names.followed(old, new)
        if (old, new) in {(one.old, one.new) for one in self.names.due}:
            self.renames.append(Rename(old, new, position))
            self.stops.pop(new, None)
            self.move(old, new)
        elif done is not None:
            # A table that stands lower meets it again. What is sent again changes nothing.
            if done.position == position or _is_copy(done.position, position):
                self.stops.pop(new, None)
                self.move(old, new)
        else:
            told = f"{statement} (at position {position})"
            why = f"it is called {new} now (CONTENT_DDL): {told}"
            self.stops.setdefault(old, DdlStop(why, None, new))
            why = f"its rows are those that {old} had (CONTENT_DDL): {told}"
            self.stops.setdefault(new, DdlStop(why, None))

    def move(self, old: TableName, new: TableName) -> None:
        """What was told of ``old`` is told of ``new``."""
        for known in self._by_table:
            known.pop(new, None)
            if old in known:
                known[new] = known.pop(old)
        for marked in (self.made, self.remade):
            marked.discard(new)
            if old in marked:
                marked.remove(old)
                marked.add(new)
        if old in self.stops:
            self.stops.setdefault(new, self.stops.pop(old))

    def _rekey(
        self, table: TableName, items: ColumnItems, statement: str, position: Position
    ) -> None:
        if items.rekeyed:
            why = f"{CHANGES_KEY}: {statement} (at position {position})"
            self.rekeyed.setdefault(table, why)

    def stop(
        self, table: TableName | None, why: str, position: Position, *, may_be_judged: bool = True
    ) -> None:
        """A table cannot go on behind the first thing that nobody can follow."""
        judged_at = position if may_be_judged else None
        self.stops.setdefault(table, DdlStop(f"{why} (at position {position})", judged_at))

    def shift(self, table: TableName, shift: ColumnShift) -> None:
        """The names of a table's columns change, or must have been certain ones."""
        moves = shift.shift
        if moves.renamed or moves.dropped or moves.added or shift.had is not None:
            self.shifts.setdefault(table, []).append(shift)

    def drop(self, table: TableName, position: Position) -> None:
        """A table goes."""
        self.made.discard(table)
        self.replaced.pop(table, None)
        self.dropped[table] = position

    def drop_all(self, schema: str, position: Position) -> None:
        """A database goes with its tables, also with those of which the cut tells nothing."""
        for table in self.tables:
            if table.schema == schema:
                self.drop(table, position)
        self.emptied[schema] = position

    def park(self, table: TableName, position: Position) -> None:
        """A table goes out of its shadow's way; parts of one statement have no order (MSG-54)."""
        place = place_of(position)
        replaced_at = self.replaced.get(table)
        if place is None or replaced_at is None or place != place_of(replaced_at):
            self.parked[table] = position

    def replace(self, table: TableName, position: Position) -> None:
        """A shadow takes the place of a table; the rows are those that it had."""
        self.parked.pop(table, None)
        if table not in self.made:
            self.dropped.pop(table, None)
        self.replaced[table] = position

    def make(self, table: TableName) -> None:
        """A table is made; one that was dropped is another one, of which nothing was told yet."""
        self.made.add(table)
        if table in self.parked:
            self.dropped[table] = self.parked.pop(table)
        elif table.schema in self.emptied:
            self.dropped.setdefault(table, self.emptied[table.schema])
        if table not in self.dropped:
            return
        self.remade.add(table)
        for known in (self.types, self.keys, self.shifts, self.changed, self.schemas):
            known.pop(table, None)
        self.rekeyed.pop(table, None)

    def dropped_at(self, table: TableName, before: Position | None) -> Position | None:
        """Where the table went that bears this name no more; before: in an earlier cut."""
        if table in self.parked:
            return self.parked[table]
        if table in self.replaced and table not in self.made:
            return None
        return self.dropped.get(table, self.emptied.get(table.schema, before))

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


def _is_copy(one: Position | None, other: Position) -> bool:
    """Whether two copies of one statement stand at these positions (POS-14)."""
    place = place_of(other)
    return one is not None and place is not None and place_of(one) == place
