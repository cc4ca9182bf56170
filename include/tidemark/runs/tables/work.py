"""What a cut does to one table, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from tidemark.lake.catalog import TableId
from tidemark.lake.evolve import TargetHead
from tidemark.lake.refs import TargetRename
from tidemark.lake.staging import Removal
from tidemark.model.columns import TableSchema
from tidemark.model.names import ColumnName, TopicName
from tidemark.model.position import LAST, Position
from tidemark.model.reduction import above_truncate, not_ended_before
from tidemark.model.target_mode import TargetMode
from tidemark.runs.choose import Chosen
from tidemark.runs.tables.copies import Copies
from tidemark.runs.tables.refolds import Replaced
from tidemark.runs.tables.reread import Reread
from tidemark.schema.changes import BackfillColumn, RewriteColumn, SchemaChange
from tidemark.spec import TableSpec


@dataclass(frozen=True, slots=True)
class TableWork:
    """What a cut does to one table.

    head: of its target as it was read, None where there is none. source_schema: columns of its
    source. changes: to the target's. rows: row events in the cut; replayed: those that are tried
    again. truncated_at: newest truncate ever, which events must be above; new_truncate: the
    truncate of this cut, if any. window_bound: below it rows of an incremental snapshot fall that
    are above the truncate (SNAP-7). removal: what a new snapshot did not contain. ended_before: the
    newest truncate of earlier cuts, or where another table of that name ended. changes_key: the cut
    ends where other columns become the key, and its rows have those of before. copies: what of the
    cut came before and is left out. inferred: columns that only their values tell
    the types of, and those. becomes: the name that the target gets with the cut. reread: from where
    on each row has to have come again. is_another: rows end as the table was dropped, or is not the
    one that it was; what they were stays readable. replaced: what the target takes the place of;
    is_beside: it stands beside that (REFOLD-1). topic: by whose offsets its rows are ordered, if
    they are. hidden: columns without whose values records may be (MASK-1).
    """

    spec: TableSpec
    target: TableId
    head: TargetHead | None
    source_schema: TableSchema
    changes: tuple[SchemaChange, ...]
    rows: int
    key_from_images: bool
    truncated_at: Position | None
    new_truncate: Position | None
    window_bound: Position | None
    removal: Removal | None
    ended_before: Position | None
    replayed: int = 0
    changes_key: bool = False
    copies: Copies = Copies()
    inferred: Mapping[ColumnName, str] = field(default_factory=dict)
    becomes: TargetRename | None = None
    reread: Reread | None = None
    is_another: bool = False
    replaced: Replaced | None = None
    is_beside: bool = False
    topic: TopicName | None = None
    hidden: frozenset[str] = frozenset()

    @property
    def have(self) -> TableSchema | None:
        """The columns that the target was made from, None where there is none."""
        return self.head.source_schema if self.head else None

    @property
    def published_as(self) -> TableId:
        """What the target is called once the cut is published."""
        return self.target if self.becomes is None else self.becomes.to

    @property
    def displaces(self) -> TableId | None:
        """What the table is called afterwards that has the name which the target gets."""
        displaced = self.becomes.displaced if self.becomes is not None else None
        return displaced.to if displaced is not None else None

    def row_events(self, chosen: Chosen) -> DataFrame:
        """The row events of the table that the cut takes or tries again, without copies."""
        return self.copies.dropped_from(chosen, chosen.row_events(self.spec.source))

    @property
    def counts(self) -> str:
        """Which row events of the cut count, as SQL: a mirror has nothing of what is truncated."""
        if self.spec.mode is TargetMode.APPEND:
            return "TRUE"
        if self.spec.mode is TargetMode.MIRROR:
            return above_truncate(self.truncated_at, self.window_bound)
        return not_ended_before(self.ended_before, self.truncated_at, self.window_bound)

    @property
    def goes_on_above(self) -> Position | None:
        """Above which position the rows of the target are that the cut goes on from."""
        is_mirror = self.spec.mode is TargetMode.MIRROR
        return self.truncated_at if is_mirror else self.ended_before

    @property
    def has_events(self) -> bool:
        """There are row events to be folded."""
        return self.rows > 0 or self.replayed > 0

    @property
    def schema(self) -> TableSchema:
        """Of the target, as rows are read for it."""
        schema = self.source_schema
        return (replace(schema, key=schema.former_key) if self.changes_key else schema).in_target

    @property
    def is_folded(self) -> bool:
        """Rows change, or which are one; a table that is new has none to take away."""
        is_removed = self.removal is not None and self.spec.mode is not TargetMode.APPEND
        ends_rows = self.new_truncate is not None or is_removed
        is_checked = self.changes_key and self.spec.mode is not TargetMode.APPEND
        is_written = bool(self.backfills or self.rewrites)
        touches = ends_rows or is_written or is_checked
        is_renamed = self.becomes is not None  # A target that is new and empty is as well.
        return self.has_events or is_renamed or (self.have is not None and touches)

    @property
    def is_audited(self) -> bool:
        """What is staged needs a verdict: rows changed, or columns that a suite may ask for."""
        return self.is_folded or (self.spec.suite is not None and bool(self.changes))

    @property
    def does_anything(self) -> bool:
        """Whether rows change, or what is known of the columns."""
        return self.is_folded or self.source_schema != self.have

    @property
    def may_release(self) -> bool:
        """A column is withheld until rows that the cut may change are older no more (SCHEMA-38)."""
        withheld = (column for column in self.source_schema.columns if column.is_withheld)
        return self.is_folded and any(column.unknown_below != LAST for column in withheld)

    @property
    def backfills(self) -> tuple[BackfillColumn, ...]:
        """Columns that joined, and what older rows hold in them."""
        return tuple(change for change in self.changes if isinstance(change, BackfillColumn))

    @property
    def rewrites(self) -> tuple[RewriteColumn, ...]:
        """Columns for which every row is rewritten."""
        return tuple(change for change in self.changes if isinstance(change, RewriteColumn))

    @property
    def moves_schema(self) -> bool:
        """Whether what a reader of a target that is there sees of its columns changes."""
        have = self.have
        if have is None:
            return False
        followed = (self.source_schema.column_renames, self.source_schema.changed_at)
        return bool(self.changes) or followed != (have.column_renames, have.changed_at)
