"""TiCDC's Canal-JSON: what a record is and where it stands, with the TiDB extension or without.

With the extension a change stands at its commitTs; without it, only at its offset (POS-11), and
the pipeline must say ``gate: none``.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.place import commit_position, hexadecimal, millis_to_time, number, position
from tidemark.formats.refuse import CORRUPT, because, first_reason, unparsed
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.event import ENVELOPE_COLUMNS, RECORD_COLUMNS, Kind, Op, Reason
from tidemark.model.position import PARTITION_DIGITS, TSO_LOGICAL_BITS, CommitRank

ENVELOPE = (
    "database STRING, `table` STRING, isDdl BOOLEAN, type STRING, es STRING, sql STRING, "
    "pkNames ARRAY<STRING>, mysqlType MAP<STRING, STRING>, data ARRAY<STRUCT<>>, "
    "_tidb STRUCT<commitTs STRING, watermarkTs STRING, onlyHandleKey BOOLEAN, "
    f"claimCheckLocation STRING>, {CORRUPT} STRING"
)
ROW_TYPES = ("INSERT", "UPDATE", "DELETE")
WATERMARK_TYPE = "TIDB_WATERMARK"


def canal_envelope(records: DataFrame, _roles: TopicRoles, *, by_commit: bool) -> DataFrame:
    """Read the envelope of every record.

    In: RECORD_COLUMNS. Out: the same and ENVELOPE_COLUMNS, one row per record. by_commit: the
    source has the TiDB extension, so a change without commitTs is ``unreadable``. Rows, DDL and
    watermarks share their topics, so topics have no roles.
    """
    return (
        records.withColumn("_text", F.col("value").cast("string"))
        .withColumn("_json", F.from_json("_text", ENVELOPE))
        .withColumn("_commit_ts", number(F.col("_json._tidb.commitTs")))
        .withColumn("_is_ddl", F.coalesce(F.col("_json.isDdl"), F.lit(False)))
        .withColumn("reason", _reason(by_commit=by_commit))
        .withColumn("kind", _kind())
        .select(*RECORD_COLUMNS, *_envelope_columns(by_commit=by_commit))
    )


def _reason(*, by_commit: bool) -> Column:
    json, is_ddl = F.col("_json"), F.col("_is_ddl")
    kind, is_watermark = json["type"], json["type"] == WATERMARK_TYPE
    is_row = ~is_ddl & kind.isin(*ROW_TYPES)
    is_change = is_ddl | is_row
    pointer = F.coalesce(json["_tidb"]["onlyHandleKey"], F.lit(False)) & (kind != "DELETE")
    reasons = [
        because(Reason.FORMAT_MISMATCH, kind.isNull() | json["database"].isNull()),
        because(Reason.OP_UNKNOWN, ~is_change & ~is_watermark),
        because(Reason.ENVELOPE_INVALID, is_row & (F.coalesce(json["table"], F.lit("")) == "")),
        because(
            Reason.IMAGE_MISSING,
            (is_row & ((F.coalesce(F.size(json["data"]), F.lit(0)) != 1) | pointer))
            | (is_ddl & json["sql"].isNull())
            | json["_tidb"]["claimCheckLocation"].isNotNull(),
        ),
        because(
            Reason.POSITION_MISSING, is_watermark & number(json["_tidb"]["watermarkTs"]).isNull()
        ),
    ]
    if by_commit:
        reasons.append(because(Reason.POSITION_MISSING, is_change & F.col("_commit_ts").isNull()))
    readable = first_reason(unparsed(F.col("_text"), json), *reasons)
    return F.when(F.col("value").isNotNull(), readable)


def _kind() -> Column:
    return (
        F.when(F.col("value").isNull(), F.lit(Kind.TOMBSTONE.value))
        .when(F.col("reason").isNotNull(), F.lit(Kind.UNREADABLE.value))
        .when(F.col("_is_ddl"), F.lit(Kind.DDL.value))
        .when(F.col("_json.type") == WATERMARK_TYPE, F.lit(Kind.WATERMARK.value))
        .otherwise(F.lit(Kind.ROW.value))
    )


def _schema_id() -> Column:
    """Tells record schemas apart: a hash of column types, whose order varies, and key."""
    types = F.array_sort(F.map_entries(F.col("_json.mysqlType")))
    return F.xxhash64(F.to_json(types), F.to_json(F.col("_json.pkNames")))


def _envelope_columns(*, by_commit: bool) -> tuple[Column, ...]:
    json, kind = F.col("_json"), F.col("kind")
    is_row, is_ddl = kind == Kind.ROW.value, kind == Kind.DDL.value
    is_delete = json["type"] == "DELETE"
    rank = (
        F.when(is_ddl, CommitRank.DDL.value)
        .when(is_delete, CommitRank.DELETE.value)
        .otherwise(CommitRank.UPSERT.value)
    )
    placed = position()
    if by_commit:
        partition = hexadecimal(F.col("partition"), PARTITION_DIGITS)
        placed = commit_position(F.col("_commit_ts"), rank.cast("string"), partition)
    millis = json["es"]
    if by_commit:
        millis = F.shiftright(F.col("_commit_ts"), TSO_LOGICAL_BITS)
    columns = {
        "kind": kind,
        "source_schema": F.when(is_row | is_ddl, json["database"]),
        "source_table": F.when(is_row | is_ddl, json["table"]),
        "op": F.when(is_row, F.when(is_delete, Op.DELETE.value).otherwise(Op.UPSERT.value)),
        "position": F.when(is_row | is_ddl, placed),
        "commit_time": millis_to_time(millis),
        "transaction_id": F.lit(None).cast("string"),
        "event_order": F.lit(None).cast("long"),
        "snapshot": F.lit(None).cast("string"),
        "watermark": F.when(kind == Kind.WATERMARK.value, number(json["_tidb"]["watermarkTs"])),
        "schema_id": F.when(is_row, _schema_id()),
        "reason": F.col("reason"),
    }
    return tuple(columns[name].alias(name) for name in ENVELOPE_COLUMNS)
