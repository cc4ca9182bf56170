"""Publication in a catalog that is an SQL database.

One database transaction gives several tables other metadata files: all of them, or none. This uses
private calls of pyiceberg (`_update_and_stage_table`, `_write_metadata`, `_delete_old_metadata`),
as pyiceberg 0.12 commits one table at a time; tests/unit/lake/test_refs.py holds what they must do.

What is known afterwards is told by the error: only a transaction that never asked to COMMIT is
known to have changed nothing. One that did may be finished by the database after its client gave
up, so that nothing may be deleted then (PUB-5, docs/adr/0003).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.table import StagedTable
from sqlalchemy import ColumnElement, delete, update
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session

from tidemark.errors import (
    UNCHANGED,
    CatalogUnreachableError,
    OutcomeUnknownError,
    SupersededError,
    TidemarkError,
)
from tidemark.lake.catalog import TableId
from tidemark.lake.due import Due
from tidemark.lake.fork_metadata import remove_metadata_files
from tidemark.lake.refs import Displaced
from tidemark.model.names import SYSTEM_PREFIX


@dataclass(frozen=True, slots=True)
class Entry:
    """A table in the catalog, and the place of its current metadata file."""

    table: TableId
    location: str


@dataclass(frozen=True, slots=True)
class Swap:
    """Have ``before`` stand at ``after``; ``gone``: an entry that goes in the same step.

    to: the name that the table gets, None where it keeps its own. Tables may exchange their names.
    displaced: who has that name until then, unless another swap gives that table a new one.
    """

    before: Entry
    after: str
    gone: Entry | None = None
    to: TableId | None = None
    displaced: Displaced | None = None


class SqlPublication:
    """Moves that one transaction makes; each has its file of metadata once this is made."""

    def __init__(self, catalog: SqlCatalog, due: Sequence[Due]) -> None:
        self._catalog = catalog
        self._staged = [(move, self._stage(move)) for move in due]

    def _stage(self, due: Due) -> StagedTable:
        """Metadata with the move; the swap will see where main stands."""
        before = due.before
        uuid, *refs = due.requirements()
        # The main of a fork may stand at rows that were rewritten.
        required = (uuid, *refs) if due.fork is None else (uuid,)
        updates = tuple(due.updates(before))
        staged = self._catalog._update_and_stage_table(before, due.table.name(), required, updates)
        self._catalog._write_metadata(staged.metadata, staged.io, staged.metadata_location)
        return staged

    def publish(self) -> None:
        """Swap the metadata of all tables; what was staged goes if it is refused for good."""
        try:
            swap_all(self._catalog, [_swap_of(due, after) for due, after in self._staged])
        except (SupersededError, CatalogUnreachableError):
            for _, after in self._staged:
                after.io.delete(after.metadata_location)
            raise

    def clean_up(self) -> None:
        """Remove files of metadata that fell out of the tables' logs, and those of forks."""
        for due, after in self._staged:
            self._catalog._delete_old_metadata(after.io, due.table.metadata, after.metadata)
            if due.fork is not None:
                remove_metadata_files(due.fork)


def _swap_of(due: Due, after: StagedTable) -> Swap:
    before, gone = Entry(due.ref_update.table, due.table.metadata_location), None
    if due.fork is not None:
        gone = Entry(due.ref_update.place, due.fork.metadata_location)
    rename = due.ref_update.rename
    if rename is None:
        return Swap(before, after.metadata_location, gone)
    return Swap(before, after.metadata_location, gone, rename.to, rename.displaced)


def swap_all(catalog: SqlCatalog, swaps: Sequence[Swap]) -> None:
    """Make every swap, or none.

    `SupersededError`: some table does not stand where its swap says. `CatalogUnreachableError`: the
    database refused. In both cases nothing was changed, nor will it be. `OutcomeUnknownError`: the
    connection broke, and the database may finish what it was asked.
    """
    is_asked = False
    try:
        with Session(catalog.engine) as session:
            # Another transaction that was not answered yet holds these rows: we wait for its end.
            stale = _first_stale(session, catalog, swaps)
            if stale is None:
                is_asked = True
                session.commit()
            else:
                session.rollback()
    except SQLAlchemyError as error:
        raise _outcome(error, len(swaps), is_asked=is_asked) from error
    if stale is not None:
        raise SupersededError(
            f"main of {len(swaps)} tables was not moved: {stale.before.table} was changed by "
            "another writer",
            state=UNCHANGED,
            next_step="run again; if this repeats, find the other writer: tidemark status",
        )


def _outcome(error: SQLAlchemyError, number: int, *, is_asked: bool) -> TidemarkError:
    """What an error of the database means for a swap of ``number`` tables."""
    if isinstance(error, DBAPIError) and not (is_asked or error.connection_invalidated):
        return CatalogUnreachableError(
            f"the catalog's database refused to move main of {number} tables: {error.orig}",
            state=UNCHANGED,
            next_step="look who holds its locks, then publish again",
        )
    return OutcomeUnknownError(
        f"the catalog did not answer while main of {number} tables was moved: {error}",
        state="the tables are all moved or all as they were, now or soon; nothing was deleted",
        next_step="when the catalog is back, run again: the next run finds out by itself",
    )


def _first_stale(session: Session, catalog: SqlCatalog, swaps: Sequence[Swap]) -> Swap | None:
    """Carry out all of ``swaps``; the first that finds a table elsewhere, None where none does."""
    steps = (_swap, _leave_names, _take_names)  # each for all tables: they may exchange names
    return next(
        (swap for step in steps for swap in swaps if not step(session, catalog, swap)), None
    )


def _swap(session: Session, catalog: SqlCatalog, swap: Swap) -> bool:
    """Whether the table stood where the swap says."""
    result = session.execute(
        update(IcebergTables)
        .where(*_row_of(catalog, swap.before))
        .values(metadata_location=swap.after, previous_metadata_location=swap.before.location)
    )
    if swap.gone is not None:
        session.execute(delete(IcebergTables).where(*_row_of(catalog, swap.gone)))
    return getattr(result, "rowcount", 0) == 1


def _leave_names(session: Session, catalog: SqlCatalog, swap: Swap) -> bool:
    """Whether a table that gets another name, and who has that, left theirs."""
    if swap.to is None:
        return True
    has_left = rename_entry(session, catalog, Entry(swap.before.table, swap.after), _passing(swap))
    if swap.displaced is None:
        return has_left
    way_is_made = rename_entry(
        session, catalog, Entry(swap.to, swap.displaced.location), swap.displaced.to
    )
    return has_left and way_is_made


def _take_names(session: Session, catalog: SqlCatalog, swap: Swap) -> bool:
    if swap.to is None:
        return True
    return rename_entry(session, catalog, Entry(_passing(swap), swap.after), swap.to)


def _passing(swap: Swap) -> TableId:
    """The name inside the transaction, so that tables may exchange theirs; nobody reads it."""
    name = hashlib.sha256(swap.before.location.encode()).hexdigest()
    return TableId(swap.before.table.namespace, f"{SYSTEM_PREFIX}renamed_{name}")


def rename_entry(session: Session, catalog: SqlCatalog, entry: Entry, to: TableId) -> bool:
    """Give a table the name ``to``; False where it does not stand where ``entry`` says."""
    result = session.execute(
        update(IcebergTables)
        .where(*_row_of(catalog, entry))
        .values(table_namespace=to.namespace, table_name=to.table)
    )
    return getattr(result, "rowcount", 0) == 1


def _row_of(catalog: SqlCatalog, entry: Entry) -> tuple[ColumnElement[bool], ...]:
    return (
        IcebergTables.catalog_name == catalog.name,
        IcebergTables.table_namespace == entry.table.namespace,
        IcebergTables.table_name == entry.table.table,
        IcebergTables.metadata_location == entry.location,
    )
