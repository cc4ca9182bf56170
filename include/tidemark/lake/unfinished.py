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
from pyiceberg.table import Table

from tidemark.errors import ForeignChangeError, SupersededError
from tidemark.lake.catalog import SystemTables, catalog_errors
from tidemark.lake.due import Due
from tidemark.lake.ledger import MOVES, moves_from_json, moves_to_json, read_marks
from tidemark.lake.marks import read_published
from tidemark.lake.publication import update_mains
from tidemark.lake.refs import RefUpdate, main_head
from tidemark.lake.rest import passing
from tidemark.log import get_logger

log = get_logger()


def in_order(catalog: Catalog, ref_updates: Sequence[RefUpdate]) -> tuple[RefUpdate, ...]:
    """``ref_updates``, of which the last is the ledger's, as ``catalog`` is to make them."""
    *others, own = ref_updates
    if not isinstance(catalog, RestCatalog):
        return (*others, own)
    marks: Mapping[str, str] = {**dict(own.marks), MOVES: moves_to_json(others, own.base)}
    return (replace(own, marks=tuple(marks.items())), *others)


def finish_publication(catalog: Catalog, tables: SystemTables) -> None:
    """Make what the newest published cut has not moved yet; where nothing is missing, nothing.

    `ForeignChangeError` where somebody else changed a table before the cut got to it.
    """
    if not isinstance(catalog, RestCatalog):
        return
    text = read_marks(catalog, tables).get(MOVES)
    if text is None:
        return
    moves, _ = moves_from_json(text)
    missing = [move for move in moves if _is_missing(catalog, move)]
    if not missing:
        return
    named = ", ".join(str(move.table) for move in missing)
    log.info("publication_finished_later", tables=named)
    try:
        update_mains(catalog, missing)
    except SupersededError as error:
        if not any(_is_missing(catalog, move) for move in missing):
            return  # Somebody else finished it.
        raise ForeignChangeError(
            f"a cut is published in all tables but {named}: {error.what}",
            state="these tables lack it, all others have it; its branches are kept",
            next_step="undo what was done to them since, as CALL system.rollback_to_snapshot "
            "does in Spark, then run again",
        ) from error


def _is_missing(catalog: Catalog, move: RefUpdate) -> bool:
    """Whether a move was not made; what came after it, and maintenance, do not count."""
    table = _find(catalog, move)
    if table is None:
        return False  # It has its new name.
    if move.rename is not None and table.name() == passing(move).parts:
        return True
    fork = _fork(catalog, move)
    if move.fork is not None and (fork is None or Due(move, table, fork).is_made):
        return False
    snapshot, published = table.snapshot_by_id(move.snapshot), read_published(table)
    if snapshot is None:
        return fork is not None  # Else it was made long ago, and is expired.
    reached = published.sequence if published is not None else -1
    is_behind = reached < (snapshot.sequence_number or 0)
    has_old_name = move.rename is not None and main_head(table) == move.snapshot
    return is_behind or has_old_name


def _find(catalog: Catalog, move: RefUpdate) -> Table | None:
    names = [move.table] if move.rename is None else [passing(move), move.table]
    for name in names:
        with catalog_errors(f"the loading of {name}"), suppress(NoSuchTableError):
            found: Table = catalog.load_table(name.parts)
            return found
    return None


def _fork(catalog: Catalog, move: RefUpdate) -> Table | None:
    found: Table | None = None
    if move.fork is not None:
        with catalog_errors(f"the loading of {move.place}"), suppress(NoSuchTableError):
            found = catalog.load_table(move.place.parts)
    return found
