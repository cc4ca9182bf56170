"""What a cut holds, counted over light columns before any payload is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidemark.model.event import Kind, Op, SnapshotMark
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place, Position
from tidemark.model.summary import PLACE, Summary
from tidemark.model.zone import INCREMENTAL_ROW, WHOLE_SNAPSHOT, Zone


@dataclass(frozen=True, slots=True)
class Group:
    """Records that are alike: one partition, kind, table, op, record schema and zone.

    table: None for records of no table. newest_offset: an example to read the schema from.
    read_at: where the newest snapshot of the source among them was read; read_to_last: likewise, of
    one whose last row is among them. chunk_from, chunk_to: least and greatest place of rows of an
    incremental snapshot. newest_ms: greatest source time of a change that was streamed.
    lowest_place: of any change.
    """

    at: TopicPartition
    kind: Kind
    table: tuple[str, str] | None
    op: Op | None
    schema_id: int | None
    zone: Zone
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

    @property
    def is_change(self) -> bool:
        """It concerns rows of a table."""
        return self.kind in (Kind.ROW, Kind.TRUNCATE)

    @property
    def is_set_aside(self) -> bool:
        """As whole records: they cannot be read, or are of a transaction that was given up."""
        is_unread = self.kind is Kind.UNREADABLE and self.zone is Zone.CUT
        return is_unread or self.zone is Zone.SKIPPED

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Group:
        """From one row of the answer to `groups`."""
        named = row["source_schema"] is not None and row["source_table"]
        return cls(
            at=TopicPartition(TopicName(row["topic"]), row["partition"]),
            kind=Kind(row["kind"]),
            table=(row["source_schema"], row["source_table"]) if named else None,
            op=Op(row["op"]) if row["op"] else None,
            schema_id=row["schema_id"],
            zone=Zone(row["zone"]),
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
        )


@dataclass(frozen=True, slots=True)
class Survey:
    """All groups of the records that a cut looks at."""

    groups: tuple[Group, ...]

    def of(self, table: TableName, zone: Zone, kind: Kind = Kind.ROW) -> tuple[Group, ...]:
        """The groups of ``table`` in ``zone``."""
        name = (table.schema, table.table)
        return tuple(
            g for g in self.groups if g.table == name and g.zone is zone and g.kind is kind
        )

    def names(self, zone: Zone) -> tuple[tuple[str, str], ...]:
        """Schema and table, as records write them, with rows or truncates in ``zone``."""
        changed = (g for g in self.groups if g.is_change and g.zone is zone)
        return tuple(sorted({g.table for g in changed if g.table is not None}))


def count(groups: Iterable[Group]) -> int:
    """How many records ``groups`` hold."""
    return sum(group.records for group in groups)


def groups(gated_landing: int) -> Summary:
    """Count changelog rows beside their ``zone``; the answer's rows are what `Group.of` reads."""
    alike = (
        "topic",
        "partition",
        "kind",
        "source_schema",
        "source_table",
        "op",
        "schema_id",
        "zone",
    )
    return Summary(
        keys={**{name: name for name in alike}, "is_new": f"landing > {gated_landing}"},
        figures={
            "records": "count(*)",
            "without_key": "sum(CASE WHEN key IS NULL THEN 1 ELSE 0 END)",
            "highest_place": f"max({PLACE})",
            "lowest_place": f"min({PLACE})",
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


def newest_ms(groups: Iterable[Group]) -> int:
    """The greatest source time among streamed changes of ``groups``; 0 when there are none."""
    return max((g.newest_ms or 0 for g in groups if g.is_change), default=0)


def highest_places(groups: Collection[Group]) -> dict[TopicPartition, Place]:
    """Per partition the greatest place among ``groups`` (POS-20)."""
    highest: dict[TopicPartition, Place] = {}
    for group in groups:
        if group.highest_place is not None:
            highest[group.at] = max(highest.get(group.at, Place("")), group.highest_place)
    return highest
