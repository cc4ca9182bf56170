"""A tag that one cut gives every target, so that all can be read as of one moment (PUB-14).

The publication of the cut sets it: on the tables that it moves, and on those that it leaves where
they are. Which tag that is stands in the ledger, so that a publication that was left half made is
finished with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import ValidationError
from pyiceberg.table import Table

from tidemark.errors import TidemarkError
from tidemark.lake.catalog import SystemTables, TableId
from tidemark.lake.marks import foreign_change, is_only_rewritten, read_published
from tidemark.lake.refs import RefUpdate, is_taken, main_head
from tidemark.lake.removal import find_table

UNREADABLE = (
    *(TidemarkError, ValidationError),
    *(ValueError, TypeError, LookupError, AttributeError),
)
"""What reading a table raises whose file of metadata is lost, or garbled, or its property is."""


@dataclass(frozen=True, slots=True)
class Tagging:
    """The moves of a cut, with the tag; refused: why no table gets it, empty where all do."""

    moves: tuple[RefUpdate, ...]
    refused: str = ""


def with_tag(moves: Iterable[RefUpdate], tag: str, tables: SystemTables) -> tuple[RefUpdate, ...]:
    """``moves``, those of targets with ``tag``; the pipeline's own tables have none."""
    own = tables.ledger.namespace
    return tuple(
        move if move.table.namespace == own or not tag else replace(move, tag=tag) for move in moves
    )


def tag_targets(
    catalog: Catalog,
    moves: Sequence[RefUpdate],
    targets: Iterable[TableId],
    tag: str,
    tables: SystemTables,
) -> Tagging:
    """``moves`` with ``tag``, and one for each of ``targets`` that they leave where it is.

    Refused where a target is not as it was published, has a branch or tag of that name, or cannot
    be read, which the cut does not touch.
    """
    tagged = with_tag(moves, tag, tables)
    moved = {name for move in moves for name in (move.table, move.published_as)}
    for move in (move for move in tagged if move.tag):
        table = find_table(catalog, move.table)
        if table is None:
            continue
        if move.is_tag_only and (why := why_untagged(table, move)):
            return Tagging(tuple(moves), f"{move.table} cannot get it: {why}")
        if taken := _taken(table, move):
            return Tagging(tuple(moves), taken)
    stand = []
    for target in sorted(set(targets) - moved):
        try:
            stays, refused = _standing(catalog, target, tag)
        except UNREADABLE as error:
            stays, refused = None, f"{target} cannot be read: {error}"
        if refused:
            return Tagging(tuple(moves), refused)
        if stays is not None:
            stand.append(stays)
    return Tagging((*tagged, *stand))


def _standing(catalog: Catalog, target: TableId, tag: str) -> tuple[RefUpdate | None, str]:
    """The tag of a target that the cut leaves where it is, or why it cannot have it.

    Neither where nothing was ever published in it: it may be somebody else's.
    """
    table = find_table(catalog, target)
    head, published = (main_head(table), read_published(table)) if table else (None, None)
    if table is None or head is None or published is None:
        return None, ""
    if change := foreign_change(table, published):
        return None, f"{target} is not as it was published: {change}"
    move = RefUpdate(target, head, head, tag=tag)
    return move, _taken(table, move)


def why_untagged(table: Table, move: RefUpdate) -> str:
    """Why ``move``, a tag alone, cannot be made; empty where it can.

    Files that were rewritten since do not matter, as long as the snapshot is there.
    """
    published = read_published(table)
    if published is None:
        return "nothing is published in it"
    if table.snapshot_by_id(move.snapshot) is None:
        return f"snapshot {move.snapshot} is not there any more"
    if change := foreign_change(table, published):
        return f"it is not as it was published: {change}"
    if not is_only_rewritten(table, move.base):
        return f"other rows than those of snapshot {move.base} are published in it"
    return _taken(table, move)


def _taken(table: Table, move: RefUpdate) -> str:
    """That the name of the tag stands for something else there; empty where it does not."""
    there = table.refs().get(move.tag)
    if there is None or not is_taken(table, move.tag, move.snapshot):
        return ""
    return f"{move.table} has a {there.snapshot_ref_type.value} {move.tag} already"
