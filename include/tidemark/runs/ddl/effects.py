"""What the schema changes of a cut add up to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.key_change import KeyChange
from tidemark.model.names import ColumnName, TableName, TopicName
from tidemark.model.position import Place, Position, event_id_of, place_of
from tidemark.model.reconcile import below_snapshot
from tidemark.model.renames import Pairs, Rename, Renames, listed, unexplained
from tidemark.model.target_mode import TargetMode
from tidemark.runs.ddl.column_changes import ColumnChange, StatementChange
from tidemark.schema.alter_items import UNTOLD_BACKFILL, ColumnItems
from tidemark.schema.ddl_operations import (
    RESTORED,
    AlterColumns,
    BeginCutOver,
    CopyTable,
    CreateTable,
    CutOver,
    DdlOperation,
    DropDatabase,
    DropTable,
    RenameTable,
    RestoreTable,
    TruncateTable,
    Unsupported,
    tables_of,
)
from tidemark.spec import TableSpec

REST = "the next run reads what was not sent yet; if it stops again, take was: out"
TWICE = "fold what lies between two exchanges of names by itself first: tidemark cut with --until"


@dataclass(frozen=True, slots=True)
class DdlRecord:
    """One schema change as it was landed; text: its value as JSON."""

    position: Position
    schema: str
    text: str
    topic: TopicName


@dataclass(frozen=True, slots=True)
class RenamedBy:
    """What one statement renames; text: its own with its position.

    freed: of the new names those of tables that were dropped below it in the cut, and where.
    """

    pairs: Pairs
    text: str
    position: Position
    freed: Mapping[TableName, Position] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DdlStop:
    """Why a table cannot go on.

    position: of the statement that a person may judge (SCHEMA-26); None where there is nothing to.
    renamed_to: what the table is called now. by: the statement that renamed it. fix: what helps,
    where that is not to fold the table anew.
    """

    why: str
    position: Position | None
    renamed_to: TableName | None = None
    by: RenamedBy | None = None
    fix: str = ""

    @property
    def is_about_rows(self) -> bool:
        """Whether another table, which begins without any, is not concerned by it."""
        return self.by is None and not self.fix


@dataclass(frozen=True, slots=True)
class Created:
    """A table as it was made; types: column -> type text."""

    position: Position
    types: Mapping[str, str]
    key: tuple[ColumnName, ...]


@dataclass(frozen=True, slots=True)
class _Left:
    """What was told of a table that a statement of the cut drops at ``position``, alone."""

    position: Position
    dropped: Position | None
    created: Created | None
    cut_over: Position | None
    is_made: bool


@dataclass(frozen=True, slots=True)
class _Opened:
    """A rename of a statement that may tell more of them; state: of the table behind it."""

    operation: RenameTable
    position: Position
    state: TableSchema | None


def presence_unknown(_: TableName) -> bool | None:
    """What is known of any table where nobody has looked."""
    return None


@dataclass
class DdlEffects:
    """Schema changes, added up in position order.

    names: what the file says of former names of tables. renames: those that came in the cut.
    types: table -> column -> type text of Canal's and TiCDC's DDL. keys: table -> key columns of
    its DDL. comments: table -> column -> what its newest declaration says of it, empty for nothing.
    column_renames: table -> what became of its columns' names. changed: table -> its
    columns that were declared again, each time. Both in position order.
    schemas: table -> its state after Debezium's newest change. truncated: table -> its truncates.
    dropped: table -> where it was dropped, last. emptied: database -> likewise. made: tables that
    were made, unless dropped later; remade: those of them that were dropped before. created: what
    was told of those that were made, last; described: of those that a snapshot of the source read.
    described_at: the events at which a snapshot amid the stream described tables (MSG-24).
    ended: tables that were made and dropped again -> where they were made, each time.
    stated_at: table -> where its newest statement stands. stated_in: table, or database -> the
    topics of statements about it that their offsets alone order (POS-11).
    restored: tables that came back as they were dropped -> where that was, each time (SCHEMA-18).
    left: tables that the cut drops and does not make again. dropped_before: what earlier cuts
    dropped and did not make again, by its statement alone -> where. unseen_drops: tables that came
    back and of whose DROP nothing is known. begun_cut_overs: table -> where it went out of the way
    of its shadow. cut_overs: table -> where that took its place, last. key_changes: of a table, in
    position order. unknown_values: the first statement that gave rows values which nothing shows;
    it stops a table that cannot go on without them. unknown_shadows: those that took a place, and
    of which nothing was told. stops: table -> why it cannot go on; a table of None concerns the
    whole source. opened: renames of the statement that is being read.
    was_there: whether a table was there before the cut, None where that is unknown; there: as the
    cut's statements show it. rows_tell_columns: all of them, so that it may stay unknown.
    """

    names: Renames = field(default_factory=Renames)
    types: dict[TableName, dict[str, str]] = field(default_factory=dict)
    keys: dict[TableName, tuple[ColumnName, ...]] = field(default_factory=dict)
    comments: dict[TableName, dict[ColumnName, str]] = field(default_factory=dict)
    column_renames: dict[TableName, list[StatementChange]] = field(default_factory=dict)
    changed: dict[TableName, list[ColumnChange]] = field(default_factory=dict)
    schemas: dict[TableName, TableSchema] = field(default_factory=dict)
    truncated: dict[TableName, list[Position]] = field(default_factory=dict)
    dropped: dict[TableName, Position] = field(default_factory=dict)
    emptied: dict[str, Position] = field(default_factory=dict)
    made: set[TableName] = field(default_factory=set)
    remade: set[TableName] = field(default_factory=set)
    created: dict[TableName, Created] = field(default_factory=dict)
    described: dict[TableName, Created] = field(default_factory=dict)
    described_at: set[str] = field(default_factory=set)
    stated_at: dict[TableName, Position] = field(default_factory=dict)
    stated_in: dict[TableName | str, frozenset[TopicName]] = field(default_factory=dict)
    ended: dict[TableName, list[Position]] = field(default_factory=dict)
    restored: dict[TableName, list[Position]] = field(default_factory=dict)
    left: dict[TableName, _Left] = field(default_factory=dict)
    dropped_before: dict[TableName, Position] = field(default_factory=dict)
    unseen_drops: set[TableName] = field(default_factory=set)
    begun_cut_overs: dict[TableName, Position] = field(default_factory=dict)
    key_changes: dict[TableName, list[KeyChange]] = field(default_factory=dict)
    unknown_values: dict[TableName, DdlStop] = field(default_factory=dict)
    cut_overs: dict[TableName, Position] = field(default_factory=dict)
    stops: dict[TableName | None, DdlStop] = field(default_factory=dict)
    unknown_shadows: frozenset[TableName] = frozenset()
    renames: list[Rename] = field(default_factory=list)
    opened: list[_Opened] = field(default_factory=list)
    was_there: Callable[[TableName], bool | None] = presence_unknown
    there: dict[TableName, bool] = field(default_factory=dict)
    rows_tell_columns: bool = False

    @property
    def tables(self) -> tuple[TableName, ...]:
        """Every table that something happened to."""
        named = {*self.types, *self.changed, *self.column_renames, *self.schemas, *self.truncated}
        named |= {*self.dropped, *self.begun_cut_overs, *self.cut_overs, *self.key_changes}
        named |= self.restored.keys()
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
        self.described_at |= other.described_at
        self.stops.pop(table, None)
        why = other.stops.get(table, other.stops.get(None))
        if why is not None:
            self.stops[table] = why
        known = set(self.renames)
        self.renames += [
            rename for rename in other.renames if rename.new == table and rename not in known
        ]
        if table.schema in other.emptied:
            self.dropped.setdefault(table, other.emptied[table.schema])
            self.stated_in[table] = other.topics_of(table)

    @property
    def _by_table(self) -> tuple[dict[Any, Any], ...]:
        columns = (self.types, self.keys, self.column_renames, self.changed, self.schemas)
        return (
            *columns,
            self.comments,
            self.truncated,
            self.dropped,
            self.created,
            self.described,
            self.stated_at,
            self.stated_in,
            self.ended,
            self.restored,
            self.begun_cut_overs,
            self.cut_overs,
            self.key_changes,
            self.unknown_values,
        )

    def is_void(self, operation: DdlOperation) -> bool:
        """Whether ``operation`` did nothing at the source, which logs it all the same."""
        match operation:
            case CreateTable(table, if_absent=True) | CopyTable(table, if_absent=True):
                self.settle()
                is_there = self._is_there(table)
                return self.rows_tell_columns if is_there is None else is_there
            case RenameTable(old, new, if_present=True):
                # Else it had failed.
                return self._is_there(new) is True or self._is_gone(old)
        return False

    def _is_there(self, table: TableName) -> bool | None:
        """Whether the source has ``table`` where the cut is read; None where that is unknown."""
        if self._is_gone(table):
            return False
        return table in self._now_there or self.was_there(table)

    def _is_gone(self, table: TableName) -> bool:
        """Whether statements of the cut took ``table`` away, or its name."""
        is_there = self._now_there.get(table)
        return is_there is False or (is_there is None and table.schema in self.emptied)

    @property
    def _now_there(self) -> Mapping[TableName, bool]:
        """`there`, as the statement has it that is being read."""
        now = dict(self.there)
        for part in self.opened:
            now |= {part.operation.old: False, part.operation.new: True}
        return now

    def came_by(self, topic: TopicName, operations: Iterable[DdlOperation]) -> None:
        """``operations`` came by ``topic``, whose offsets alone order them."""
        for operation in operations:
            names: set[TableName | str] = set(tables_of(operation))
            if isinstance(operation, DropDatabase):
                names.add(operation.name)
            for name in names:
                self.stated_in[name] = self.stated_in.get(name, frozenset()) | {topic}

    def topics_of(self, table: TableName) -> frozenset[TopicName]:
        """The topics of statements about ``table`` that offsets alone order."""
        nowhere = frozenset[TopicName]()
        return self.stated_in.get(table, nowhere) | self.stated_in.get(table.schema, nowhere)

    def follow(self, operation: DdlOperation, position: Position) -> None:
        """Add what ``operation`` does to whole tables; what it does to columns, others add."""
        if isinstance(operation, RenameTable):
            self.rename(operation, position)
            return
        self.settle()
        match operation:
            case CreateTable(table) | CopyTable(table):
                self.make(table)
            case DropTable() | RestoreTable():
                self._leave_or_come_back(operation, position)
            case DropDatabase(name):
                self.drop_all(name, position)
            case BeginCutOver(table):
                self.begin_cut_over(table, position)
            case AlterColumns(table, items, text):
                self.there[table] = True
                self._key_change(table, items, text, position)
            case TruncateTable(table):
                self.there[table] = True
            case CutOver(table, items, _, text):
                self.cut_over(table, position)
                self._key_change(table, items, text, position)
            case Unsupported(table, text, why):
                self.stop(table, f"{why}: {text}" if text else why, position)
        self._comment(operation)

    def rename(
        self, operation: RenameTable, position: Position, state: TableSchema | None = None
    ) -> None:
        """A table takes another name, together with all that the same statement renames."""
        self.opened.append(_Opened(operation, position, state))

    def settle(self) -> None:
        """What was renamed by one statement takes effect all at once (MSG-54).

        A table that the file knows under both names goes on; else each of them stops.
        """
        opened, self.opened = self.opened, []
        if not opened:
            return
        position = opened[-1].position
        pairs = tuple((part.operation.old, part.operation.new) for part in opened)
        names = replace(self.names, done=(*self.names.done, *self.renames))
        # A table that stands lower meets it again. What is sent again changes nothing.
        again = tuple(rename for rename in self.names.done if rename.is_at(position))
        known = {(rename.old, rename.new) for rename in again}
        made = [o for o in names.made_by(pairs, position) if (o.old, o.new) not in known]
        moves = {rename.old: rename.new for rename in (*again, *made)}
        gone = {new for _, new in pairs} - self.made
        dropped = {new: self.dropped_at(new, None) for new in gone}
        freed = {new: at for new, at in dropped.items() if at is not None}
        for new in moves.values():
            if new not in moves:
                self.stops.pop(new, None)
        self.renames += made
        self.move(moves)
        self._stop_table_swaps(names, pairs, moves, position)
        self.there |= {old: False for old, _ in pairs} | {new: True for _, new in pairs}
        for name in {name for pair in pairs for name in pair}:
            self._forget(name)
        texts = dict.fromkeys(part.operation.statement for part in opened)
        text = f"{'; '.join(texts)} (at position {position})"
        by = RenamedBy(pairs, text, position, freed)
        left = unexplained(pairs, moves)
        for part, pair in zip(opened, pairs, strict=True):
            if pair in left and not self._came_before(names, pair, position):
                self._stop_renamed(pair, by)
            if part.state is not None:
                self.schemas[part.operation.new] = part.state

    @staticmethod
    def _came_before(names: Renames, pair: tuple[TableName, TableName], position: Position) -> bool:
        """Whether a statement without place is taken for a copy of one that was followed."""
        before = names.followed(*pair)
        is_unplaced = place_of(position) is None
        return is_unplaced and before is not None and not names.is_table_swap(before)

    def _stop_table_swaps(
        self,
        names: Renames,
        pairs: Pairs,
        moves: Mapping[TableName, TableName],
        position: Position,
    ) -> None:
        """Tables of which the file says that they exchange names, and that a statement renames."""
        named = {name for pair in pairs for name in pair}
        for table_swap in names.table_swaps:
            tables = {rename.old for rename in table_swap}
            if not tables & named or tables <= moves.keys():
                continue
            if not all(rename.may_be_at(position) for rename in table_swap):
                continue
            why = (
                f"the file says that {listed(table_swap)} exchange their names (CONTENT_DDL), and "
            )
            if place_of(position) is None:
                why += f"it is unknown whether a statement without place (at {position}) came again"
            else:
                why += f"what was read of the statement at position {position} does otherwise"
            for table in tables:
                self.stops.setdefault(table, DdlStop(why, None, fix=REST))

    def _stop_renamed(self, pair: tuple[TableName, TableName], by: RenamedBy) -> None:
        old, new = pair
        renames = Renames(done=tuple(self.renames))
        swapped = {rename.new for rename in renames.done if renames.is_table_swap(rename)}
        fix = TWICE if swapped & {name for names in by.pairs for name in names} else ""
        why = f"it is called {new} now (CONTENT_DDL): {by.text}"
        self.stops.setdefault(old, DdlStop(why, None, new, by, fix))
        why = f"its rows are those that {old} had (CONTENT_DDL): {by.text}"
        self.stops.setdefault(new, DdlStop(why, None, None, by, fix))

    def move(self, names: Mapping[TableName, TableName]) -> None:
        """What was told of tables is told of them under other names: old -> new, all at once."""
        for known in self._by_table:
            moved = {new: known.pop(old) for old, new in names.items() if old in known}
            for new in names.values():
                known.pop(new, None)
            known |= moved
        for marked in (self.made, self.remade):
            with_mark = {new for old, new in names.items() if old in marked}
            marked -= {*names, *names.values()}
            marked |= with_mark
        stopped = {new: self.stops.pop(old) for old, new in names.items() if old in self.stops}
        for new, stop in stopped.items():
            self.stops.setdefault(new, stop)

    def _key_change(
        self, table: TableName, items: ColumnItems, statement: str, position: Position
    ) -> None:
        if items.key is not None:
            key_change = KeyChange(position, items.key, statement, if_none=items.key_if_none)
            self.key_changes.setdefault(table, []).append(key_change)

    def _comment(self, operation: DdlOperation) -> None:
        """A comment goes with its column, and with each new declaration of it."""
        match operation:
            case CreateTable(table, columns):
                self.comments[table] = {column.name: column.comment for column in columns}
            case AlterColumns(table, items) | CutOver(table, items):
                known = self.comments.setdefault(table, {})
                known |= {new: known.pop(old) for old, new in items.renamed if old in known}
                for name in items.dropped:
                    known.pop(name, None)
                joined = (column for column in items.added if column.name not in items.optional)
                known |= {column.name: column.comment for column in (*joined, *items.changed)}

    def stop(
        self,
        table: TableName | None,
        why: str,
        position: Position,
        *,
        may_be_acknowledged: bool = True,
    ) -> None:
        """A table cannot go on behind the first thing that nobody can follow."""
        if table is not None:
            self.stated_at[table] = position
        acknowledged_at = position if may_be_acknowledged else None
        self.stops.setdefault(table, DdlStop(f"{why} (at position {position})", acknowledged_at))

    def stops_of(self, *, withholds: bool) -> Mapping[TableName | None, DdlStop]:
        """`stops`, also by `unknown_values` unless their columns can be withheld."""
        unknown = () if withholds else self.unknown_values.items()
        return {**dict[TableName | None, DdlStop](unknown), **self.stops}

    def without_changes(self, table: TableName) -> DdlEffects:
        """The same, as if statements had told of ``table`` alone what its columns are now."""
        column_renames = {
            name: known for name, known in self.column_renames.items() if name != table
        }
        changed = {name: known for name, known in self.changed.items() if name != table}
        return replace(self, column_renames=column_renames, changed=changed)

    def without_types(self, table: TableName, columns: Collection[ColumnName]) -> DdlEffects:
        """The same, as if no statement had told the types of ``columns`` of ``table``."""
        types = {
            name: text for name, text in self.types.get(table, {}).items() if name not in columns
        }
        return replace(self, types={**self.types, table: types}) if columns else self

    def column_rename(self, table: TableName, column_rename: StatementChange) -> None:
        """The names of a table's columns change, or must have been certain ones."""
        moves = column_rename.column_rename
        for name, backfill in column_rename.backfills.items():
            if not backfill.is_shown and name not in column_rename.optional:
                why = f"{UNTOLD_BACKFILL.format(name)}: {column_rename.statement}"
                stop = DdlStop(f"{why} (at position {moves.position})", moves.position)
                self.unknown_values.setdefault(table, stop)
                self.stated_at[table] = moves.position
        if moves.renamed or moves.dropped or moves.added or column_rename.had is not None:
            self.column_renames.setdefault(table, []).append(column_rename)

    def _leave_or_come_back(self, operation: DropTable | RestoreTable, position: Position) -> None:
        if isinstance(operation, RestoreTable):
            self.restore(operation, position)
            return
        left = self._left(operation.table, position)
        self.drop(operation.table, position)
        self.left[operation.table] = left

    def recall(self, operation: DdlOperation, position: Position) -> None:
        """A statement of an earlier cut: which tables it leaves dropped, that may come back."""
        for table in tables_of(operation):
            self._forget(table)
        match operation:
            case DropTable(table):
                self.dropped_before[table] = position
            case DropDatabase(name):
                self.dropped_before = {
                    table: at for table, at in self.dropped_before.items() if table.schema != name
                }

    def restore(self, operation: RestoreTable, position: Position) -> None:
        """A dropped table comes back, as it was at its DROP, maybe under another name.

        A target that was kept holds just that. Where another table had the name since, or where the
        source took an older one, no record has the rows; then the table that has them stops. TiDB
        takes the newest one whatever the case of its name, and so each that may be it stops.
        """
        table, name, text = operation.table, operation.name, operation.statement
        left, before = self.left.get(table), self.dropped_before.get(table)
        alike = {gone for gone in (*self.left, *self.dropped_before) if _is_alike(gone, table)}
        self._forget(table)
        is_placed = place_of(position) is not None
        if is_placed and left is not None:
            self._take_back(table, left)
        elif is_placed and before is not None and table.schema not in self.emptied:
            self.restored.setdefault(table, []).append(before)
        else:
            if is_placed and table not in self.there and table.schema not in self.emptied:
                self.unseen_drops.add(table)
            for stopped in {name} | (alike if name == table else set()):
                self.stop(stopped, f"{RESTORED}: {text}", position)
            return
        self.there[table] = True
        if name != table:
            self.rename(RenameTable(table, name, text), position)

    def _forget(self, table: TableName) -> None:
        """Nothing of this name, in whatever case, that went so far is the newest one any more."""
        for gone in (self.left, self.dropped_before):
            for name in [name for name in gone if _is_alike(name, table)]:
                del gone[name]

    def _left(self, table: TableName, position: Position) -> _Left:
        return _Left(
            position,
            self.dropped.get(table),
            self.created.get(table),
            self.cut_overs.get(table),
            table in self.made,
        )

    def _take_back(self, table: TableName, left: _Left) -> None:
        """The table goes on as if it had not been dropped."""
        del self.dropped[table]
        if left.dropped is not None:
            self.dropped[table] = left.dropped
        if left.created is not None:
            self.created[table] = left.created
            self.ended[table] = self.ended[table][:-1]
        if left.cut_over is not None:
            self.cut_overs[table] = left.cut_over
        if left.is_made:
            self.made.add(table)
        self.restored.setdefault(table, []).append(left.position)

    def drop(self, table: TableName, position: Position) -> None:
        """A table goes."""
        self.there[table] = False
        self._forget(table)
        self.made.discard(table)
        made = self.created.pop(table, None)
        if made is not None:
            self.ended.setdefault(table, []).append(made.position)
        self.cut_overs.pop(table, None)
        self.dropped[table] = position

    def drop_all(self, schema: str, position: Position) -> None:
        """A database goes with its tables, also with those of which the cut tells nothing."""
        self.there = {table: at for table, at in self.there.items() if table.schema != schema}
        for table in self.tables:
            if table.schema == schema:
                self.drop(table, position)
        self.emptied[schema] = position

    def begin_cut_over(self, table: TableName, position: Position) -> None:
        """A table goes out of its shadow's way; parts of one statement have no order (MSG-54)."""
        cut_over_at = self.cut_overs.get(table)
        if cut_over_at is None or event_id_of(position) != event_id_of(cut_over_at):
            self.begun_cut_overs[table] = position
            self.there[table] = False

    def cut_over(self, table: TableName, position: Position) -> None:
        """A shadow takes the place of a table; the rows are those that it had."""
        self.begun_cut_overs.pop(table, None)
        self.there[table] = True
        if table not in self.made:
            self.dropped.pop(table, None)
        self.cut_overs[table] = position

    def make(self, table: TableName) -> None:
        """A table is made; one that was dropped is another one, of which nothing was told yet."""
        self.made.add(table)
        self.there[table] = True
        self._forget(table)
        if table in self.begun_cut_overs:
            self.dropped[table] = self.begun_cut_overs.pop(table)
        elif table.schema in self.emptied:
            self.dropped.setdefault(table, self.emptied[table.schema])
        if table not in self.dropped:
            return
        self.remade.add(table)
        for known in (self.types, self.keys, self.column_renames, self.changed, self.schemas):
            known.pop(table, None)
        self.key_changes.pop(table, None)
        self.unknown_values.pop(table, None)
        stop = self.stops.get(table)
        if stop is not None and stop.is_about_rows:
            del self.stops[table]

    def read_again(self, table: TableName) -> None:
        """A snapshot reads all rows of ``table``, which is another one since: the old one ends."""
        described = self.described[table]
        ends_at = below_snapshot(place_of(described.position) or Place(""))
        self.created[table], self.dropped[table] = described, ends_at
        self.made.add(table)
        column_renames, changed = self.column_renames.pop(table, []), self.changed.pop(table, [])
        self.column_renames[table] = [
            s for s in column_renames if s.column_rename.position > ends_at
        ]
        self.changed[table] = [change for change in changed if change.position > ends_at]

    def recreated(self, spec: TableSpec, have: TableSchema | None) -> Created | None:
        """How a table was recreated behind the DROP of the one that ``have`` is the schema of.

        None where it was not, where positions do not tell what came again (POS-11), and of a target
        that keeps more than a mirror.
        """
        table, created = spec.source, self.created.get(spec.source)
        if have is None or created is None or spec.mode is not TargetMode.MIRROR:
            return None
        if place_of(created.position) is None or table in self.begun_cut_overs:
            return None
        return created if self.dropped_at(table, have.dropped_at) is not None else None

    def dropped_at(self, table: TableName, before: Position | None) -> Position | None:
        """Where the table went that bears this name no more.

        before: in an earlier cut, which may have had the DROP of a description alone.
        """
        if before is not None and event_id_of(before) in self.described_at:
            before = None
        if before is not None and self.is_undone(table, before):
            before = None
        if table in self.begun_cut_overs:
            return self.begun_cut_overs[table]
        if table in self.cut_overs and table not in self.made:
            return None
        return self.dropped.get(table, self.emptied.get(table.schema, before))

    def is_undone(self, table: TableName, dropped: Position) -> bool:
        """Whether a statement of the cut brought back what went at ``dropped``."""
        return event_id_of(dropped) in map(event_id_of, self.restored.get(table, ()))

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


def _is_alike(one: TableName, other: TableName) -> bool:
    """Whether the names differ in case at most."""
    is_same_database = one.schema.lower() == other.schema.lower()
    return is_same_database and one.table.lower() == other.table.lower()
