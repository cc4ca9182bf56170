"""What only some connectors write in ``source``: whose table it is, and where a change stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.encoding import RecordEncoding
from tidemark.formats.place import number
from tidemark.model.event import SnapshotMark
from tidemark.model.position import (
    EPOCH,
    EPOCH_DIGITS,
    FILE_DIGITS,
    NUMBER_DIGITS,
    RANK_DIGITS,
    OrderedBy,
    Ordering,
    SnapshotRank,
    SnapshotRead,
)

_COMMIT = EPOCH_DIGITS + 1
_LSN = _COMMIT + NUMBER_DIGITS + RANK_DIGITS
"""Where the fields of PostgreSQL's positions start, counted from 1 as Spark does."""


Coordinates = tuple[tuple[Column, int], ...]


@dataclass(frozen=True, slots=True)
class SourceBlock:
    """The source block of one kind of connector.

    fields: its own ones, as a `from_json` schema. schema: the field that holds a table's schema.
    coordinates: (the block, whether the row was read and not streamed) -> the numbers of the
    position between epoch and offset, each with its digits; null: it has none (POS-12). is_logged:
    the block -> whether it tells that its change stands in a log, never null. has_messages: its
    statements come as logical messages (SCHEMA-36).
    """

    fields: str
    schema: str
    coordinates: Callable[[Column, Column], Coordinates]
    is_logged: Callable[[Column], Column]
    has_messages: bool = False


def binlog_block(ordering: Ordering) -> SourceBlock:
    """Of MySQL and MariaDB: file and offset in it (MSG-12, POS-3, POS-4)."""

    def coordinates(source: Column, is_snapshot: Column) -> Coordinates:
        return (
            (number(F.substring_index(source["file"], ".", -1)), FILE_DIGITS),
            (number(source["pos"]), NUMBER_DIGITS),
            (_rank(is_snapshot), RANK_DIGITS),
        )

    # A first snapshot knows no server (MSG-12); one amid the stream has that of the log.
    def is_logged(source: Column) -> Column:
        is_incremental = F.lower(source["snapshot"]) == SnapshotMark.INCREMENTAL.value
        has_server = number(source["server_id"]) != 0
        return F.coalesce(has_server, F.lit(False)) & ~F.coalesce(is_incremental, F.lit(False))

    fields = "`file` STRING, pos STRING, server_id STRING"
    return SourceBlock(fields, "db", _ordered(ordering, coordinates), is_logged)


def postgres_block(ordering: Ordering) -> SourceBlock:
    """Of PostgreSQL: the commit before a change, then the change's own LSN (MSG-13, POS-6).

    A streamed change that knows no commit yet is a new connector's and counts from its snapshot
    (POS-7); old connectors tell the LSN alone (POS-8).
    """
    read_before = [_if_before(read) for read in ordering.reads]

    def coordinates(source: Column, is_snapshot: Column) -> Coordinates:
        pair = F.from_json(source["sequence"], "ARRAY<STRING>")
        lsn = F.coalesce(number(F.get(pair, 1)), number(source["lsn"]))
        lifted = F.greatest(lsn, F.lit(ordering.snapshot_lsn).cast("long"), *read_before)
        committed = F.get(pair, 0)
        commit = (
            F.when(committed.isNotNull(), number(committed))
            .when(is_snapshot | source["sequence"].isNull(), lsn)
            .when(lsn.isNotNull(), lifted)
        )
        return (
            (commit, NUMBER_DIGITS),
            (_rank(is_snapshot), RANK_DIGITS),
            (lsn, NUMBER_DIGITS),
        )

    fields = "schema STRING, sequence STRING, lsn STRING"
    ordered = _ordered(ordering, coordinates)
    return SourceBlock(fields, "schema", ordered, lambda _: F.lit(False), has_messages=True)


def _ordered(
    ordering: Ordering, coordinates: Callable[[Column, Column], Coordinates]
) -> Callable[[Column, Column], Coordinates]:
    """``coordinates``, or none where the offset alone orders (POS-11)."""
    return coordinates if ordering.by is OrderedBy.POSITION else lambda *_: ()


def _if_before(read: SnapshotRead) -> Column:
    """The LSN of a snapshot beside the records that came after it."""
    first = json.dumps({str(place): offset for place, offset in read.first.items()})
    place = F.concat_ws("-", "topic", "partition")
    started = F.from_json(F.lit(first), "MAP<STRING, BIGINT>")[place]
    is_later = F.unix_millis("kafka_time") >= read.time_ms
    return F.when(F.coalesce(F.col("offset") > started, is_later), F.lit(read.lsn).cast("long"))


def _rank(is_snapshot: Column) -> Column:
    return F.when(is_snapshot, SnapshotRank.SNAPSHOT.value).otherwise(SnapshotRank.STREAMED.value)


def snapshot_lsn(*, encoding: RecordEncoding) -> Column:
    """Aggregate over PostgreSQL's decoded records: the highest LSN of a new connector's snapshot.

    In hexadecimal. Its rows know no commit; those of a later snapshot do, and lift nothing, as does
    an incremental one. A commit that is known may be the row's own LSN, so the record has to tell.
    """
    return F.max(F.when(_is_new_connectors(encoding), _field(_LSN)))


def snapshot_place(lsn: int) -> str:
    """What the positions of all rows of a snapshot that was read at ``lsn`` start with."""
    number = f"{lsn:0{NUMBER_DIGITS}X}"
    return f"{EPOCH:0{EPOCH_DIGITS}X}{number}{SnapshotRank.SNAPSHOT.value}{number}"


def snapshots_read(records: DataFrame, *, encoding: RecordEncoding) -> DataFrame:
    """The first rows of new connectors' snapshots.

    In: COLUMNS of the changelog. Out: per partition and snapshot a row of ``topic, partition, lsn``
    (in hexadecimal), ``offset, time_ms``.
    """
    rows = records.where(_is_new_connectors(encoding))
    grouped = rows.groupBy("topic", "partition", _field(_LSN).alias("lsn"))
    return grouped.agg(
        F.min("offset").alias("offset"), F.min(F.unix_millis("kafka_time")).alias("time_ms")
    )


def _is_new_connectors(encoding: RecordEncoding) -> Column:
    """Whether a record is a row of a snapshot by a connector that knew no commit."""
    stands_alone = _field(_COMMIT) == _field(_LSN)
    sequence = encoding.value("source STRUCT<sequence STRING>")["source"]["sequence"]
    knows_commit = F.get(F.from_json(sequence, "ARRAY<STRING>"), 0).isNotNull()
    is_whole = F.col("snapshot") != SnapshotMark.INCREMENTAL.value
    return is_whole & stands_alone & ~knows_commit


def lowest_uncommitted(ordering: Ordering) -> Column:
    """Aggregate over PostgreSQL's positions: the lowest LSN of a streamed change without a commit.

    It stands at its own LSN, or at that of the newest snapshot; a change that really was committed
    there is taken for one of these.
    """
    commit, lifted = _field(_COMMIT), f"{ordering.snapshot_lsn:0{NUMBER_DIGITS}X}"
    stands_alone = (commit == _field(_LSN)) | (commit == lifted)
    return F.min(F.when(F.col("snapshot").isNull() & stands_alone, _field(_LSN)))


def _field(start: int) -> Column:
    return F.substring("position", start, NUMBER_DIGITS)
