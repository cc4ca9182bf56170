"""What of a table is published, kept in a property of the table, and whether main still is that.

The summary of a snapshot goes when somebody expires it; a property of the table stays. It is set in
the commit that moves main, and there is one of it (PUB-9, docs/adr/0017).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from tidemark.errors import UNCHANGED, ForeignChangeError
from tidemark.lake.catalog import TableId, catalog_errors, commit_errors
from tidemark.model.stored_state import Stored, from_stored, to_stored

PREFIX = "tidemark."
PUBLISHED = f"{PREFIX}published"
CUT = f"{PREFIX}cut"
"""What a target says of the newest cut that changed it."""
TAG = f"{PREFIX}tag"
"""What the ledger says of the tag that the newest cut gave, and a target of the newest it got."""
STAGED = f"{PREFIX}staged."
"""With the name of a branch behind it: the property that says what is staged there."""
IN_PROPERTY: Mapping[str, str] = {f"{PREFIX}state": "property"}
"""What a snapshot says whose summary does not tell what the property does."""
RETENTION = f"{PREFIX}retention"
"""What a snapshot of the changelog says that lacks records which are needed no more (KEEP-1)."""
FIRST_SEQUENCE = 1
WRITERS = ("spark.app.id", "app-id", "trino_query_id", "flink.job-id")
PUT_BACK = f"put the property {PUBLISHED} back from an older file of its metadata"
ANEW = "fold a new snapshot of the source by a pipeline of another name, into new targets"

Parent = Callable[[Snapshot], Snapshot | None]


@dataclass(frozen=True, slots=True)
class Published:
    """The snapshot that main of a table was moved to last, by whoever owns the table.

    sequence: its sequence number. rows: that it holds, as its summary counts them. marks: what
    summaries say under PREFIX, in their newest words.
    """

    snapshot: int
    sequence: int
    rows: int
    marks: Mapping[str, str]

    def to_json(self) -> str:
        """As kept in the property."""
        return json.dumps(to_stored(asdict(self)))

    @classmethod
    def from_json(cls, text: str) -> Published:
        """The reverse of `to_json`."""
        return cls(**from_stored(Stored.PUBLISHED, json.loads(text)))


def live_rows(snapshot: Snapshot | None) -> int:
    """Rows of a snapshot, as its summary counts them."""
    summary = _summary(snapshot)
    return int(summary.get("total-records", 0)) - int(summary.get("total-position-deletes", 0))


def most_rows(snapshot: Snapshot | None) -> int:
    """Rows in the data files of a snapshot, also those that its delete files take away.

    Somebody's compaction may leave delete files behind that take nothing away any more, so that
    `live_rows` may be too few, and this never is.
    """
    return int(_summary(snapshot).get("total-records", 0))


def read_published(table: Table) -> Published | None:
    """What is published of ``table``; None when nothing tells.

    The first versions left it in summaries alone: then the newest that is there counts, and what
    was expired is sought in the files of metadata that the table still names.
    """
    text = table.properties.get(PUBLISHED)
    if text is not None:
        return Published.from_json(text)
    for parent in (partial(_unexpired_parent, table), _Past(table).parent):
        marked = [snapshot for snapshot in _lineage(table, parent) if _marks(snapshot)]
        if marked and IN_PROPERTY.items() <= _summary(marked[0]).items():
            return None
        if marked:
            marks = (item for snapshot in reversed(marked) for item in _marks(snapshot).items())
            return _published(marked[0], dict(marks))
    return None


def read_checked(table: Table, name: TableId) -> Published | None:
    """What is published of a pipeline's own table; None when it has neither that nor rows.

    `ForeignChangeError`: it has rows and nothing tells of them (PUB-10), or somebody else changed
    or moved them (PUB-11).
    """
    published = read_published(table)
    if published is not None:
        refuse_foreign(table, name, published)
        return published
    if what := unmarked(table, published):
        raise ForeignChangeError(
            f"{name} is not as it was published: {what}",
            state=UNCHANGED,
            next_step=f"{PUT_BACK}; else {ANEW}",
        )
    return None


def refuse_foreign(table: Table, name: TableId, published: Published | None) -> None:
    """Raise `ForeignChangeError` when main of a pipeline's own table is not what was published."""
    what = foreign_change(table, published)
    if published is None or not what:
        return
    back = way_back(table, name, published)
    raise ForeignChangeError(
        f"{name} is not as it was published: {what}",
        state=UNCHANGED,
        next_step=back or f"snapshot {published.snapshot} is expired: {ANEW}",
    )


def unmarked(table: Table, published: Published | None) -> str:
    """That ``table`` has rows and nothing tells of them, as a sentence; empty where that is not."""
    if published is not None or live_rows(table.current_snapshot()) <= 0:
        return ""
    return (
        f"it has rows, but neither its property {PUBLISHED} nor the summary of any snapshot tells "
        "what they are: somebody removed or expired that"
    )


def way_back(table: Table, name: TableId, published: Published | None) -> str:
    """What moves main back to ``published``; empty when that is not there."""
    if published is None or table.snapshot_by_id(published.snapshot) is None:
        return ""
    call = f"CALL {table.catalog.name}.system.set_current_snapshot('{name}', {published.snapshot})"
    return f"go back to the published rows, in Spark: {call}"


def foreign_change(table: Table, published: Published | None) -> str:
    """What somebody else did to the rows of ``table``, as a sentence; empty when nothing.

    Files may be rewritten, which leaves all rows as they are (PUB-11). Which snapshots lie between
    is told by parent ids, also of snapshots that are expired. Where they end too early, as many
    rows have to be there as before.
    """
    head = table.current_snapshot()
    if published is None or (head is not None and head.snapshot_id == published.snapshot):
        return ""
    if head is None:
        return f"main has no snapshot, and {published.snapshot} was published"
    last = head
    for snapshot in _lineage(table, _Past(table).parent):
        if snapshot.snapshot_id == published.snapshot:
            return ""
        if (snapshot.sequence_number or 0) < published.sequence:
            back = f"from snapshot {published.snapshot} to {_describe(snapshot)}"
            return f"main was set back {back}; main was moved last at {_moved_at(table)}"
        if not _is_rewrite(snapshot):
            return f"behind snapshot {published.snapshot} came {_describe(snapshot)}"
        last = snapshot
    if last.parent_snapshot_id == published.snapshot or live_rows(head) == published.rows:
        return ""
    return (
        f"snapshots behind {published.snapshot} are expired, and of its {published.rows} rows "
        f"{live_rows(head)} are there in {_describe(head)}"
    )


def is_only_rewritten(table: Table, since: int | None) -> bool:
    """Whether main stands at snapshot ``since``, or at one with the same rows in other files."""
    head = table.current_snapshot()
    if head is None or since is None:
        return (None if head is None else head.snapshot_id) == since
    for snapshot in _lineage(table, _Past(table).parent):
        if snapshot.snapshot_id == since:
            return True
        if not _is_rewrite(snapshot):
            return False
        if snapshot.parent_snapshot_id == since:
            return True
    return False


def descends(table: Table, snapshot_id: int, base: int) -> bool:
    """Whether ``base``, which may be expired, is ``snapshot_id`` or one of its ancestors.

    False where the table has no snapshot ``snapshot_id`` any more.
    """
    start = table.snapshot_by_id(snapshot_id)
    if start is None:
        return False
    lineage = _lineage(table, _Past(table).parent, start)
    return any(base in (snapshot.snapshot_id, snapshot.parent_snapshot_id) for snapshot in lineage)


def entry_of(branch: str) -> str:
    """The name of the property that says what is staged on ``branch``."""
    return f"{STAGED}{branch}"


def marked(table: Table, snapshot_id: int, marks: Mapping[str, str]) -> dict[str, str]:
    """The property of ``table`` once its main stands at a snapshot that it has.

    marks: what it says beside the snapshot's own summary, and before that.
    """
    snapshot = table.snapshot_by_id(snapshot_id)
    return {} if snapshot is None else _property(snapshot, read_published(table), marks)


def marked_unmoved(table: Table, snapshot_id: int, marks: Mapping[str, str]) -> dict[str, str]:
    """As `marked`, of a snapshot that has the rows of what is published, in files of its own.

    How many these are is known: the summary of somebody's compaction may count them otherwise.
    """
    before, snapshot = read_published(table), table.snapshot_by_id(snapshot_id)
    if before is None or snapshot is None:
        return marked(table, snapshot_id, marks)
    now = _property(snapshot, before, marks)[PUBLISHED]
    return {PUBLISHED: replace(Published.from_json(now), rows=before.rows).to_json()}


def adopt_head(catalog: Catalog, name: TableId, cut: int) -> None:
    """Take main of a target as it is for what is published; it need not be there.

    cut: the newest that is published; the target says that it stands there.
    """
    with catalog_errors(f"the marking of {name}"):
        try:
            table = catalog.load_table(name.parts)
        except NoSuchTableError:
            return
        head, before = table.current_snapshot(), read_published(table)
        is_ours = before is not None and not foreign_change(table, before)
        is_older = before is not None and int(before.marks.get(CUT, cut)) < cut
        if head is not None and (is_older or not is_ours):
            with table.transaction() as change:
                change.set_properties(_property(head, before, {CUT: str(cut)}))


def mark_removal(catalog: Catalog, name: TableId) -> None:
    """Take main of a table for what is published, if only RETENTION was done to it.

    So the number of its rows is known again.
    """
    with commit_errors(f"the marking of {name}"):
        table = catalog.load_table(name.parts)
        head, before = table.current_snapshot(), read_published(table)
        if head is not None and before is not None and not foreign_change(table, before):
            with table.transaction() as change:
                change.set_properties(_property(head, before, {}))


def _property(
    snapshot: Snapshot, before: Published | None, marks: Mapping[str, str]
) -> dict[str, str]:
    merged = {**(before.marks if before else {}), **_marks(snapshot), **marks}
    return {PUBLISHED: _published(snapshot, merged).to_json()}


def _published(snapshot: Snapshot, marks: Mapping[str, str]) -> Published:
    sequence = snapshot.sequence_number or 0
    return Published(
        snapshot.snapshot_id, sequence, live_rows(snapshot), dict(sorted(marks.items()))
    )


def _summary(snapshot: Snapshot | None) -> Mapping[str, str]:
    if snapshot is None or snapshot.summary is None:
        return {}
    return snapshot.summary.additional_properties


def _marks(snapshot: Snapshot) -> dict[str, str]:
    """What a snapshot says under PREFIX, but for IN_PROPERTY, which says how much that is."""
    return {
        key: value
        for key, value in _summary(snapshot).items()
        if key.startswith(PREFIX) and key not in IN_PROPERTY
    }


def _is_rewrite(snapshot: Snapshot) -> bool:
    """Whether it has the rows of its parent, in other files, but for those of no more use."""
    is_replaced = snapshot.summary is not None and snapshot.summary.operation is Operation.REPLACE
    return is_replaced or RETENTION in _summary(snapshot)


def _lineage(table: Table, parent: Parent, start: Snapshot | None = None) -> Iterator[Snapshot]:
    """``start`` and its ancestors, newest first, as far as ``parent`` finds them.

    start: the head of main where it is None.
    """
    snapshot = start or table.current_snapshot()
    while snapshot is not None:
        yield snapshot
        snapshot = parent(snapshot)


def _unexpired_parent(table: Table, snapshot: Snapshot) -> Snapshot | None:
    parent = snapshot.parent_snapshot_id
    return None if parent is None else table.snapshot_by_id(parent)


class _Past:
    """Snapshots of a table, of which those that are expired stand in older files of its metadata.

    A file is read when what the newer ones tell does not do. pyiceberg's expiry also takes from a
    snapshot which one was its parent.
    """

    def __init__(self, table: Table) -> None:
        self._io = table.io
        self._older = reversed(table.metadata.metadata_log)
        self._known = {snapshot.snapshot_id: snapshot for snapshot in table.snapshots()}

    def parent(self, snapshot: Snapshot) -> Snapshot | None:
        """The parent of a snapshot; None when there is none, or nothing tells."""
        while True:
            known = self._known[snapshot.snapshot_id]
            parent = known.parent_snapshot_id
            is_first = parent is None and known.sequence_number == FIRST_SEQUENCE
            if is_first or parent in self._known or not self._read_older():
                return None if parent is None else self._known.get(parent)

    def _read_older(self) -> bool:
        """Learn what the next older file tells; False when there is none."""
        entry = next(self._older, None)
        if entry is None:
            return False
        try:
            metadata = FromInputFile.table_metadata(self._io.new_input(entry.metadata_file))
        except FileNotFoundError:
            return True  # Somebody committed meanwhile, and the oldest files went.
        for snapshot in metadata.snapshots:
            known = self._known.get(snapshot.snapshot_id)
            if known is None or known.parent_snapshot_id is None:
                self._known[snapshot.snapshot_id] = snapshot
        return True


def _describe(snapshot: Snapshot) -> str:
    """Whose snapshot it is, and what it did."""
    summary = _summary(snapshot)
    named = [name for name in ("engine-name", "engine-version", *WRITERS) if name in summary]
    writer = " ".join(summary[name] for name in named) or "a writer that left no name"
    did = snapshot.summary.operation.value if snapshot.summary else "unknown"
    added, deleted = (summary.get(f"{key}-records", "0") for key in ("added", "deleted"))
    return (
        f"snapshot {snapshot.snapshot_id} ({did}: {added} rows added, {deleted} deleted) of "
        f"{writer} from {_time(snapshot.timestamp_ms)}"
    )


def _moved_at(table: Table) -> str:
    log = table.metadata.snapshot_log
    return _time(log[-1].timestamp_ms if log else table.metadata.last_updated_ms)


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="seconds")
