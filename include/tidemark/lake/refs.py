"""Branches, tags and the one atomic step that moves ``main`` of several tables.

The step uses two private calls of pyiceberg (`_update_and_stage_table`, `_write_metadata`), as
pyiceberg 0.12 commits one table at a time; tests/unit/lake/test_refs.py holds what it must do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import StagedTable, Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    AssertTableUUID,
    RemovePropertiesUpdate,
    RemoveSnapshotRefUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)
from pyiceberg.table.update.snapshot import ManageSnapshots

from tidemark.errors import CatalogUnreachableError, OutcomeUnknownError, SupersededError
from tidemark.lake.catalog import TableId, catalog_errors, commit_errors
from tidemark.lake.fork_metadata import next_of, remove_own_files
from tidemark.lake.marks import (
    descends,
    entry_of,
    foreign_change,
    is_only_rewritten,
    marked,
    read_published,
)
from tidemark.lake.swap import Displaced, Entry, Swap, swap_all
from tidemark.model.names import AttemptId

REF_PREFIX = "tidemark_"
KEPT_DAYS, DAY_MS = 30, 86_400_000
KEPT_IN_A_REWRITE = (
    *("table_uuid", "format_version", "schemas", "current_schema_id", "properties"),
    *("partition_specs", "default_spec_id", "sort_orders", "default_sort_order_id"),
)
"""What metadata say that somebody who rewrites files leaves as it is."""
TRIES = 10
"""How often a commit is tried because somebody else committed first."""
ATTEMPT_REF = re.compile(rf"{REF_PREFIX}(?P<number>\d+)_(?P<attempt>[a-z0-9_]+?)(_audited)?")


@dataclass(frozen=True, order=True, slots=True)
class Fork:
    """A copy of a table's metadata, with the file of metadata that it goes on from."""

    table: TableId
    origin: str


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
    """

    table: TableId
    base: int | None
    snapshot: int
    drops: tuple[str, ...] = ()
    fork: Fork | None = None
    marks: tuple[tuple[str, str], ...] = ()
    rename: TargetRename | None = None

    @property
    def published_as(self) -> TableId:
        """What the table is called once it is published."""
        return self.table if self.rename is None else self.rename.to

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

    Iceberg's ``expire_snapshots`` removes the tag when it is `KEPT_DAYS` old.
    """
    tag = f"{REF_PREFIX}before_cut_{cut}"
    if tag not in table.refs():
        create_tag(table, base, tag, KEPT_DAYS * DAY_MS)


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
    told: Callable[[], Mapping[str, str]] = dict,
) -> None:
    """Commit what ``change`` does to branches and tags; properties of the table go with it.

    gone: those that are removed. told: those that are set, as the table says them at each try.
    pyiceberg retries a commit by itself only where it has a snapshot.
    """
    for tries_left in reversed(range(TRIES)):
        try:
            with commit_errors(doing), table.transaction() as transaction:
                change(ManageSnapshots(transaction=transaction)).commit()
                if there := [name for name in gone if name in table.properties]:
                    transaction.remove_properties(*there)
                if properties := told():
                    transaction.set_properties(dict(properties))
        except SupersededError:
            if not tries_left:
                raise
            table.refresh()
        else:
            return


def update_mains(catalog: SqlCatalog, ref_updates: Sequence[RefUpdate]) -> None:
    """Make every move, or none: one database transaction over all tables.

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


def _try_update(catalog: SqlCatalog, ref_updates: Sequence[RefUpdate]) -> SupersededError | None:
    """`update_mains` once; returns the error where somebody committed meanwhile."""
    pairs = [
        (ref_update, _load_target(catalog, ref_update))
        for ref_update in sorted(ref_updates, key=_by_table)
        if ref_update.rename is None or not _is_made(catalog, ref_update)
    ]
    due = [
        _Due(ref_update, table, _source(catalog, ref_update, table)) for ref_update, table in pairs
    ]
    due = [one for one in due if not one.is_made]
    for one in due:
        _refuse_stale(one)
    staged = [(one, _stage(catalog, one)) for one in due]
    if lost := _swap(catalog, staged):
        return lost
    for one, after in staged:
        catalog._delete_old_metadata(after.io, one.table.metadata, after.metadata)
        if one.source is not None and one.ref_update.fork is not None:
            remove_own_files(one.source)
    return None


@dataclass(frozen=True, slots=True)
class _Due:
    """A move, the table as it is, and the metadata that it goes on from: its own or its fork's."""

    ref_update: RefUpdate
    table: Table
    source: Table | None

    @property
    def is_made(self) -> bool:
        """It was made before; a fork that was published is gone. Of a rename the name tells it."""
        if self.ref_update.rename is not None:
            return False
        stands = main_head(self.table) == self.ref_update.snapshot
        return stands and (self.ref_update.fork is None or self.source is None)


def _by_table(ref_update: RefUpdate) -> TableId:
    return ref_update.table


def _source(catalog: SqlCatalog, ref_update: RefUpdate, table: Table) -> Table | None:
    if ref_update.fork is None:
        return table
    try:
        return _load(catalog, ref_update.fork.table)
    except NoSuchTableError:
        return None


def _load_target(catalog: SqlCatalog, ref_update: RefUpdate) -> Table:
    try:
        return _load(catalog, ref_update.table)
    except NoSuchTableError as error:
        raise SupersededError(
            f"{ref_update.table} is gone, of which snapshot {ref_update.snapshot} was staged",
            state="no table was moved; the branches of this attempt are kept for inspection",
            next_step="nothing to do: the next run starts from the tables that are there",
        ) from error


def _load(catalog: SqlCatalog, table: TableId) -> Table:
    with catalog_errors(f"the loading of {table}"):
        return catalog.load_table(table.parts)


def _refuse_stale(due: _Due) -> None:
    ref_update, head = due.ref_update, main_head(due.table)
    if due.source is None:
        stale = f"its fork {ref_update.place} is gone"
    elif ref_update.fork is not None and not _is_forked_from(due.table, ref_update.fork):
        stale = f"it was changed after its fork {ref_update.place} was made"
    elif not is_only_rewritten(due.table, ref_update.base) or not (
        ref_update.base is None or descends(due.source, ref_update.snapshot, ref_update.base)
    ):
        stale = f"snapshot {ref_update.snapshot} was made from {ref_update.base}"
    elif what := foreign_change(due.table, read_published(due.table)):
        stale = f"it is not as it was published: {what}"
    else:
        return
    raise SupersededError(
        f"main of {ref_update.table} stands at snapshot {head}, but {stale}",
        state="no table was moved; the branches of this attempt are kept for inspection",
        next_step="nothing to do: the next run starts from main as it is now",
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
        {name: ref for name, ref in one.refs.items() if name != MAIN_BRANCH}
        for one in (now, origin)
    ]
    return (is_there and others[0] == others[1]) and all(
        getattr(now, name) == getattr(origin, name) for name in KEPT_IN_A_REWRITE
    )


def _stage(catalog: SqlCatalog, due: _Due) -> StagedTable:
    """Metadata with the move; `_refuse_stale` has seen where main stands, and the swap will."""
    ref_update, table = due.ref_update, due.table
    required: list[TableRequirement] = [AssertTableUUID(uuid=due.table.metadata.table_uuid)]
    if due.source is not None and ref_update.fork is not None:
        table = next_of(table, due.source)  # Its main may stand at rows that were rewritten.
    else:
        required.append(AssertRefSnapshotId(ref=MAIN_BRANCH, snapshot_id=main_head(table)))
    updates: list[TableUpdate] = [
        SetSnapshotRefUpdate(
            ref_name=MAIN_BRANCH,
            type=SnapshotRefType.BRANCH,
            snapshot_id=ref_update.snapshot,
            max_ref_age_ms=None,
            max_snapshot_age_ms=None,
            min_snapshots_to_keep=None,
        )
    ]
    updates += [
        RemoveSnapshotRefUpdate(ref_name=name) for name in ref_update.drops if name in table.refs()
    ]
    entries = [entry_of(name) for name in ref_update.drops]
    if gone := [entry for entry in entries if entry in table.properties]:
        updates.append(RemovePropertiesUpdate(removals=gone))
    updates.append(
        SetPropertiesUpdate(updates=marked(table, ref_update.snapshot, dict(ref_update.marks)))
    )
    staged = catalog._update_and_stage_table(
        table,
        due.table.name(),
        tuple(required),
        tuple(updates),
    )
    catalog._write_metadata(staged.metadata, staged.io, staged.metadata_location)
    return staged


def _swap(
    catalog: SqlCatalog, staged: Sequence[tuple[_Due, StagedTable]]
) -> SupersededError | None:
    """Swap the metadata of all tables; what was staged goes only if it is refused for good.

    Returns the error where a table has other metadata by now.
    """
    ref_updates = [due.ref_update for due, _ in staged]
    try:
        swap_all(catalog, [_swap_of(due, after) for due, after in staged])
    except OutcomeUnknownError:
        with suppress(CatalogUnreachableError):
            if _are_made(catalog, ref_updates):
                return None
        raise
    except (SupersededError, CatalogUnreachableError) as error:
        for _, after in staged:
            after.io.delete(after.metadata_location)
        # An earlier try may have asked for the same, and was carried out while this one waited.
        if _are_made(catalog, ref_updates):
            return None
        if isinstance(error, SupersededError):
            return error
        raise
    return None


def _swap_of(due: _Due, after: StagedTable) -> Swap:
    before, gone = Entry(due.ref_update.table, due.table.metadata_location), None
    if due.ref_update.fork is not None and due.source is not None:
        gone = Entry(due.ref_update.place, due.source.metadata_location)
    rename = due.ref_update.rename
    if rename is None:
        return Swap(before, after.metadata_location, gone)
    return Swap(before, after.metadata_location, gone, rename.to, rename.displaced)


def _are_made(catalog: SqlCatalog, ref_updates: Sequence[RefUpdate]) -> bool:
    """What the tables say; `CatalogUnreachableError` when they cannot be read."""
    return all(_is_made(catalog, ref_update) for ref_update in ref_updates)


def _is_made(catalog: SqlCatalog, ref_update: RefUpdate) -> bool:
    try:
        return main_head(_load(catalog, ref_update.published_as)) == ref_update.snapshot
    except NoSuchTableError:
        return False
