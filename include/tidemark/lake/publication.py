"""The one step that moves ``main`` of several tables together, whatever the catalog.

A catalog in an SQL database makes it in one transaction (`lake.swap`); a REST catalog is asked for
it in one request (`lake.rest`). What was read before it, and what is found out when a reply is
lost, is the same for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH

from tidemark.errors import CatalogUnreachableError, OutcomeUnknownError, SupersededError
from tidemark.lake.catalog import TableId, catalog_errors
from tidemark.lake.due import LAYOUT, Due
from tidemark.lake.marks import descends, foreign_change, is_only_rewritten, read_published
from tidemark.lake.refs import TRIES, Fork, RefUpdate, main_head
from tidemark.lake.rest import RestPublication, passing
from tidemark.lake.swap import SqlPublication
from tidemark.lake.tags import why_untagged
from tidemark.log import get_logger

log = get_logger()


class Publication(Protocol):
    """Moves that one catalog is to make together; each kind of catalog has its own."""

    def publish(self) -> None:
        """Make every move, or none; a REST server may stop on the way (PUB-13).

        `SupersededError`: some table has other metadata by now. `CatalogUnreachableError`: the
        catalog refused. `OutcomeUnknownError`: it did not answer, and may make the moves yet
        (PUB-5).
        """

    def clean_up(self) -> None:
        """Remove what is not needed once the moves are made."""


def update_mains(catalog: Catalog, ref_updates: Sequence[RefUpdate]) -> None:
    """Make every move, or none; a REST server in their order, and some stop on the way (PUB-13).

    A move that was made before is not made again. Where files were merely rewritten since its base
    (PUB-12), main leaves them for those of the move. `SupersededError`: some main has other rows
    than the base, or a snapshot does not descend from it. `CatalogUnreachableError`: the database
    refused. `OutcomeUnknownError`: it did not answer, and may make the moves yet (PUB-5).
    """
    for _ in range(TRIES - 1):
        if _try_update(catalog, ref_updates) is None:
            return
    if lost := _try_update(catalog, ref_updates):
        raise lost


def _try_update(catalog: Catalog, ref_updates: Sequence[RefUpdate]) -> SupersededError | None:
    """`update_mains` once; returns the error where somebody committed meanwhile."""
    in_database = isinstance(catalog, SqlCatalog)  # Locks are taken in one order.
    pairs = [
        (_with_holder_of_now(catalog, ref_update), _load_target(catalog, ref_update))
        for ref_update in (sorted(ref_updates, key=_by_table) if in_database else ref_updates)
        if ref_update.rename is None or not _is_made(catalog, ref_update)
    ]
    due = [
        Due(ref_update, table, _source(catalog, ref_update, table)) for ref_update, table in pairs
    ]
    for move in due:
        if move.is_tag_taken:
            name, tag = str(move.ref_update.table), move.ref_update.tag
            log.warning("tag_left_out", table=name, tag=tag, why="it has one of that name already")
    is_left = any(move.ref_update.rename is not None or not move.is_made for move in due)
    due = [
        move
        for move in due
        if move.ref_update.rename is not None
        or not move.is_made
        or (is_left and move.is_unproven)  # A fork goes when all moves are made.
    ]
    for move in due:
        _refuse_stale(move)
    publication = _publication_of(catalog, due)
    try:
        publication.publish()
    except OutcomeUnknownError:
        is_made = False
        with suppress(CatalogUnreachableError):
            is_made = _are_made(catalog, ref_updates)
        if not is_made:
            raise
    except (SupersededError, CatalogUnreachableError) as error:
        # An earlier try may have asked for the same, and was carried out while this one waited.
        if not _are_made(catalog, ref_updates):
            if isinstance(error, SupersededError):
                return error
            raise
    publication.clean_up()
    return None


def _publication_of(catalog: Catalog, due: Sequence[Due]) -> Publication:
    if isinstance(catalog, RestCatalog):
        return RestPublication(catalog, due)
    if isinstance(catalog, SqlCatalog):
        return SqlPublication(catalog, due)
    raise TypeError(f"nobody publishes in a {type(catalog).__name__}")


def _by_table(ref_update: RefUpdate) -> TableId:
    return ref_update.table


def _source(catalog: Catalog, ref_update: RefUpdate, table: Table) -> Table | None:
    if ref_update.fork is None:
        return table
    try:
        return _load(catalog, ref_update.fork.table)
    except NoSuchTableError:
        return None


def _load_target(catalog: Catalog, ref_update: RefUpdate) -> Table:
    if ref_update.rename is not None and isinstance(catalog, RestCatalog):
        with suppress(NoSuchTableError):  # An earlier try came no further.
            return _load(catalog, passing(ref_update))
    try:
        return _load(catalog, ref_update.table)
    except NoSuchTableError as error:
        raise SupersededError(
            f"{ref_update.table} is gone, of which snapshot {ref_update.snapshot} was staged",
            state="no table was moved; the branches of this attempt are kept for inspection",
            next_step="nothing to do: the next run starts from the tables that are there",
        ) from error


def _with_holder_of_now(catalog: Catalog, ref_update: RefUpdate) -> RefUpdate:
    """The move, where the table that gives its name away may be rewritten since it was read.

    Any other change of that leaves the move as it is, so that it is refused (PUB-8, PUB-12).
    """
    rename = ref_update.rename
    if rename is None or rename.displaced is None:
        return ref_update
    try:
        holder = _load(catalog, rename.to)
    except NoSuchTableError:
        return ref_update
    if not _is_rewritten_from(holder, rename.displaced.location):
        return ref_update
    displaced = replace(rename.displaced, location=holder.metadata_location)
    return replace(ref_update, rename=replace(rename, displaced=displaced))


def _is_rewritten_from(table: Table, location: str) -> bool:
    """Whether ``table`` had its metadata at ``location``, and has the rows of then."""
    if table.metadata_location == location:
        return True
    with catalog_errors(f"the reading of {location}"):
        try:
            before = FromInputFile.table_metadata(table.io.new_input(location))
        except FileNotFoundError:
            return False
    is_same = before.table_uuid == table.metadata.table_uuid
    return is_same and is_only_rewritten(table, before.current_snapshot_id)


def _load(catalog: Catalog, table: TableId) -> Table:
    with catalog_errors(f"the loading of {table}"):
        return catalog.load_table(table.parts)


def _refuse_stale(due: Due) -> None:
    ref_update, head = due.ref_update, main_head(due.table)
    if due.is_made and due.is_moved:
        return  # All but its new name.
    if ref_update.is_tag_only:
        stale = why_untagged(due.table, ref_update)
    elif due.source is None:
        stale = f"its fork {ref_update.place} is gone"
    elif ref_update.fork is not None and not _is_forked_from(due.table, ref_update.fork):
        stale = f"it was changed after its fork {ref_update.place} was made"
    elif due.source.snapshot_by_id(ref_update.snapshot) is None:
        stale = f"snapshot {ref_update.snapshot}, which was staged, is not there any more"
    elif due.stands and due.is_moved and not due.is_published:
        stale = "somebody else moved it there"
    elif not _has_rows_of_base(due) or not (
        ref_update.base is None or descends(due.source, ref_update.snapshot, ref_update.base)
    ):
        stale = f"snapshot {ref_update.snapshot} was made from {ref_update.base}"
    elif what := foreign_change(due.table, read_published(due.table)):
        stale = f"it is not as it was published: {what}"
    else:
        stale = ""
    if not stale:
        return
    raise SupersededError(
        f"main of {ref_update.table} stands at snapshot {head}, but {stale}",
        state="no table was moved; the branches of this attempt are kept for inspection",
        next_step="nothing to do: the next run starts from main as it is now",
    )


def _has_rows_of_base(due: Due) -> bool:
    """Whether main has the rows that it had as the move was made, whoever rewrote their files.

    Where nothing is left of what came in between, it has those of what is published, or it is not
    as it was published: and that is the base, or what the base was rewritten from.
    """
    base, published = due.ref_update.base, read_published(due.table)
    if is_only_rewritten(due.table, base):
        return True
    return (
        base is not None and published is not None and descends(due.table, base, published.snapshot)
    )


def _is_forked_from(table: Table, fork: Fork) -> bool:
    """Whether ``table`` is as it was forked, but for files that were rewritten since.

    What they replaced is there as long as its snapshot is; the fork goes on with that.
    """
    if table.metadata_location == fork.origin:
        return True
    try:
        origin = FromInputFile.table_metadata(table.io.new_input(fork.origin))
    except FileNotFoundError:
        return False
    now, base = table.metadata, origin.current_snapshot_id
    is_there = base is None or now.snapshot_by_id(base) is not None
    others = [
        {name: ref for name, ref in metadata.refs.items() if name != MAIN_BRANCH}
        for metadata in (now, origin)
    ]
    return (is_there and others[0] == others[1]) and all(
        getattr(now, name) == getattr(origin, name) for name in (*LAYOUT, "properties")
    )


def _are_made(catalog: Catalog, ref_updates: Sequence[RefUpdate]) -> bool:
    """What the tables say; `CatalogUnreachableError` when they cannot be read."""
    return all(_is_made(catalog, ref_update) for ref_update in ref_updates)


def _is_made(catalog: Catalog, ref_update: RefUpdate) -> bool:
    try:
        table = _load(catalog, ref_update.published_as)
    except NoSuchTableError:
        return False
    return Due(ref_update, table, _source(catalog, ref_update, table)).is_made
