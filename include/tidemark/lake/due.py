"""A move of ``main`` that is still to be made, and what a catalog is asked for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from time import time_ns

from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
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

from tidemark.lake.fork_metadata import FORK_OF, KEEPING, next_of
from tidemark.lake.marks import (
    PUBLISHED,
    STAGED,
    TAG,
    entry_of,
    marked,
    marked_unmoved,
    read_published,
)
from tidemark.lake.refs import (
    DAY_MS,
    KEEP_TAG_DAYS,
    MAX_INTERVAL_TAGS,
    RefUpdate,
    ancestors,
    is_taken,
    main_head,
)
from tidemark.model.names import is_interval_tag

LAYOUT = (
    *("table_uuid", "format_version", "schemas", "current_schema_id"),
    *("partition_specs", "default_spec_id", "sort_orders", "default_sort_order_id"),
)
"""What metadata say of how rows are laid out."""
COMMENT = "comment"
"""The property that engines show as the comment of a table."""
OUR_COMMENT = "Tidemark's "
"""What a comment of ours begins with."""


@dataclass(frozen=True, slots=True)
class Due:
    """A move, the table as it is, and the metadata that it goes on from: its own or its fork's.

    source: None where the fork is gone.
    """

    ref_update: RefUpdate
    table: Table
    source: Table | None

    @property
    def fork(self) -> Table | None:
        """What takes the table's place; None where the table keeps its own metadata."""
        return None if self.ref_update.fork is None else self.source

    @property
    def before(self) -> Table:
        """The table with the metadata to which the move is made: a fork's, as the table's own."""
        if self.fork is None:
            return self.table
        made = takewhile(
            lambda snapshot: snapshot.snapshot_id != self.ref_update.base,
            ancestors(self.fork, self.ref_update.snapshot),
        )
        return next_of(self.table, self.fork, [snapshot.snapshot_id for snapshot in made])

    @property
    def stands(self) -> bool:
        """Whether main stands where the move takes it."""
        return main_head(self.table) == self.ref_update.snapshot

    @property
    def is_published(self) -> bool:
        """Whether main stands there, and the table says so (PUB-9).

        Else somebody else moved it; or it stood there, in files that were rewritten, before a cut
        that changed no row.
        """
        if not self.stands:
            return False
        published = read_published(self.table)
        if published is None:
            return not self.is_moved
        return published.snapshot == self.ref_update.snapshot

    @property
    def is_moved(self) -> bool:
        """Whether the cut made another snapshot than that at which main stood."""
        return self.ref_update.snapshot != self.ref_update.base

    @property
    def is_made(self) -> bool:
        """Whether nothing is left to do, but for a new name; a fork that was published is gone."""
        if self.lacks_tag and not self.is_tag_taken:
            return False
        if self.ref_update.is_tag_only:
            return True
        if self.fork is not None:
            return self.stands and _definition_of(self.fork.metadata) == self._definition
        return self.is_published and self.is_as_forked is not True

    @property
    def lacks_tag(self) -> bool:
        """Whether the table never got the tag; that somebody removed it since does not matter."""
        published = read_published(self.table)
        tag = self.ref_update.tag
        return bool(tag) and (published is None or published.marks.get(TAG) != tag)

    @property
    def is_tag_taken(self) -> bool:
        """Whether somebody made a branch or tag of that name, which stays as it is."""
        ref_update = self.ref_update
        return bool(ref_update.tag) and is_taken(self.table, ref_update.tag, ref_update.snapshot)

    @property
    def is_unproven(self) -> bool:
        """Whether nothing tells if it is made: only the schema moves, and the fork is gone."""
        return self.stands and self.is_as_forked is None

    @property
    def is_as_forked(self) -> bool | None:
        """Whether a fork that is gone never took the table's place.

        None where the metadata are gone from which it was made. A fork differs from those.
        """
        fork = self.ref_update.fork
        if fork is None or self.fork is not None or (self.stands and self.is_moved):
            return False
        if self.table.metadata_location == fork.origin:
            return True
        try:
            origin = FromInputFile.table_metadata(self.table.io.new_input(fork.origin))
        except FileNotFoundError:
            return None
        return _definition_of(origin) == self._definition

    @property
    def _definition(self) -> Mapping[str, object]:
        return _definition_of(self.table.metadata)

    def requirements(self) -> Iterator[TableRequirement]:
        """That it is this table, and nobody moved its main or took the tag since it was read."""
        yield AssertTableUUID(uuid=self.table.metadata.table_uuid)
        yield AssertRefSnapshotId(ref=MAIN_BRANCH, snapshot_id=main_head(self.table))
        tag = self.ref_update.tag
        if tag and tag not in self.table.refs():
            yield AssertRefSnapshotId(ref=tag, snapshot_id=None)

    def updates(self, before: Table) -> Iterator[TableUpdate]:
        """The move itself, made to the metadata of ``before``."""
        ref_update = self.ref_update
        if ref_update.is_tag_only:
            yield from _tag_alone(before, ref_update)
            return
        yield SetSnapshotRefUpdate(
            ref_name=MAIN_BRANCH,
            type=SnapshotRefType.BRANCH,
            snapshot_id=ref_update.snapshot,
            max_ref_age_ms=None,
            max_snapshot_age_ms=None,
            min_snapshots_to_keep=None,
        )
        yield from _tagged(before, ref_update)
        for name in ref_update.drops:
            if name in before.refs():
                yield RemoveSnapshotRefUpdate(ref_name=name)
        entries = [entry_of(name) for name in ref_update.drops]
        if gone := [entry for entry in entries if entry in before.properties]:
            yield RemovePropertiesUpdate(removals=gone)
        has_tag = ref_update.tag and not is_taken(before, ref_update.tag, ref_update.snapshot)
        marks = dict(ref_update.marks) | ({TAG: ref_update.tag} if has_tag else {})
        comment, there = ref_update.comment, before.properties.get(COMMENT, OUR_COMMENT)
        is_ours = bool(comment) and there.startswith(OUR_COMMENT)
        mark = marked if self.is_moved else marked_unmoved
        properties = mark(before, ref_update.snapshot, marks)
        yield SetPropertiesUpdate(updates=properties | ({COMMENT: comment} if is_ours else {}))


def _tag_alone(before: Table, ref_update: RefUpdate) -> Iterator[TableUpdate]:
    """The tag, and that the table has it; main may stand at the same rows in other files."""
    yield from _tagged(before, ref_update)
    yield SetPropertiesUpdate(
        updates=marked_unmoved(before, ref_update.snapshot, {TAG: ref_update.tag})
    )


def _tagged(before: Table, ref_update: RefUpdate) -> Iterator[TableUpdate]:
    """The tag of a move, in the place of the oldest where there are many; what is there stays.

    Iceberg counts its age from the snapshot on, which may be an old one.
    """
    tag, refs = ref_update.tag, before.refs()
    if not tag or tag in refs:
        return
    snapshot, now_ms = before.snapshot_by_id(ref_update.snapshot), time_ns() // 1_000_000
    age_ms = now_ms - (snapshot.timestamp_ms if snapshot else now_ms)
    yield SetSnapshotRefUpdate(
        ref_name=tag,
        type=SnapshotRefType.TAG,
        snapshot_id=ref_update.snapshot,
        max_ref_age_ms=max(age_ms, 0) + KEEP_TAG_DAYS * DAY_MS,
        max_snapshot_age_ms=None,
        min_snapshots_to_keep=None,
    )
    if is_interval_tag(tag):
        others = sorted(name for name, ref in refs.items() if _is_of_interval(name, ref))
        for name in others[: max(len(others) + 1 - MAX_INTERVAL_TAGS, 0)]:
            yield RemoveSnapshotRefUpdate(ref_name=name)


def _is_of_interval(name: str, ref: SnapshotRef) -> bool:
    """Whether a run set the tag for its interval; nobody has it kept for ever."""
    is_tag = ref.snapshot_ref_type is SnapshotRefType.TAG
    return is_tag and ref.max_ref_age_ms is not None and is_interval_tag(name)


def _definition_of(metadata: TableMetadata) -> Mapping[str, object]:
    """What metadata say beside snapshots and what is published or staged, a fork's as a table's."""
    layout = {name: getattr(metadata, name) for name in LAYOUT}
    excluded = (*KEEPING, FORK_OF, PUBLISHED, COMMENT)
    return layout | {
        name: text
        for name, text in metadata.properties.items()
        if name not in excluded and not name.startswith(STAGED)
    }
