"""The rest of a publication that a REST server left half made (PUB-13, docs/adr/0032).

In a REST catalog main of the ledger moves first, and says which moves belong to it. From then on
the cut is published, and whoever comes next makes what is missing before it does anything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import Table
from pyiceberg.table.update import update_table_metadata

from tidemark.errors import REFOLD, UNCHANGED, ForeignChangeError, SupersededError
from tidemark.lake.catalog import SystemTables, TableId, commit_errors
from tidemark.lake.due import Due
from tidemark.lake.fork_metadata import freed, new_metadata_location, remove_metadata_files
from tidemark.lake.ledger import MOVES, moves_from_json, moves_to_json, read_marks
from tidemark.lake.marks import TAG, is_only_rewritten, read_published
from tidemark.lake.metadata_times import in_time_order
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import RefUpdate, main_head
from tidemark.lake.removal import find_table, move_as_read
from tidemark.lake.rest import passing
from tidemark.lake.tags import UNREADABLE, why_untagged, with_tag
from tidemark.log import get_logger
from tidemark.model.names import SYSTEM_PREFIX

log = get_logger()


def in_order(catalog: Catalog, ref_updates: Sequence[RefUpdate]) -> tuple[RefUpdate, ...]:
    """``ref_updates``, of which the last is the ledger's, as ``catalog`` is to make them."""
    *others, ledger = ref_updates
    if not isinstance(catalog, RestCatalog):
        return (*others, ledger)
    marks: Mapping[str, str] = {**dict(ledger.marks), MOVES: moves_to_json(others, ledger.base)}
    return (replace(ledger, marks=tuple(marks.items())), *others)


def missing_moves(catalog: Catalog, tables: SystemTables) -> list[RefUpdate]:
    """What the newest published cut has not moved yet; most often nothing.

    Not a tag alone: whether each target has it, `finish_publication` looks.
    """
    moves = _newest_moves(catalog, tables)
    return [move for move in moves if not move.is_tag_only and _is_missing(catalog, move)]


def finish_publication(catalog: Catalog, tables: SystemTables) -> None:
    """Make what the newest published cut has not moved yet; where nothing is missing, nothing.

    `ForeignChangeError` where somebody else changed a table before the cut got to it.
    """
    missing = [move for move in _newest_moves(catalog, tables) if _is_missing(catalog, move)]
    if not missing:
        return
    log.info("publication_finished_later", tables=[str(move.table) for move in missing])
    renames = [move for move in missing if move.rename is not None]
    for together in (*([move] for move in missing if move.rename is None), renames):
        _finish(catalog, together)


def _newest_moves(catalog: Catalog, tables: SystemTables) -> tuple[RefUpdate, ...]:
    """What the newest published cut moves, made or not; nothing where all are made at once."""
    if not isinstance(catalog, RestCatalog):
        return ()
    marks = read_marks(catalog, tables)
    moves, _ = moves_from_json(marks[MOVES]) if MOVES in marks else ((), None)
    return with_tag(moves, marks.get(TAG, ""), tables)


def _finish(catalog: Catalog, moves: Sequence[RefUpdate]) -> None:
    try:
        update_mains(catalog, moves)
    except SupersededError as error:
        tables = {move: _find(catalog, move) for move in moves}
        left = [move for move in moves if _is_missing(catalog, move)]
        if not left:
            return  # Somebody else made them.
        for move in left:
            _refuse_rows(catalog, move, error)
            _refuse_lost_fork(catalog, move, error)
        forked = [(move, fork) for move in left if (fork := _fork(catalog, move)) is not None]
        if not forked:
            raise
        for move, fork in forked:
            _put_in_place(catalog, move, tables[move], fork)
        update_mains(catalog, left)


def _refuse_rows(catalog: Catalog, move: RefUpdate, error: SupersededError) -> None:
    """Raise `ForeignChangeError` where the table has other rows than before the cut."""
    table = _find(catalog, move)
    if table is None or main_head(table) == move.snapshot or is_only_rewritten(table, move.base):
        return
    raise ForeignChangeError(
        f"{move.table} lacks the newest published cut, and has other rows: {error.what}",
        state="this table lacks the cut, all others have it; its branches are kept",
        next_step="undo what was done to the table since, as CALL system.rollback_to_snapshot "
        "does in Spark, then run again",
    ) from error


def _refuse_lost_fork(catalog: Catalog, move: RefUpdate, error: SupersededError) -> None:
    """Raise `ForeignChangeError` where the move has become impossible."""
    if move.fork is None or _fork(catalog, move) is not None:
        return
    raise ForeignChangeError(
        f"{move.table} lacks the newest published cut, and its fork {move.place} is gone: somebody "
        "dropped it",
        state="this table lacks the cut, all others have it",
        next_step=f"drop the table {move.table}, then {REFOLD}",
    ) from error


def _put_in_place(catalog: Catalog, move: RefUpdate, table: Table | None, fork: Table) -> None:
    """Have the fork be the table, although somebody wrote to a branch of that, as attempts do.

    No request replaces the metadata of a table: it goes from the catalog, and comes back with
    others. Where that breaks off in between, the fork is there to begin again with. Raises
    SupersededError where somebody else changed the table since it was read, as whoever finished
    the publication did.
    """
    due = Due(move, fork if table is None else table, fork)
    before = freed(fork) if table is None else due.before
    changed = update_table_metadata(before.metadata, tuple(due.updates(before)))
    metadata = in_time_order(changed, before.metadata.last_updated_ms)
    location = new_metadata_location(before)
    ToOutputFile.table_metadata(metadata, before.io.new_output(location))
    away = TableId(move.table.namespace, f"{SYSTEM_PREFIX}replaced_{move.snapshot}")
    with commit_errors(f"the publication of {move.table}"):
        if table is not None and not move_as_read(
            catalog, TableId(*table.name()), table.metadata_location, away
        ):
            raise SupersededError(
                f"{move.table} was changed while the newest published cut was put in its place",
                state=UNCHANGED,
                next_step="nothing to do: the next run looks what is missing",
            )
        with suppress(NoSuchTableError):  # Whoever died before may have come to here.
            catalog.drop_table(away.parts)
        catalog.register_table(move.table.parts if table is None else table.name(), location)
        catalog.drop_table(move.place.parts)
    remove_metadata_files(fork)


def _is_missing(catalog: Catalog, move: RefUpdate) -> bool:
    """Whether a move was not made; what came after it, and maintenance, do not count."""
    if move.is_tag_only:
        return _is_tag_missing(catalog, move)
    table, fork = _find(catalog, move), _fork(catalog, move)
    if table is None:
        return fork is not None and move.rename is None  # Else it has its new name.
    if move.rename is not None and (
        table.name() == passing(move).parts or main_head(table) == move.snapshot
    ):
        return True  # It has its old name.
    due = Due(move, table, table if move.fork is None else fork)
    if move.fork is not None and fork is None:
        return due.is_as_forked is True
    if move.fork is not None and due.is_made:
        return False
    if fork is None and due.stands and (due.is_moved or due.is_published):
        return False
    snapshot, published = table.snapshot_by_id(move.snapshot), read_published(table)
    if snapshot is None:
        # Else it was made long ago; or what was staged is lost, and the table stops (PUB-11).
        return fork is not None
    reached = published.sequence if published is not None else -1
    return reached < (snapshot.sequence_number or 0)


def _is_tag_missing(catalog: Catalog, move: RefUpdate) -> bool:
    """Whether a tag is still to be given; what can have it no more goes without it (PUB-14)."""
    try:
        table = find_table(catalog, move.table)
        if table is not None and not Due(move, table, table).lacks_tag:
            return False
        why = "it is gone" if table is None else why_untagged(table, move)
    except UNREADABLE as error:
        why = f"it cannot be read: {error}"
    if why:
        log.warning("tag_left_out", table=str(move.table), tag=move.tag, why=why)
    return not why


def _find(catalog: Catalog, move: RefUpdate) -> Table | None:
    names = [move.table] if move.rename is None else [passing(move), move.table]
    return next(filter(None, (find_table(catalog, name) for name in names)), None)


def _fork(catalog: Catalog, move: RefUpdate) -> Table | None:
    return None if move.fork is None else find_table(catalog, move.place)
