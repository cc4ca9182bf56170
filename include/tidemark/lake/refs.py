"""Branches and tags of tables, and the moves of ``main`` that a publication is made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update.snapshot import ManageSnapshots

from tidemark.errors import SupersededError
from tidemark.lake.catalog import TableId, commit_errors
from tidemark.lake.marks import (
    entry_of,
)
from tidemark.model.names import AttemptId

REF_PREFIX = "tidemark_"
MAX_TAG_DAYS, DAY_MS = 30, 86_400_000
KEEP_TAG_DAYS = 90
"""How long the tag of a cut is kept (PUB-14)."""
MAX_INTERVAL_TAGS = 400
"""How many tags of intervals a target keeps: they stand in metadata that each cut reads."""
TRIES = 10
"""How often a commit is tried because somebody else committed first."""
ATTEMPT_REF = re.compile(rf"{REF_PREFIX}(?P<number>\d+)_(?P<attempt>[a-z0-9_]+?)(_audited)?")


@dataclass(frozen=True, order=True, slots=True)
class Fork:
    """A copy of a table's metadata, with the file of metadata that it goes on from."""

    table: TableId
    origin: str


@dataclass(frozen=True, order=True, slots=True)
class Displaced:
    """A table that gives its name to another one: the place of its metadata, and its new name."""

    location: str
    to: TableId


@dataclass(frozen=True, order=True, slots=True)
class TargetRename:
    """Give a table the name ``to`` (SCHEMA-31).

    displaced: the table that has that name until then, by its file of metadata, and the name that
    it gets; None where there is none, or where the same publication renames it as well.
    """

    to: TableId
    displaced: Displaced | None = None


@dataclass(frozen=True, order=True, slots=True)
class RefUpdate:
    """Move ``main`` of a table from ``base`` (None: it has no snapshot yet) to ``snapshot``.

    drops: branches and tags that are not needed once main stands there. fork: what takes the
    table's place, with another schema; None where the table keeps its own. marks: what the table is
    to say of it beside the summary of the snapshot (PUB-9). rename: the name that it gets with it.
    tag: what keeps the snapshot, empty where nothing is to; it may be all that is done (PUB-14).
    comment: what the table is, as engines show it; one that somebody else wrote stays.
    """

    table: TableId
    base: int | None
    snapshot: int
    drops: tuple[str, ...] = ()
    fork: Fork | None = None
    marks: tuple[tuple[str, str], ...] = ()
    rename: TargetRename | None = None
    tag: str = ""
    comment: str = ""

    @property
    def published_as(self) -> TableId:
        """What the table is called once it is published."""
        return self.table if self.rename is None else self.rename.to

    @property
    def is_tag_only(self) -> bool:
        """Whether a tag is all that the table gets."""
        is_moved = self.base != self.snapshot or self.fork is not None or self.rename is not None
        return bool(self.tag) and not is_moved

    @property
    def place(self) -> TableId:
        """Where the snapshot is until it is published."""
        return self.table if self.fork is None else self.fork.table


def attempt_ref(number: int, attempt: AttemptId) -> str:
    """The branch of one attempt at a cut (on the changelog: at a landing) of this number."""
    return f"{REF_PREFIX}{number}_{attempt}"


def number_of(name: str) -> int:
    """The number in a name that `attempt_ref` made."""
    match = ATTEMPT_REF.fullmatch(name)
    if match is None:
        raise ValueError(f"{name} is no branch of an attempt")
    return int(match["number"])


def is_ref_of(name: str, attempt: AttemptId) -> bool:
    """Whether a branch or tag belongs to ``attempt``."""
    match = ATTEMPT_REF.fullmatch(name)
    return match is not None and match["attempt"] == attempt


def drop_dead_refs(table: Table, next_number: int) -> None:
    """Remove what attempts below ``next_number`` left: they can never be published any more.

    An attempt at ``next_number`` itself may be alive beside this one, so it is left alone.
    """
    matches = (ATTEMPT_REF.fullmatch(name) for name in table.refs())
    dead = [match[0] for match in matches if match and int(match["number"]) < next_number]
    if dead:
        drop_refs(table, dead)


def main_head(table: Table) -> int | None:
    """Snapshot id of ``main``; None when the table has no snapshot yet."""
    head = table.refs().get(MAIN_BRANCH)
    return head.snapshot_id if head else None


def is_taken(table: Table, tag: str, snapshot_id: int) -> bool:
    """Whether the name of a tag stands for something else there than the snapshot."""
    there = table.refs().get(tag)
    if there is None:
        return False
    return there.snapshot_ref_type is SnapshotRefType.BRANCH or there.snapshot_id != snapshot_id


def ancestors(table: Table, snapshot_id: int | None) -> Iterator[Snapshot]:
    """The snapshot and its ancestors, newest first, as far as they are not expired."""
    while snapshot_id is not None:
        snapshot = table.snapshot_by_id(snapshot_id)
        if snapshot is None:
            return
        yield snapshot
        snapshot_id = snapshot.parent_snapshot_id


def summary_value(snapshot: Snapshot, key: str) -> str | None:
    """One property of a snapshot's summary."""
    return snapshot.summary.additional_properties.get(key) if snapshot.summary else None


def create_branch(table: Table, branch: str, head: int) -> None:
    """A branch at snapshot ``head``: where ``main`` stood as it was read, not where it is now."""
    commit_refs(
        table, f"the making of branch {branch}", lambda refs: refs.create_branch(head, branch)
    )


def create_tag(table: Table, snapshot_id: int, tag: str, max_age_ms: int | None = None) -> None:
    """A tag that pins ``snapshot_id``; max_age_ms: after which maintenance removes it."""
    commit_refs(
        table,
        f"the making of tag {tag}",
        lambda refs: refs.create_tag(snapshot_id, tag, max_age_ms),
    )


def tag_before(table: Table, cut: int, base: int) -> None:
    """Pin what ``cut`` takes away, under a name that says so; an earlier attempt may have done it.

    Iceberg's ``expire_snapshots`` removes the tag when it is `MAX_TAG_DAYS` old.
    """
    tag = f"{REF_PREFIX}before_cut_{cut}"
    if tag not in table.refs():
        create_tag(table, base, tag, MAX_TAG_DAYS * DAY_MS)


def drop_refs(table: Table, names: Sequence[str]) -> None:
    """Remove the branches and tags ``names`` in one commit, with what is kept beside them."""

    def dropped(refs: ManageSnapshots) -> ManageSnapshots:
        for name in names:
            if name in table.refs():
                is_branch = table.refs()[name].snapshot_ref_type is SnapshotRefType.BRANCH
                refs = refs.remove_branch(name) if is_branch else refs.remove_tag(name)
        return refs

    entries = [entry_of(name) for name in names]
    commit_refs(table, f"the removal of old refs of {table.name()}", dropped, gone=entries)


def commit_refs(
    table: Table,
    doing: str,
    change: Callable[[ManageSnapshots], ManageSnapshots],
    *,
    gone: Sequence[str] = (),
    updates: Callable[[], Mapping[str, str]] = dict,
) -> None:
    """Commit what ``change`` does to branches and tags; properties of the table go with it.

    gone: those that are removed. updates: those that are set, as the table says them at each try.
    pyiceberg retries a commit by itself only where it has a snapshot.
    """
    for tries_left in reversed(range(TRIES)):
        try:
            with commit_errors(doing), table.transaction() as transaction:
                change(ManageSnapshots(transaction=transaction)).commit()
                if there := [name for name in gone if name in table.properties]:
                    transaction.remove_properties(*there)
                if properties := updates():
                    transaction.set_properties(dict(properties))
        except SupersededError:
            if not tries_left:
                raise
            table.refresh()
        else:
            return
