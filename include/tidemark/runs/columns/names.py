"""What statements did to the names of a table's columns, and what stops it (SCHEMA-30)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidemark.errors import WAITING, RowsUnknownError, TableStoppedError
from tidemark.formats.record_schema import RecordSchema
from tidemark.model.column_rename import ColumnRename, Fill, name_after, without_empty
from tidemark.model.columns import SourceColumn, TableSchema
from tidemark.model.names import ColumnName, TableName, column_name
from tidemark.model.position import Position, event_id_of, place_of
from tidemark.runs.ddl.column_changes import ColumnChange, StatementChange, aliased
from tidemark.schema.alter_items import CHANGES_KEY
from tidemark.schema.backfills import UnknownBackfillError, backfill_text
from tidemark.schema.ddl_columns import DefaultBackfill
from tidemark.spec import TableSpec

_REBUILD = "fold the table into a new target from a new snapshot of the source"


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a table's columns, through all that was followed.

    column_renames: of earlier cuts and of this one. backfills: columns that joined in this cut, by
    the names that they have after it -> what the rows got that were there, and the statement.
    fills: likewise of columns that joined in an earlier one, and where. void: columns that were to
    join unless they were there, and were.
    """

    table: TableName
    column_renames: tuple[ColumnRename, ...]
    fresh: tuple[ColumnRename, ...]
    backfills: Mapping[ColumnName, tuple[DefaultBackfill, StatementChange]]
    fills: Mapping[ColumnName, tuple[Fill, Position]] = field(default_factory=dict)
    void: frozenset[ColumnName] = frozenset()

    def remaining(self, have: TableSchema) -> TableSchema:
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
            return name_after(self.column_renames, column_name(name), record.position)

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
        remaining = []
        for change in changes:
            later = [
                column_rename
                for column_rename in self.column_renames
                if column_rename.position > change.position
            ]
            name = name_after(later, change.name, change.position)
            if name is not None:
                remaining.append(replace(change, name=name))
        return remaining

    def with_implied_moments(self, moments: Collection[ColumnName], *, are_null: bool) -> Names:
        """The same, where columns that may hold the time of their statement are null, or unknown.

        moments: every TIMESTAMP that was there. are_null: the source has no such implied values.
        One that joins behind another column than a TIMESTAMP may be the first one of its table.
        """
        places = {None, *(name.lower() for name in moments)} if moments else set()

        def is_null(fill: DefaultBackfill) -> bool:
            behind = fill.behind and fill.behind.lower()
            return fill.may_be_now and (are_null or behind in places)

        backfills = {
            name: (fill._replace(is_unknown=True) if fill.may_be_now else fill, statement)
            for name, (fill, statement) in self.backfills.items()
            if not is_null(fill)
        }
        return replace(self, backfills=backfills)

    def filled(self, column: SourceColumn, *, may_withhold: bool) -> SourceColumn:
        """``column``, which a record shows first, with what rows got by a statement of before.

        It is withheld, or TableStoppedError is raised, where nothing shows that.
        """
        fill, position = self.fills[column.name]
        declared = replace(column, source_type=fill.type_text)
        backfill = DefaultBackfill(fill.text, is_output=True, is_unknown=fill.text is None)
        try:
            return replace(column, backfill=backfill_text(declared, backfill))
        except UnknownBackfillError as error:
            if may_withhold:
                return replace(column, unknown_below=position, is_withheld=True)
            raise RowsUnknownError(
                f"{self.table} cannot be followed: the rows that are there get a value in "
                f"{column.name}, and {error} (at position {position})",
                state=WAITING,
                next_step=_REBUILD,
            ) from error

    def backfill(self, column: SourceColumn, type_text: str, *, may_withhold: bool) -> SourceColumn:
        """``column`` with what older rows hold in it (SCHEMA-14).

        type_text: its type by the statement. Where nothing shows what they hold, it is withheld, or
        TableStoppedError is raised.
        """
        backfill, column_rename = self.backfills[column.name]
        try:
            return replace(
                column, backfill=backfill_text(replace(column, source_type=type_text), backfill)
            )
        except UnknownBackfillError as error:
            if may_withhold:
                below = column_rename.column_rename.position
                return replace(column, unknown_below=below, is_withheld=True)
            why = f"the rows that are there get a value in {column.name}, and {error}"
            raise _stopped(self.table, column_rename, why) from error


def refuse_unread_names(
    spec: TableSpec, known: Collection[ColumnName], records: Sequence[RecordSchema]
) -> None:
    """Raise where ``records`` have columns of which a statement must tell that was not read yet.

    known: columns that statements told. A record with a schema of its own tells a column that
    joins, but not what became of one that it lacks.
    """
    for record in records:
        names = {column_name(name) for name in _names_of(record)} or {
            *map(column_name, record.kinds)
        }
        unknown, lacking = sorted(names - set(known)), sorted(set(known) - names)
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
    column_renames: Sequence[StatementChange],
    records: Sequence[RecordSchema],
    key: Sequence[ColumnName],
) -> Names:
    """Judge ``column_renames``, each against the columns that were there before it.

    What ``have`` was already changed by is not judged again. A statement may write a name in
    another case; ``records`` tell how columns are written where there is no target yet. key: that
    statements of the cut told. Raises TableStoppedError for what cannot be followed.
    """
    earlier = have.column_renames if have is not None else ()
    present = {*(have.names if have else ()), *_added_before(earlier)}
    column_names = {column_name(name) for record in records for name in _names_of(record)} | present
    keys = {*(have.key if have else key), *spec.key}
    fresh: list[ColumnRename] = []
    void: set[ColumnName] = set()
    backfills: dict[ColumnName, tuple[DefaultBackfill, StatementChange]] = {}
    for statement in column_renames:
        before = (*earlier, *fresh)
        if _is_followed(statement.column_rename.position, earlier):
            continue
        below = _names_below(records, statement.column_rename.position)
        column_rename = _aliased(statement, present, column_names, below)
        if have is not None:
            _refuse_other(spec.source, statement, present)
        _judge(spec.source, statement, column_rename, present if have is not None else None, keys)
        _refuse_repeated(spec.source, statement, column_rename, before, present)
        present = {name for name in map(column_rename.after, present) if name} | set(
            column_rename.added
        )
        keys = {name for name in map(column_rename.after, keys) if name}
        backfills = {
            now: backfill
            for name, backfill in backfills.items()
            if (now := column_rename.after(name))
        }
        backfills |= {
            name: (f, statement)
            for name, f in statement.backfills.items()
            if name in column_rename.added
        }
        void = (void | statement.optional) - {*column_rename.added}
        fresh.append(replace(column_rename, fills=tuple(_fills(statement, column_rename))))
    followed = without_empty([*earlier, *fresh]) if fresh else tuple(earlier)
    names = Names(
        *(spec.source, followed, tuple(fresh), backfills),
        *(_fills_now(earlier, fresh), frozenset(void)),
    )
    _refuse_stale(spec, fresh, present)
    return names


def _fills(statement: StatementChange, column_rename: ColumnRename) -> Iterator[Fill]:
    """What is to be known once records show the columns, where no statement shows more of them."""
    for name, backfill in statement.backfills.items():
        if name in column_rename.added and (backfill.is_output or backfill.is_unknown):
            text = None if backfill.is_unknown else backfill.text
            yield Fill(name, statement.types[name], text)


def _fills_now(
    earlier: Sequence[ColumnRename], fresh: Sequence[ColumnRename]
) -> dict[ColumnName, tuple[Fill, Position]]:
    """What ``earlier`` statements filled, by the columns' names of now."""
    renames = [*earlier, *fresh]
    filled = ((n, fill) for n, rename in enumerate(earlier) for fill in rename.fills)
    return {
        now: (fill, earlier[number].position)
        for number, fill in filled
        if (now := name_after(renames[number + 1 :], fill.name, Position(""))) is not None
    }


def _added_before(earlier: Sequence[ColumnRename]) -> Iterator[ColumnName]:
    """Columns that joined, by their names of now; the target has none that no record showed yet."""
    for number, rename in enumerate(earlier):
        for name in rename.added:
            now = name_after(earlier[number + 1 :], name, Position(""))
            if now is not None:
                yield now


def _is_followed(position: Position, column_renames: Sequence[ColumnRename]) -> bool:
    """Whether a statement at ``position`` is a copy of one that was followed (SCHEMA-25)."""
    event_id = event_id_of(position)
    return any(
        position <= column_rename.position or event_id == event_id_of(column_rename.position)
        for column_rename in column_renames
    )


def _refuse_other(
    table: TableName, statement: StatementChange, present: Collection[ColumnName]
) -> None:
    """Raise where a table came from elsewhere than from this one, as it has other columns."""
    had = {name.lower() for name in statement.had or present}
    other = sorted(had.symmetric_difference(name.lower() for name in present))
    if other:
        why = f"another table takes its place, which was not made like it (column {other[0]})"
        raise _stopped(table, statement, why)


def _refuse_repeated(
    table: TableName,
    statement: StatementChange,
    column_rename: ColumnRename,
    followed: Sequence[ColumnRename],
    present: Collection[ColumnName],
) -> None:
    """Raise where a copy cannot be told from another statement, and one of them moves values.

    Without positions what is sent again stands higher. A rename of a column that is not there any
    more is such a copy and does nothing; one that is there may be either.
    """
    if place_of(statement.column_rename.position) is not None:
        return
    known = {pair for earlier in followed for pair in earlier.renamed}
    again = sorted(pair for pair in column_rename.renamed if pair in known and pair[0] in present)
    if again:
        old, new = again[0]
        why = f"{old} was renamed to {new} before, and it is unknown whether this was sent again"
        raise _stopped(table, statement, why)


def _names_of(record: RecordSchema) -> list[str]:
    return [*(field["field"] for field in record.fields), *record.types]


def _names_below(records: Sequence[RecordSchema], position: Position) -> frozenset[str]:
    """The columns of records that stand below a statement, in small letters."""
    older = (record for record in records if record.position and record.position <= position)
    return frozenset(name.lower() for record in older for name in _names_of(record))


def _aliased(
    statement: StatementChange,
    present: Collection[ColumnName],
    column_names: Collection[ColumnName],
    below: Collection[str],
) -> ColumnRename:
    """The shift with names as the columns have them, less what changes nothing.

    present: columns that are known to be there. below: those of records below the statement.
    """

    def known(name: ColumnName) -> ColumnName:
        return aliased(present, aliased(column_names, name))

    column_rename = statement.column_rename
    there = {name.lower() for name in present}
    renamed = (
        (known(old), new)
        for old, new in column_rename.renamed
        if old not in statement.if_present or not there or old.lower() in {*there, *below}
    )
    return ColumnRename(
        column_rename.position,
        tuple((old, new) for old, new in renamed if old != new),
        tuple(map(known, column_rename.dropped)),
        tuple(
            n for n in column_rename.added if n not in statement.optional or n.lower() not in there
        ),
    )


def _judge(
    table: TableName,
    statement: StatementChange,
    column_rename: ColumnRename,
    present: Collection[ColumnName] | None,
    keys: Collection[ColumnName],
) -> None:
    """Raise for what cannot be followed; present: None where the columns are not known."""
    gone_keys = sorted(set(column_rename.dropped) & set(keys))
    if gone_keys:
        raise _stopped(table, statement, f"{CHANGES_KEY}: column {gone_keys[0]} is part of it")
    stay = {name.lower() for name in map(column_rename.after, present or ()) if name}
    for old, new in column_rename.renamed:
        if old.lower() == new.lower():
            why = f"it renames column {old} in case alone, which no reader can tell apart"
            raise _stopped(table, statement, why)
        if present is None:
            continue
        if old not in present and new.lower() not in stay:
            raise _stopped(table, statement, f"it renames column {old}, which is not known")
        takers = [name for name in present if column_rename.after(name) == new]
        if len(takers) > 1:
            why = f"it renames column {old} to {new}, and records told of {new} before"
            raise _stopped(table, statement, why)


def _refuse_stale(
    spec: TableSpec, column_renames: Sequence[ColumnRename], present: Collection[ColumnName]
) -> None:
    """Raise where the file still names a column as it was called before."""
    rules = spec.target_columns.rules
    laid_out = {*spec.layout.columns} - {name for _, name in rules.renamed}
    named = {*spec.columns, *spec.key, *rules.columns, *laid_out}
    for column_rename in column_renames:
        moved = {*column_rename.dropped, *(old for old, _ in column_rename.renamed)}
        stale = sorted((named & moved) - set(present))
        if not stale:
            continue
        now = name_after(column_renames, stale[0], column_rename.position)
        became = f"is called {now} now" if now else "is gone"
        raise TableStoppedError(
            f"{spec.source} cannot be followed: its column {stale[0]}, which the file names, "
            f"{became} (at position {column_rename.position})",
            state=WAITING,
            next_step=f"write {now} for {stale[0]} in what the file says of {spec.source}"
            if now
            else f"take {stale[0]} out of what the file says of {spec.source}",
        )


def _stopped(table: TableName, statement: StatementChange, why: str) -> RowsUnknownError:
    return RowsUnknownError(
        f"{table} cannot be followed: {why}: {statement.statement} "
        f"(at position {statement.column_rename.position})",
        state=WAITING,
        next_step=_REBUILD,
    )
