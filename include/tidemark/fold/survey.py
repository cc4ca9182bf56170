"""What a cut would hold, counted over light columns before any payload is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from tidemark.fold.admit import Zone, place
from tidemark.model.event import Kind, Op
from tidemark.model.names import TableName, TopicName
from tidemark.model.offsets import TopicPartition
from tidemark.model.position import Place, Position


@dataclass(frozen=True, slots=True)
class Group:
    """Records that are alike: one partition, kind, table, op, record schema and zone.

    table: None for records of no table. newest_offset: an example to read the schema from.
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

    @property
    def is_change(self) -> bool:
        """It concerns rows of a table."""
        return self.kind in (Kind.ROW, Kind.TRUNCATE)


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


GROUP_KEYS = (
    "topic",
    "partition",
    "kind",
    "source_schema",
    "source_table",
    "op",
    "schema_id",
    "zone",
    "is_new",
)


def survey(zoned: Sequence[DataFrame], gated_landing: int) -> Survey:
    """Count the events of ``zoned`` frames (changelog rows with ``zone``) in one Spark job."""
    counted = [_counted(frame, gated_landing) for frame in zoned]
    together = counted[0]
    for other in counted[1:]:
        together = together.unionByName(other)
    return Survey(tuple(_group(row) for row in together.collect()))


def _counted(zoned: DataFrame, gated_landing: int) -> DataFrame:
    return (
        zoned.withColumn("is_new", F.col("landing") > gated_landing)
        .groupBy(*GROUP_KEYS)
        .agg(
            F.count(F.lit(1)).alias("records"),
            F.count_if(F.col("key").isNull()).alias("without_key"),
            F.max(place()).alias("highest_place"),
            F.max("position").alias("highest"),
            F.min("landing").alias("oldest_landing"),
            F.max("offset").alias("newest_offset"),
        )
    )


def _group(row: Row) -> Group:
    named = row["source_schema"] is not None and row["source_table"]
    return Group(
        at=TopicPartition(TopicName(row["topic"]), row["partition"]),
        kind=Kind(row["kind"]),
        table=(row["source_schema"], row["source_table"]) if named else None,
        op=Op(row["op"]) if row["op"] else None,
        schema_id=row["schema_id"],
        zone=Zone(row["zone"]),
        is_new=row["is_new"],
        records=row["records"],
        without_key=row["without_key"],
        highest_place=row["highest_place"],
        highest=row["highest"],
        oldest_landing=row["oldest_landing"],
        newest_offset=row["newest_offset"],
    )


def highest_places(groups: Collection[Group]) -> dict[TopicPartition, Place]:
    """Per partition the greatest place among ``groups`` (POS-20)."""
    highest: dict[TopicPartition, Place] = {}
    for group in groups:
        if group.highest_place is not None:
            highest[group.at] = max(highest.get(group.at, Place("")), group.highest_place)
    return highest
