"""Two schemas of a table to the changes that lead from one to the other (semantics 8.2).

Creation, columns that join, go or take another name, Iceberg's type promotions, and types into
which rows are cast; any other change of a type stops the table. What is planned is staged with the
cut's rows, and shows with them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from tidemark.errors import REFOLD, WAITING, RowsUnknownError, TableStoppedError
from tidemark.model.column_rename import ColumnRename, name_after
from tidemark.model.column_rules import Mask
from tidemark.model.columns import ARRAY, ROW, SourceColumn, TableSchema, ValueEncoding
from tidemark.model.layout import Layout, PartitionField
from tidemark.model.names import ColumnName
from tidemark.model.position import Position
from tidemark.model.target_mode import TargetMode
from tidemark.schema.rewrites import is_rewrite, is_rewritten

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_ROW = SourceColumn(ColumnName(ROW), "string", ValueEncoding.TEXT, "")
"""What tells rows without a key apart; no column of the source."""
ICEBERG_OWN = frozenset(
    ("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id")
    + ("_last_updated_sequence_number",)
)
"""Columns of files and rows that a scan gives when they are named."""
_NEXT = "rebuild the target from a new snapshot of the source table"
_PROMOTIONS = {("int", "bigint"), ("float", "double")}


@dataclass(frozen=True, slots=True)
class CreateTarget:
    """The table does not exist yet."""

    schema: TableSchema


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A new optional column; rows that are there hold null in it."""

    column: SourceColumn


@dataclass(frozen=True, slots=True)
class WidenColumn:
    """A column takes a wider type, into which every value goes as it is."""

    column: SourceColumn
    was: str


@dataclass(frozen=True, slots=True)
class RewriteColumn:
    """A column takes a type that Iceberg does not promote it to: every row is rewritten.

    was: its type before; called: its name before.
    """

    column: SourceColumn
    was: str
    called: ColumnName


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """A column takes another name and stays what it is; changes of one cut happen at once."""

    was: ColumnName
    name: ColumnName


@dataclass(frozen=True, slots=True)
class DropColumn:
    """A column goes; files and snapshots that hold it stay as they are."""

    name: ColumnName


@dataclass(frozen=True, slots=True)
class ChangeKey:
    """Other columns tell the rows apart. free: those that did, and may hold null from now on."""

    key: tuple[ColumnName, ...]
    free: tuple[ColumnName, ...]


@dataclass(frozen=True, slots=True)
class BackfillColumn:
    """Rows at and below a position get ``value``, as text, in a column that joined (SCHEMA-14)."""

    column: SourceColumn
    value: str
    below: Position


@dataclass(frozen=True, slots=True)
class ChangeLayout:
    """New files are laid out as declared; those that are there stay as they are.

    gone: partition fields that end, by the column names of before; joined: those that begin.
    was_sorted: whether files had a sort order.
    """

    layout: Layout
    gone: tuple[PartitionField, ...]
    joined: tuple[PartitionField, ...]
    was_sorted: bool


SchemaChange = (
    CreateTarget
    | RenameColumn
    | DropColumn
    | AddColumn
    | WidenColumn
    | RewriteColumn
    | ChangeKey
    | BackfillColumn
    | ChangeLayout
)

DECLARED = (CreateTarget, ChangeLayout)
"""What the pipeline file orders, whatever the source does."""

ADDITIVE = (*DECLARED, AddColumn, WidenColumn, RewriteColumn, BackfillColumn)


def is_widening(narrow: str, wide: str) -> bool:
    """Whether Iceberg promotes the type ``narrow`` to the other type ``wide``.

    >>> is_widening("decimal(10,2)", "decimal(12,2)"), is_widening("array<int>", "array<bigint>")
    (True, True)
    """
    if narrow.startswith(ARRAY) and wide.startswith(ARRAY):
        return is_widening(*(kind.removeprefix(ARRAY).removesuffix(">") for kind in (narrow, wide)))
    if (narrow, wide) in _PROMOTIONS:
        return True
    before, after = _DECIMAL.fullmatch(narrow), _DECIMAL.fullmatch(wide)
    if before is None or after is None:
        return False
    return before[2] == after[2] and int(before[1]) < int(after[1])


def is_followed(was: str, now: str) -> bool:
    """Whether rows of the type ``was`` can get the other type ``now``, and are the same."""
    return is_widening(was, now) or is_rewrite(was, now)


def plan_changes(
    have: TableSchema | None, want: TableSchema, *, is_empty: bool = False
) -> tuple[SchemaChange, ...]:
    """What turns ``have`` into ``want``, in source order; names are those of ``want``.

    What became of the names of ``have`` tell the shifts that ``want`` has beyond its own. is_empty:
    no row of before stays, so that the table may get its first key, or lose it.
    Raises TableStoppedError for names that differ in case alone, for a key that no statement gave
    or that holds a map, and for another type into which Iceberg neither promotes nor casts what is
    there.
    """
    _refuse_maps(want.in_target)
    if have is None:
        _refuse_collisions(want.in_target)
        return (CreateTarget(want.in_target),)
    fresh = [rename for rename in want.column_renames if rename not in have.column_renames]
    names = _target_names(have, want, fresh)
    moves: list[SchemaChange] = []
    present: list[SourceColumn] = []
    for column in have.in_target.columns:
        now = names[column.name]
        if now is None:
            moves.append(DropColumn(column.name))
            continue
        if now != column.name:
            moves.append(RenameColumn(column.name, now))
        present.append(replace(column, name=now))
    if want.key and not have.key:
        if not is_empty:
            raise _stopped(
                f"rows were told apart by all columns, and now the key is {list(want.key)}"
            )
        if want.row_key == want.key:
            moves.append(DropColumn(ColumnName(ROW)))
    if is_empty and have.row_key == have.key and want.row_key != want.key:
        moves.append(AddColumn(_ROW))
    key = tuple(names[name] or name for name in have.in_target.key)
    target = want.in_target
    if want.key_changed_at != have.key_changed_at:
        is_bound = have.row_key == have.key
        stay = [name for name in map(names.__getitem__, have.in_target.key) if name]
        free = tuple(name for name in stay if is_bound and name not in target.key)
        moves.append(ChangeKey(target.key, free))
        key = ()
    _refuse_collisions(merge_schemas((TableSchema(tuple(present), key), target)))
    called = {now: was for was, now in names.items() if now}
    types = {column.name: column for column in present}
    changed = _joined(types, target)
    rewritten = (
        RewriteColumn(column, was.stored, called[column.name])
        for column in target.columns
        if (was := types.get(column.name)) is not None and _is_rewritten(was, column, target)
    )
    return (
        *moves,
        *changed,
        *rewritten,
        *_filled(types, target),
        *_laid_out(have, want, names),
    )


def _target_names(
    have: TableSchema, want: TableSchema, fresh: Sequence[ColumnRename]
) -> dict[ColumnName, ColumnName | None]:
    """The target's columns by the names of now -> by those of ``want``; None for those that go.

    Raises TableStoppedError where a rule would have values that the target does not hold.
    """
    names: dict[ColumnName, ColumnName | None] = {}
    for name in have.names:
        now = name_after(fresh, name, Position(""))
        target, wanted = have.target_name(name), want.target_name(now) if now else None
        if target is None and wanted is not None:
            raise _stopped(f"column {now} was left out so far, so its older values are not there")
        if target is None:
            continue
        names[target] = wanted
        if now and wanted and have.rules.mask(name) is not want.rules.mask(now):
            raise _stopped(
                f"column {now} is to be hashed or redacted otherwise than its older values"
            )
    return names


def describe(change: SchemaChange) -> str:
    """``change`` in words."""
    match change:
        case CreateTarget(schema):
            key = f"key {', '.join(schema.key)}" if schema.key else "no key"
            return f"new, {len(schema.columns)} columns, {key}"
        case AddColumn(column):
            return f"add {column.name} {column.stored}"
        case WidenColumn(column, was):
            return f"widen {column.name} {was} to {column.stored}"
        case RewriteColumn(column, was):
            kind = column.stored if column.stored != was else column.source_type
            return f"rewrite {column.name} {was} to {kind}"
        case RenameColumn(was, name):
            return f"rename {was} to {name}"
        case DropColumn(name):
            return f"drop {name}"
        case ChangeKey(key):
            return f"key {', '.join(key)}"
        case ChangeLayout(layout):
            return f"lay out new files {layout}"
        case BackfillColumn(column, value, _):
            return f"fill {column.name} with {value!r} in older rows"


def _joined(there: Mapping[ColumnName, SourceColumn], want: TableSchema) -> list[SchemaChange]:
    """there: the columns of before, by their names of now."""
    changes: list[SchemaChange] = []
    for column in want.columns:
        was = there.get(column.name)
        if was is None:
            changes.append(AddColumn(column))
        elif is_widening(was.stored, column.stored):
            changes.append(WidenColumn(column, was.stored))
    return changes


def _is_rewritten(was: SourceColumn, column: SourceColumn, want: TableSchema) -> bool:
    """Raises TableStoppedError for what cannot be: of rows that ended no record comes any more.

    Hashes tell no values.
    """
    if not is_rewritten(was, column):
        return False
    kinds = f"column {column.name} changed from {was.source_type} to {column.source_type}"
    if column.name in want.key and want.mode is not TargetMode.MIRROR:
        raise _stopped(f"{kinds}, and mode {want.mode} keeps what became of rows by it")
    if column.mask is Mask.HASH and column.iceberg != "string":
        raise _stopped(f"{kinds}, and the target has hashes of what its values were")
    return was.stored != column.stored or column.mask is None


def _filled(there: Collection[ColumnName], want: TableSchema) -> list[SchemaChange]:
    """there: the columns of before, by their names of now.

    One that joins now may have been added by a statement of an earlier cut, and a record shows it.
    """
    return [
        BackfillColumn(column, column.backfill, since)
        for column in want.columns
        if column.name not in there
        and column.backfill is not None
        and (since := want.column_alias(column.name).since) is not None
    ]


def _laid_out(
    have: TableSchema, want: TableSchema, names: Mapping[ColumnName, ColumnName | None]
) -> list[SchemaChange]:
    """Iceberg's partition fields and sort order follow the names of their columns by themselves."""
    fields = {field: names[field.column] for field in have.layout.partition}
    there = {field: replace(field, column=name) for field, name in fields.items() if name}
    wanted = want.layout.partition
    gone = tuple(field for field in fields if there.get(field) not in wanted)
    joined = tuple(field for field in wanted if field not in there.values())
    if not gone and not joined and tuple(map(names.get, have.layout.sort)) == want.layout.sort:
        return []
    return [ChangeLayout(want.layout, gone, joined, bool(have.layout.sort))]


def merge_schemas(versions: Sequence[TableSchema]) -> TableSchema:
    """Every column of ``versions``, oldest first; of two types of a column the wider one holds.

    A version without key takes the key of the others; the order of its columns is that of the
    oldest. Raises TableStoppedError where two versions
    do not fit into one table.
    """
    return reduce(_merge, versions)


def _merge(old: TableSchema, new: TableSchema) -> TableSchema:
    if old.key and new.key and set(old.key) != set(new.key):
        raise TableStoppedError(
            f"the key changed from {list(old.key)} to {list(new.key)}, and no statement was read "
            "that says where (KEY_MISMATCH)",
            state=WAITING,
            next_step="nothing to do, if the next run finds the statement; PostgreSQL tells none, "
            "nor does a connector with another message.key.columns: if the columns of the old key "
            "still identify rows, name them in key: of the table; if the pipeline file gives it "
            f"another key than before, {REFOLD}; else fold it into a new target from a new "
            "snapshot of the source",
        )
    columns = {column.name: column for column in old.columns}
    for column in new.columns:
        before = columns.get(column.name)
        if before is None or not is_widening(column.iceberg, before.iceberg):
            columns[column.name] = column if before is None else _newer(before, column)
    return TableSchema(tuple(columns.values()), old.key or new.key)


def _newer(before: SourceColumn, column: SourceColumn) -> SourceColumn:
    if before.iceberg != column.iceberg and not is_followed(before.iceberg, column.iceberg):
        raise _unknown(
            f"column {column.name} changed from {before.source_type} ({before.iceberg}) "
            f"to {column.source_type} ({column.iceberg}), which Iceberg cannot promote"
        )
    fewer, more = sorted((before, column), key=lambda known: (len(known.labels), known.bits))
    if more.labels[: len(fewer.labels)] != fewer.labels:
        raise _unknown(
            f"column {column.name} changed from {before.source_type} to {column.source_type}: "
            "labels were not only appended, so that numbers changed their meaning (SCHEMA-17)"
        )
    return more


def _refuse_collisions(schema: TableSchema) -> None:
    seen: dict[str, str] = {}
    for name in schema.names:
        if name.lower() in ICEBERG_OWN:
            raise TableStoppedError(
                f"the column {name} is called as Iceberg calls one that every table has beside its "
                "own, and no engine reads both (COLUMN_COLLISION)",
                state=WAITING,
                next_step="give it another name, or leave it out: target-columns: of the table in "
                "the pipeline file",
            )
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise TableStoppedError(
                f"the columns {other} and {name} differ in case alone (COLUMN_COLLISION)",
                state=WAITING,
                next_step="give one of them another name, or leave it out: target-columns: of the "
                "table in the pipeline file",
            )


def _refuse_maps(schema: TableSchema) -> None:
    """Raise where rows are to be found by a map: no engine compares two of them."""
    maps = [name for name in schema.key if schema[name].stored.startswith("map<")]
    if maps and schema.row_key == schema.key:
        raise TableStoppedError(
            f"the key {list(schema.key)} holds a map, {maps[0]}, and rows cannot be found by it",
            state=WAITING,
            next_step="name other columns that tell the rows apart, in key: of the table in the "
            "pipeline file; without such, fold the table with a new pipeline whose connector has "
            "hstore.handling.mode=json",
        )


def _stopped(what: str) -> TableStoppedError:
    return TableStoppedError(what, state=WAITING, next_step=REFOLD)


def _unknown(what: str) -> RowsUnknownError:
    return RowsUnknownError(what, state=WAITING, next_step=_NEXT)
