"""One database transaction that gives several tables other metadata files: all of them, or none.

What is known afterwards is told by the error: only a transaction that never asked to COMMIT is
known to have changed nothing. One that did may be finished by the database after its client gave
up, so that nothing may be deleted then (PUB-5, docs/adr/0003).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
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


@dataclass(frozen=True, slots=True)
class Entry:
    """A table in the catalog, and the place of its current metadata file."""

    table: TableId
    location: str


@dataclass(frozen=True, slots=True)
class Swap:
    """Have ``before`` stand at ``after``; ``gone``: an entry that goes in the same step."""

    before: Entry
    after: str
    gone: Entry | None = None


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
            stale = next((one for one in swaps if not _swap(session, catalog, one)), None)
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


def _swap(session: Session, catalog: SqlCatalog, one: Swap) -> bool:
    """Whether the table stood where the swap says."""
    result = session.execute(
        update(IcebergTables)
        .where(*_row_of(catalog, one.before))
        .values(metadata_location=one.after, previous_metadata_location=one.before.location)
    )
    if one.gone is not None:
        session.execute(delete(IcebergTables).where(*_row_of(catalog, one.gone)))
    return getattr(result, "rowcount", 0) == 1


def _row_of(catalog: SqlCatalog, entry: Entry) -> tuple[ColumnElement[bool], ...]:
    return (
        IcebergTables.catalog_name == catalog.name,
        IcebergTables.table_namespace == entry.table.namespace,
        IcebergTables.table_name == entry.table.table,
        IcebergTables.metadata_location == entry.location,
    )
