"""Tombstones of compacted topics: where compaction left no delete, they are it (KEY-12)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tidemark.formats.place import position
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.event import ENVELOPE_COLUMNS, UNTOLD, Kind, Op
from tidemark.model.names import TopicName


def deletes_of_tombstones(events: DataFrame, roles: TopicRoles) -> DataFrame:
    """Each tombstone that is not directly behind the delete of its key, as a delete of that key.

    In: RECORD_COLUMNS and ENVELOPE_COLUMNS of a range of offsets, placed by the offset alone. Out:
    the same rows. A tombstone names no table, its topic does (`table_of_topic`), and it has no
    time. One whose delete is not in the range deletes once more, at a greater offset, what is gone.
    """
    behind = Window.partitionBy("topic", "partition", "key").orderBy("offset")
    schema, table = table_of_topic()
    is_lone = (
        (F.col("kind") == Kind.TOMBSTONE.value)
        & F.col("key").isNotNull()
        & ~_has_role(roles)
        & ~F.col("_before").eqNullSafe(Op.DELETE.value)
    )
    as_delete = {
        "kind": F.lit(Kind.ROW.value),
        "source_schema": schema,
        "source_table": table,
        "op": F.lit(Op.DELETE.value),
        "position": position(),
        "schema_id": F.lit(UNTOLD).cast("long"),
    }
    marked = events.withColumn("_before", F.lag("op").over(behind)).withColumn("_lone", is_lone)
    changed = {
        name: F.when(F.col("_lone"), value).otherwise(F.col(name))
        for name, value in as_delete.items()
    }
    record_columns = [name for name in events.columns if name not in ENVELOPE_COLUMNS]
    return marked.select(
        *record_columns, *(changed.get(name, F.col(name)).alias(name) for name in ENVELOPE_COLUMNS)
    )


def table_of_topic() -> tuple[Column, Column]:
    """Schema and table in the name that Debezium gives a topic: the last two of its parts."""
    parts = F.split("topic", r"\.")
    return F.try_element_at(parts, F.lit(-2)), F.try_element_at(parts, F.lit(-1))


def _has_role(roles: TopicRoles) -> Column:
    named: list[TopicName] = sorted(roles.schema_changes | roles.transactions)
    return F.col("topic").isin(named) if named else F.lit(False)
