"""What somebody's compaction leaves of a table, without Spark."""

from __future__ import annotations

from pyiceberg.catalog import Catalog
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate

from tidemark.lake.catalog import TableId


def rewrite(catalog: Catalog, name: TableId, **counts: str) -> None:
    """Leave a snapshot that has the rows of its parent, but for what ``counts`` says of it."""
    table = catalog.load_table(name.parts)
    head = table.current_snapshot()
    assert head is not None
    assert head.summary is not None
    summary = Summary(Operation.REPLACE, **{**head.summary.additional_properties, **counts})
    after = {
        "snapshot_id": head.snapshot_id + 1,
        "parent_snapshot_id": head.snapshot_id,
        "sequence_number": table.last_sequence_number + 1,
        "timestamp_ms": head.timestamp_ms + 1,
        "summary": summary,
    }
    moved = SetSnapshotRefUpdate(
        ref_name="main",
        type=SnapshotRefType.BRANCH,
        snapshot_id=head.snapshot_id + 1,
        max_ref_age_ms=None,
        max_snapshot_age_ms=None,
        min_snapshots_to_keep=None,
    )
    added = AddSnapshotUpdate(snapshot=head.model_copy(update=after))
    catalog.commit_table(table, (), (added, moved))
