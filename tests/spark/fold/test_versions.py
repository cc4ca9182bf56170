"""Which changes a history target does not know yet."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tidemark.fold.latest import only_newest
from tidemark.fold.versions import is_newer, mark_event_ids, with_stored
from tidemark.model.columns import CHANGE, POSITION, SourceColumn, TableSchema, ValueEncoding
from tidemark.model.names import ColumnName

ID = ColumnName("id")
SCHEMA = TableSchema((SourceColumn(ID, "int", ValueEncoding.INTEGER, "int"),), (ID,))
READ, STREAMED = "0", "1"


def at(commit: int, rank: str, offset: int) -> str:
    """A position of PostgreSQL at the LSN 20."""
    return f"0001{commit:016X}{rank}{20:016X}{offset:016X}"


def test_what_is_streamed_at_the_lsn_of_a_snapshot_is_another_change(spark: SparkSession) -> None:
    """POS-4, POS-9: whether a cut falls between them or not; a copy may know a later commit."""
    positions = [at(20, READ, 1), at(20, STREAMED, 2), at(25, STREAMED, 3)]
    frame = spark.createDataFrame(
        [("U", position, 0, 0) for position in positions],
        "op STRING, position STRING, part INT, partition INT",
    )
    changes = frame.withColumn("row_key", F.struct(F.lit(1).alias("id")))
    retained = only_newest(mark_event_ids(changes, "TRUE"))
    assert {row["position"] for row in retained.collect()} == {positions[0], positions[2]}
    for known, newer in ((positions[0], {positions[2]}), (positions[1], set())):
        staged = retained.select(F.lit(1).alias("id"), F.col("position").alias(POSITION), CHANGE)
        stored = spark.createDataFrame(
            [(1, known, None)], "key_0 INT, began_at STRING, ended_at STRING"
        )
        left = with_stored(staged, stored, SCHEMA).where(is_newer())
        assert {row[POSITION] for row in left.collect()} == newer
