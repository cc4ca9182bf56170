"""What runs beside one another, as generators: each gives way between any two of its steps."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import cast

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update import AssertTableUUID, RemoveSnapshotsUpdate

from tests.simulate.lake.store import Deletes, Files, Rows, Store, moved
from tidemark.errors import OutcomeUnknownError, SupersededError
from tidemark.lake import publication, refs
from tidemark.lake.catalog import TableId
from tidemark.lake.commits import begin_branch
from tidemark.lake.marks import foreign_change, read_published
from tidemark.lake.refs import (
    Displaced,
    RefUpdate,
    TargetRename,
    ancestors,
    attempt_ref,
    create_branch,
    create_tag,
    main_head,
)
from tidemark.lake.table_files import loose_snapshots
from tidemark.model.maintenance import DAY_MS, DataFile, Policy, TableFiles, due_work
from tidemark.model.names import AttemptId

LEDGER = TableId("own", "ledger")
TARGETS = (TableId("shop", "a"), TableId("shop", "b"))
POLICY = Policy(
    small_files=2,
    max_deleted=0.3,
    max_delete_files=2,
    max_manifests=100,
    keep_days=1,
    max_snapshots=3,
    orphan_days=3,
)
CUT, ATTEMPT, ORDER = 0, 1, 2
"""Keys of the one row of the ledger."""
MERGED = 1000
"""Above the size of every file: so each is a small one."""
NOW = 2**62
Actor = Generator[None, None, None]
Move = Generator[None, None, RefUpdate]


class BrokenPromiseError(AssertionError):
    """Rows that no cut published, a file that is named and gone, or one that nobody removes."""


@dataclass
class World:
    """The store, the rows that the source has, and those of each attempt."""

    store: Store
    source: dict[TableId, dict[int, int]]
    contents: dict[int, Mapping[TableId, Rows]] = field(default_factory=dict)
    attempts: int = 0

    def load(self, name: TableId) -> Table:
        return self.store.load_table(name.parts)

    def ledger(self) -> Rows:
        return self.store.rows_of(self.load(LEDGER).current_snapshot())

    @property
    def catalog(self) -> Catalog:
        return cast("Catalog", self.store)


def unless_overtaken(world: World, actor: Actor) -> Actor:
    """``actor``, which may give up where others published meanwhile, and nowhere else."""
    begun = world.ledger()
    try:
        yield from actor
    except OutcomeUnknownError:
        return
    except Exception as error:
        if world.ledger() == begun:
            raise BrokenPromiseError(f"nobody overtook what failed: {error!r}") from error


def cut(world: World, *, refolds: bool, is_late: bool) -> Actor:
    """Stage what the source has, and publish it."""
    return unless_overtaken(world, _cut(world, refolds=refolds, is_late=is_late))


def _cut(world: World, *, refolds: bool, is_late: bool) -> Actor:
    store = world.store
    ledger, world.attempts = world.load(LEDGER), world.attempts + 1
    told, number = world.attempts, world.ledger()[CUT] + 1
    attempt = AttemptId(f"t{told}")
    branch, head = attempt_ref(number, attempt), main_head(ledger)
    contents = {name: dict(rows) for name, rows in world.source.items()}
    world.contents[told] = contents
    moves: list[RefUpdate] = []
    for name, rows in contents.items():
        table = world.load(name)
        base = main_head(table)
        if what := foreign_change(table, read_published(table)):
            raise SupersededError(what, state="it stops", next_step="look")
        # What a run goes on from is pinned as soon as it is read.
        refs.drop_dead_refs(table, number)
        create_branch(table, branch, base or 0)
        yield
        if refolds:
            moves.append((yield from _refolded(world, name, table, branch, rows)))
            continue
        there = store.rows_of(table.snapshot_by_id(base or 0))
        moves.append((yield from _merged(world, name, branch, there, rows)))
    begin_branch(ledger, head, branch)
    yield
    written = {CUT: number, ATTEMPT: told, ORDER: world.ledger().get(ORDER, 0)}
    moves.append((yield from _replaced(world, LEDGER, branch, written)))
    yield
    store.is_late = is_late
    try:
        publication.update_mains(world.catalog, moves)
    finally:
        store.is_late = False


def _merged(world: World, name: TableId, branch: str, there: Rows, rows: Rows) -> Move:
    """Rows that changed into a new file, and deletes for those of before."""
    store = world.store
    table = world.load(name)
    base = table.refs()[branch].snapshot_id
    changed = {key: value for key, value in rows.items() if there.get(key) != value}
    gone = frozenset(key for key in there if key in changed or key not in rows)
    refs_of = (branch, f"{branch}_audited")
    if not changed and not gone:
        return RefUpdate(name, base, base, refs_of)
    before = store.files_of(table.snapshot_by_id(base))
    deletes = list(before.deletes)
    for path in before.data:
        keys = gone & store.live(before, path).keys()
        if keys:
            deletes.append(store.put(table.metadata.location, Deletes(path, keys)))
            yield
    data = [*before.data]
    if changed:
        data.append(store.put(table.metadata.location, changed))
        yield
    files = Files(tuple(data), tuple(deletes))
    snapshot = yield from _committed(world, name, branch, files)
    create_tag(world.load(name), snapshot.snapshot_id, refs_of[1])
    yield
    return RefUpdate(name, base, snapshot.snapshot_id, refs_of)


def _replaced(world: World, name: TableId, branch: str, rows: Rows) -> Move:
    table = world.load(name)
    base = table.refs()[branch].snapshot_id
    path = world.store.put(table.metadata.location, rows)
    yield
    snapshot = yield from _committed(world, name, branch, Files((path,)))
    return RefUpdate(name, base, snapshot.snapshot_id, (branch,))


def _committed(
    world: World, name: TableId, branch: str, files: Files
) -> Generator[None, None, Snapshot]:
    """``files`` as a new snapshot of ``branch``."""
    table = world.load(name)
    base = table.refs()[branch].snapshot_id
    snapshot = world.store.snapshot(table, base, files, Operation.OVERWRITE)
    yield
    now = world.load(name)
    update = {"sequence_number": now.last_sequence_number + 1}
    snapshot = snapshot.model_copy(update=update)
    same = AssertTableUUID(uuid=table.metadata.table_uuid)
    world.store.commit_table(now, (same,), moved(branch, snapshot))
    return snapshot


def _refolded(world: World, name: TableId, old: Table, branch: str, rows: Rows) -> Move:
    """A table beside it, which takes its name and leaves it one that says until when it was."""
    new = TableId(name.namespace, f"{name.table}__refold_{branch}")
    world.store.create(new)
    yield
    table = world.load(new)
    path = world.store.put(table.metadata.location, rows)
    yield
    snapshot = world.store.snapshot(table, None, Files((path,)), Operation.APPEND)
    world.store.commit_table(table, (), moved(branch, snapshot))
    yield
    displaced = Displaced(
        world.load(name).metadata_location,
        TableId(name.namespace, f"{name.table}__until_{branch}"),
    )
    if world.load(name).metadata.table_uuid != old.metadata.table_uuid:
        raise SupersededError("another table has the name", state="", next_step="")
    to = TargetRename(name, displaced)
    return RefUpdate(new, None, snapshot.snapshot_id, (branch,), rename=to)


def order(world: World) -> Actor:
    """Something that a person has the ledger say: what is staged does not count any more."""
    return unless_overtaken(world, _order(world))


def _order(world: World) -> Actor:
    ledger, world.attempts = world.load(LEDGER), world.attempts + 1
    now, number = world.ledger(), world.attempts
    branch = attempt_ref(now[CUT] + 1, AttemptId(f"order_{number}"))
    begin_branch(ledger, main_head(ledger), branch)
    yield
    ref_update = yield from _replaced(world, LEDGER, branch, {**now, ORDER: number})
    yield
    publication.update_mains(world.catalog, [ref_update])


def maintain(world: World) -> Actor:
    """What is due of each table, as `runs.maintain` does it; a cut keeps the ledger."""
    for name in [*TARGETS, LEDGER]:
        table = world.load(name)
        due = due_work(table_files(world.store, table), POLICY, world.store.now_ms)
        yield
        if due.expires:
            yield from expire(world, name, due.expires_before)
        if due.rewrites:
            yield from rewrite(world, name)
        yield from remove_orphans(world, name, POLICY.orphan_days * DAY_MS)


def stranger(world: World, name: TableId) -> Actor:
    """Everything is written together, and expires to the last snapshot."""
    yield from rewrite(world, name)
    yield from expire(world, name, NOW)


def table_files(store: Store, table: Table) -> TableFiles:
    """As `lake.table_files.read_files` tells of a table."""
    files = store.files_of(table.current_snapshot())
    gone = [store.get(path) for path in files.deletes]
    data = []
    for path in files.data:
        of_file = [deletes for deletes in gone if deletes.path == path]
        taken = sum(len(deletes.keys) for deletes in of_file)
        data.append(DataFile(1, len(store.get(path)), taken, len(of_file)))
    return TableFiles(MERGED, {"": data}, snapshots=loose_snapshots(table, store.now_ms))


def expire(world: World, name: TableId, before_ms: int) -> Actor:
    """As Iceberg does: all that no branch or tag keeps, then the files that nothing names."""
    store = world.store
    while True:
        if name not in store.names:
            return
        table = world.load(name)
        there = {snapshot.snapshot_id for snapshot in table.snapshots()}
        gone = sorted(there - retained(table, before_ms))
        if not gone:
            return
        yield
        try:
            update = RemoveSnapshotsUpdate(snapshot_ids=gone)
            store.replace(name, table.metadata_location, [update])
        except CommitFailedException:
            continue
        break
    left = store.named(world.load(name)) | store.named(store.load_table(name.parts))
    for path in sorted(store.named(table) - left):
        yield
        store.delete(path)


def retained(table: Table, before_ms: int) -> set[int]:
    """The snapshots that an expiry leaves."""
    left: set[int] = set()
    for ref in table.refs().values():
        lineage = ancestors(table, ref.snapshot_id)
        if ref.snapshot_ref_type is SnapshotRefType.TAG:
            left.add(ref.snapshot_id)
            continue
        for number, snapshot in enumerate(lineage):
            if number and snapshot.timestamp_ms < before_ms:
                break
            left.add(snapshot.snapshot_id)
    lineages = [ancestors(table, ref.snapshot_id) for ref in table.refs().values()]
    referred = {snapshot.snapshot_id for lineage in lineages for snapshot in lineage}
    left |= {
        snapshot.snapshot_id
        for snapshot in table.snapshots()
        if snapshot.snapshot_id not in referred and snapshot.timestamp_ms >= before_ms
    }
    return left


def rewrite(world: World, name: TableId) -> Actor:
    """As Iceberg does: in place of files of main, unless somebody changed what they hold."""
    store = world.store
    table = world.load(name)
    before = store.files_of(table.current_snapshot())
    rows = store.rows_of(table.current_snapshot())
    if len(before.data) < 2 and not before.deletes:  # noqa: PLR2004  one file is written together
        return
    yield
    path = store.put(table.metadata.location, rows)
    while True:
        yield
        now = world.load(name) if name in store.names else table
        if now.metadata.table_uuid != table.metadata.table_uuid or not holds(store, now, before):
            store.delete(path)
            return
        files = store.files_of(now.current_snapshot())
        left = tuple(data for data in files.data if data not in before.data)
        deletes = tuple(one for one in files.deletes if one not in before.deletes)
        snapshot = written_together(store, now, Files((*left, path), deletes))
        try:
            store.replace(name, now.metadata_location, moved(MAIN_BRANCH, snapshot))
        except CommitFailedException:
            store.delete(snapshot.manifest_list)
            continue
        return


def holds(store: Store, table: Table, before: Files) -> bool:
    """Whether main has the files yet that were read, and none of their rows is gone since."""
    files = store.files_of(table.current_snapshot())
    new = set(files.deletes) - set(before.deletes)
    is_there = set(before.data) <= set(files.data)
    return is_there and not any(store.get(path).path in before.data for path in new)


def written_together(store: Store, table: Table, files: Files) -> Snapshot:
    return store.snapshot(table, main_head(table), files, Operation.REPLACE)


def remove_orphans(world: World, name: TableId, age_ms: int) -> Actor:
    """As Iceberg does: what is old, lies in the table's folder, and nothing names."""
    store = world.store
    if name not in store.names:
        return
    table = world.load(name)
    folder, before_ms = f"{table.metadata.location}/", store.now_ms - age_ms
    found = [path for path, at_ms in store.born.items() if at_ms < before_ms]
    named = store.named(table)
    for path in sorted(found):
        if path.startswith(folder) and path not in named:
            yield
            store.delete(path)
