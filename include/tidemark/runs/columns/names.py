"""What statements did to the names of a table's columns, and what stops it (SCHEMA-30)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tidemark.errors import WAITING, TableStoppedError
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.names import ColumnName, TableName, column_name
from tidemark.model.position import Position, place_of, site_of
from tidemark.model.shift import Shift, name_after
from tidemark.runs.ddl.told_columns import ColumnChange, ColumnShift, spelled
from tidemark.schema.alter_items import CHANGES_KEY
from tidemark.schema.ddl_columns import Fill
from tidemark.schema.fills import UnknownFillError, fill_text
from tidemark.spec import TableSpec

_REBUILD = "fold the table into a new target from a new snapshot of the source"


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a table's columns, through all that was followed.

    shifts: of earlier cuts and of this one. fills: columns that joined in this cut, by the names
    that they have after it -> what the rows got that were there, and the statement.
    """

    table: TableName
    shifts: tuple[Shift, ...]
    fresh: tuple[Shift, ...]
    fills: Mapping[ColumnName, tuple[Fill, ColumnShift]]

    def kept(self, have: TableSchema) -> TableSchema:
        """``have`` under the names of now, without the columns that are gone."""
        now = {name: name_after(self.fresh, name, Position("")) for name in have.names}
        columns = ((column, now[column.name]) for column in have.columns)
        return replace(
            have,
            columns=tuple(replace(column, name=name) for column, name in columns if name),
            key=tuple(name for name in (now[name] for name in have.key) if name),
        )

    def renamed(self, records: Sequence[RecordSchema]) -> list[RecordSchema]:
        """What ``records`` tell, under the names of now (SCHEMA-4)."""
        return [self._renamed(record) for record in records]

    def _renamed(self, record: RecordSchema) -> RecordSchema:
        def now(name: str) -> ColumnName | None:
            return name_after(self.shifts, column_name(name), record.position)

        fields = ((field, now(field["field"])) for field in record.fields)
        types = ((now(name), text) for name, text in record.types.items())
        return replace(
            record,
            fields=tuple({**field, "field": name} for field, name in fields if name),
            types={name: text for name, text in types if name},
            key=tuple(name for name in map(now, record.key) if name),
            kinds={name: kind for n, kind in record.kinds.items() if (name := now(n))},
        )

    def changed(self, changes: Sequence[ColumnChange]) -> list[ColumnChange]:
        """``changes`` under the names of now, without those of columns that are gone."""
        found = []
        for change in changes:
            later = [shift for shift in self.shifts if shift.position > change.position]
            name = name_after(later, change.name, change.position)
            if name is not None:
                found.append(replace(change, name=name))
        return found

    def fill(self, column: SourceColumn, told: str) -> SourceColumn:
        """``column`` with what older rows hold in it; told: its type by the statement.

        Raises TableStoppedError where that cannot be told (SCHEMA-14).
        """
        fill, shift = self.fills[column.name]
        try:
            return replace(column, fill=fill_text(replace(column, source_type=told), fill))
        except UnknownFillError as error:
            why = f"the rows that are there get a value in {column.name}, and {error}"
            raise _stopped(self.table, shift, why) from error


def refuse_untold(
    spec: TableSpec, told: Collection[ColumnName], records: Sequence[RecordSchema]
) -> None:
    """Raise where ``records`` have columns of which a statement must tell that was not read yet.

    told: columns that statements told. A record with a schema of its own tells a column that joins,
    but not what became of one that it lacks.
    """
    for record in records:
        names = {column_name(name) for name in _names_of(record)} or {
            *map(column_name, record.kinds)
        }
        unknown, lacking = sorted(names - set(told)), sorted(set(told) - names)
        if unknown and (lacking or record.kinds):
            raise TableStoppedError(
                f"records of {spec.source} have a column {unknown[0]} (at position "
                f"{record.position}), and the schema change that made it was not read yet",
                state=WAITING,
                next_step="nothing to do, if the next run finds the schema change; otherwise look "
                "whether the topic of schema changes is complete",
            )


def follow_names(
    spec: TableSpec,
    have: TableSchema | None,
    shifts: Sequence[ColumnShift],
    records: Sequence[RecordSchema],
    key: Sequence[ColumnName],
) -> Names:
    """Judge ``shifts``, each against the columns that were there before it.

    What ``have`` was already changed by is not judged again. A statement may write a name in
    another case; ``records`` tell how columns are written where there is no target yet. key: that
    statements of the cut told. Raises TableStoppedError for what cannot be followed.
    """
    earlier = have.shifts if have is not None else ()
    present = set(have.names if have else ())
    told = {column_name(name) for record in records for name in _names_of(record)} | present
    keys = {*(have.key if have else key), *spec.key}
    fresh: list[Shift] = []
    fills: dict[ColumnName, tuple[Fill, ColumnShift]] = {}
    for statement in shifts:
        followed = (*earlier, *fresh)
        if _is_followed(statement.shift.position, earlier):
            continue
        shift = _spelled(statement, present, told)
        if have is not None:
            _refuse_other(spec.source, statement, present)
        _judge(spec.source, statement, shift, present if have is not None else None, keys)
        _refuse_repeated(spec.source, statement, shift, followed, present)
        present = {name for name in map(shift.after, present) if name} | set(shift.added)
        keys = {name for name in map(shift.after, keys) if name}
        fills = {now: fill for name, fill in fills.items() if (now := shift.after(name))}
        fills |= {
            name: (f, statement) for name, f in statement.fills.items() if name in shift.added
        }
        fresh.append(shift)
    names = Names(spec.source, (*earlier, *fresh), tuple(fresh), fills)
    _refuse_stale(spec, fresh, present)
    return names


def _is_followed(position: Position, shifts: Sequence[Shift]) -> bool:
    """Whether a statement at ``position`` is a copy of one that was followed (SCHEMA-25)."""
    site = site_of(position)
    return any(position <= shift.position or site == site_of(shift.position) for shift in shifts)


def _refuse_other(
    table: TableName, statement: ColumnShift, present: Collection[ColumnName]
) -> None:
    """Raise where a table came from elsewhere than from this one, as it has other columns."""
    had = {name.lower() for name in statement.had or present}
    other = sorted(had.symmetric_difference(name.lower() for name in present))
    if other:
        why = f"another table takes its place, which was not made like it (column {other[0]})"
        raise _stopped(table, statement, why)


def _refuse_repeated(
    table: TableName,
    statement: ColumnShift,
    shift: Shift,
    followed: Sequence[Shift],
    present: Collection[ColumnName],
) -> None:
    """Raise where a copy cannot be told from another statement, and one of them moves values.

    Without positions what is sent again stands higher. A rename of a column that is not there any
    more is such a copy and does nothing; one that is there may be either.
    """
    if place_of(statement.shift.position) is not None:
        return
    known = {pair for earlier in followed for pair in earlier.renamed}
    again = sorted(pair for pair in shift.renamed if pair in known and pair[0] in present)
    if again:
        old, new = again[0]
        why = f"{old} was renamed to {new} before, and nothing tells whether this was sent again"
        raise _stopped(table, statement, why)


def _names_of(record: RecordSchema) -> list[str]:
    return [*(field["field"] for field in record.fields), *record.types]


def _spelled(
    statement: ColumnShift, present: Collection[ColumnName], told: Collection[ColumnName]
) -> Shift:
    """The shift with names as the columns have them, less what changes nothing."""

    def known(name: ColumnName) -> ColumnName:
        return spelled(present, spelled(told, name))

    shift = statement.shift
    renamed = ((known(old), new) for old, new in shift.renamed)
    there = {name.lower() for name in present}
    return Shift(
        shift.position,
        tuple((old, new) for old, new in renamed if old != new),
        tuple(map(known, shift.dropped)),
        tuple(n for n in shift.added if n not in statement.optional or n.lower() not in there),
    )


def _judge(
    table: TableName,
    statement: ColumnShift,
    shift: Shift,
    present: Collection[ColumnName] | None,
    keys: Collection[ColumnName],
) -> None:
    """Raise for what cannot be followed; present: None where the columns are not known."""
    gone_keys = sorted(set(shift.dropped) & set(keys))
    if gone_keys:
        raise _stopped(table, statement, f"{CHANGES_KEY}: column {gone_keys[0]} is part of it")
    stay = {name.lower() for name in map(shift.after, present or ()) if name}
    for old, new in shift.renamed:
        if old.lower() == new.lower():
            why = f"it renames column {old} in case alone, which no reader can tell apart"
            raise _stopped(table, statement, why)
        if present is None:
            continue
        if old not in present and new.lower() not in stay:
            raise _stopped(table, statement, f"it renames column {old}, which is not known")
        takers = [name for name in present if shift.after(name) == new]
        if len(takers) > 1:
            why = f"it renames column {old} to {new}, and records told of {new} before"
            raise _stopped(table, statement, why)


def _refuse_stale(
    spec: TableSpec, shifts: Sequence[Shift], present: Collection[ColumnName]
) -> None:
    """Raise where the file still names a column as it was called before."""
    rules = spec.target_columns.rules
    laid_out = {*spec.layout.columns} - {name for _, name in rules.renamed}
    named = {*spec.columns, *spec.key, *rules.columns, *laid_out}
    for shift in shifts:
        moved = {*shift.dropped, *(old for old, _ in shift.renamed)}
        stale = sorted((named & moved) - set(present))
        if not stale:
            continue
        now = name_after(shifts, stale[0], shift.position)
        became = f"is called {now} now" if now else "is gone"
        raise TableStoppedError(
            f"{spec.source} cannot be followed: its column {stale[0]}, which the file names, "
            f"{became} (at position {shift.position})",
            state=WAITING,
            next_step=f"write {now} for {stale[0]} in what the file says of {spec.source}"
            if now
            else f"take {stale[0]} out of what the file says of {spec.source}",
        )


def _stopped(table: TableName, statement: ColumnShift, why: str) -> TableStoppedError:
    return TableStoppedError(
        f"{table} cannot be followed: {why}: {statement.statement} "
        f"(at position {statement.shift.position})",
        state=WAITING,
        next_step=_REBUILD,
    )
