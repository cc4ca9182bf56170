"""What a cut holds, counted over light columns before any payload is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidemark.model.checkpoint_status import INCREMENTAL_ROW, WHOLE_SNAPSHOT, CheckpointStatus
from tidemark.model.event import Kind, Op, SnapshotMark
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place, Position
from tidemark.model.summary import PLACE, Summary


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """Records that are alike: one partition, kind, table, op, record schema and checkpoint status.

    table: None for records of no table. newest_offset: an example to read the schema from.
    read_at: where the newest snapshot of the source among them was read; read_to_last: likewise, of
    one whose last row is among them. chunk_from, chunk_to: least and greatest place of rows of an
    incremental snapshot. newest_ms: greatest source time of a change that was streamed.
    lowest_place: of any change; streamed_from: of those that were streamed; streamed_to: greatest
    place of what is no row of a snapshot of the source. read_ms: when the newest such row was read.
    """

    at: TopicPartition
    kind: Kind
    table: tuple[str, str] | None
    op: Op | None
    schema_id: int | None
    status: CheckpointStatus
    is_new: bool
    records: int
    without_key: int
    highest_place: Place | None
    highest: Position | None
    oldest_landing: int
    newest_offset: int
    read_at: Place | None = None
    read_to_last: Place | None = None
    chunk_from: Place | None = None
    chunk_to: Place | None = None
    newest_ms: int | None = None
    lowest_place: Place | None = None
    streamed_from: Place | None = None
    streamed_to: Place | None = None
    read_ms: int | None = None

    @property
    def is_change(self) -> bool:
        """It concerns rows of a table."""
        return self.kind in (Kind.ROW, Kind.TRUNCATE)

    @property
    def is_quarantined(self) -> bool:
        """As whole records: they cannot be read, or are of a transaction that was given up."""
        is_unread = self.kind is Kind.UNREADABLE and self.status is CheckpointStatus.PENDING
        return is_unread or self.status is CheckpointStatus.SKIPPED

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> ProfileEntry:
        """From one row of the answer to `profile_entries`."""
        named = row["source_schema"] is not None and row["source_table"]
        return cls(
            at=TopicPartition(TopicName(row["topic"]), row["partition"]),
            kind=Kind(row["kind"]),
            table=(row["source_schema"], row["source_table"]) if named else None,
            op=Op(row["op"]) if row["op"] else None,
            schema_id=row["schema_id"],
            status=CheckpointStatus(row["status"]),
            is_new=bool(row["is_new"]),
            records=row["records"],
            without_key=row["without_key"],
            highest_place=row["highest_place"],
            highest=row["highest"],
            oldest_landing=row["oldest_landing"],
            newest_offset=row["newest_offset"],
            read_at=row["read_at"],
            read_to_last=row["read_to_last"],
            chunk_from=row["chunk_from"],
            chunk_to=row["chunk_to"],
            newest_ms=row["newest_ms"],
            lowest_place=row["lowest_place"],
            streamed_from=row["streamed_from"],
            streamed_to=row["streamed_to"],
            read_ms=row["read_ms"],
        )


@dataclass(frozen=True, slots=True)
class BatchProfile:
    """All groups of the records that a cut looks at."""

    profile_entries: tuple[ProfileEntry, ...]

    def of(
        self, table: TableName, status: CheckpointStatus, kind: Kind = Kind.ROW
    ) -> tuple[ProfileEntry, ...]:
        """The groups of ``table`` in ``status``."""
        name = (table.schema, table.table)
        return tuple(
            g
            for g in self.profile_entries
            if g.table == name and g.status is status and g.kind is kind
        )

    def names(self, status: CheckpointStatus) -> tuple[tuple[str, str], ...]:
        """Schema and table, as records write them, with rows or truncates in ``status``."""
        changed = (g for g in self.profile_entries if g.is_change and g.status is status)
        return tuple(sorted({g.table for g in changed if g.table is not None}))


def count(profile_entries: Iterable[ProfileEntry]) -> int:
    """How many records ``profile_entries`` hold."""
    return sum(profile_entry.records for profile_entry in profile_entries)


# By the source's clock; one whose zone a connector takes for another is ahead of Kafka's.
_READ_MS = "unix_millis(CASE WHEN commit_time > kafka_time THEN kafka_time ELSE commit_time END)"


def profile_entries(gated_landing: int) -> Summary:
    """Count changelog rows beside their ``status``, as `ProfileEntry.of` reads them."""
    alike = (
        "topic",
        "partition",
        "kind",
        "source_schema",
        "source_table",
        "op",
        "schema_id",
        "status",
    )
    return Summary(
        keys={**{name: name for name in alike}, "is_new": f"landing > {gated_landing}"},
        figures={
            "records": "count(*)",
            "without_key": "sum(CASE WHEN key IS NULL THEN 1 ELSE 0 END)",
            "highest_place": f"max({PLACE})",
            "lowest_place": f"min({PLACE})",
            "streamed_from": f"min(CASE WHEN snapshot IS NULL THEN {PLACE} END)",
            "streamed_to": f"max(CASE WHEN NOT ({WHOLE_SNAPSHOT}) THEN {PLACE} END)",
            "read_ms": f"max(CASE WHEN {WHOLE_SNAPSHOT} THEN {_READ_MS} END)",
            "highest": "max(position)",
            "oldest_landing": "min(landing)",
            "newest_offset": "max(offset)",
            "read_at": f"max(CASE WHEN {WHOLE_SNAPSHOT} THEN {PLACE} END)",
            "read_to_last": f"max(CASE WHEN snapshot = '{SnapshotMark.LAST}' THEN {PLACE} END)",
            "newest_ms": "max(CASE WHEN snapshot IS NULL THEN unix_millis(commit_time) END)",
            "chunk_from": f"min(CASE WHEN {INCREMENTAL_ROW} THEN {PLACE} END)",
            "chunk_to": f"max(CASE WHEN {INCREMENTAL_ROW} THEN {PLACE} END)",
        },
    )


def newest_ms(profile_entries: Iterable[ProfileEntry]) -> int:
    """The greatest source time of a streamed change; 0 when there is none."""
    return max((g.newest_ms or 0 for g in profile_entries if g.is_change), default=0)


def read_ms(profile_entries: Iterable[ProfileEntry]) -> int:
    """When the newest row of a snapshot of the source was read; 0 when there is none."""
    return max((g.read_ms or 0 for g in profile_entries if g.is_change), default=0)


def highest_places(profile_entries: Iterable[ProfileEntry]) -> dict[TopicPartition, Place]:
    """Per partition the greatest place among ``profile_entries`` (POS-20)."""
    return _highest((g.at, g.highest_place) for g in profile_entries)


def streamed_places(profile_entries: Iterable[ProfileEntry]) -> dict[TopicPartition, Place]:
    """Likewise, of what no snapshot of the source has read."""
    return _highest((g.at, g.streamed_to) for g in profile_entries)


def _highest(
    places: Iterable[tuple[TopicPartition, Place | None]],
) -> dict[TopicPartition, Place]:
    highest: dict[TopicPartition, Place] = {}
    for at, place in places:
        if place is not None:
            highest[at] = max(highest.get(at, Place("")), place)
    return highest
