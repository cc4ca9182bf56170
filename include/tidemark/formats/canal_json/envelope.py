"""Canal-JSON's envelope, Canal's own and TiCDC's: what a record is and where it stands.

TiCDC with the TiDB extension places a change at its commitTs. Everybody else tells no position, so
a change stands at its offset, and what one record holds stands at one position (POS-11).
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.contradictions import contradicts
from tidemark.formats.encoding import JsonEncoding
from tidemark.formats.kinds import kind_of
from tidemark.formats.place import commit_position, hexadecimal, millis_to_time, number, position
from tidemark.formats.refuse import OBJECT, because, first_reason, read_object, unparsed
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.event import ENVELOPE_COLUMNS, RECORD_COLUMNS, Kind, Op, Reason
from tidemark.model.names import quote
from tidemark.model.position import PARTITION_DIGITS, TSO_LOGICAL_BITS, CommitRank

FIELDS = {
    "database": "STRING",
    "table": "STRING",
    "isDdl": "BOOLEAN",
    "type": "STRING",
    "es": "STRING",
    "sql": "STRING",
    "pkNames": "ARRAY<STRING>",
    "mysqlType": "MAP<STRING, STRING>",
    "data": "ARRAY<STRUCT<>>",
    "old": "ARRAY<STRUCT<>>",
    "_tidb": "STRUCT<commitTs STRING, watermarkTs STRING, onlyHandleKey BOOLEAN, "
    "claimCheckLocation STRING>",
}
TYPES: Mapping[str, Kind] = {
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE"), Kind.ROW),
    "TIDB_WATERMARK": Kind.WATERMARK,
    **dict.fromkeys(("GTID", "XACOMMIT", "XAROLLBACK", "MHEARTBEAT"), Kind.CONTROL),
}
_ENVELOPE = ", ".join(f"{quote(name)} {form}" for name, form in FIELDS.items())


def canal_envelope(records: DataFrame, _roles: TopicRoles, *, by_commit: bool) -> DataFrame:
    """Read the envelope of every record.

    In: RECORD_COLUMNS. Out: the same and ENVELOPE_COLUMNS, one row per record, however many rows
    of its table it holds (MSG-41). by_commit: the source has the TiDB extension, so a change
    without commitTs is ``unreadable``. Rows, DDL and watermarks share their topics, so topics
    have no roles.
    """
    carried, text = JsonEncoding().beside_text(records)
    return (
        carried.withColumn("_read", read_object(text, _ENVELOPE))
        .withColumn("_json", F.col(f"_read.{OBJECT}"))
        .withColumn("_commit_ts", number(F.col("_json._tidb.commitTs")))
        .withColumn("_is_ddl", F.coalesce(F.col("_json.isDdl"), F.lit(False)))
        .withColumn("_declared_kind", _declared_kind())
        .withColumn("reason", _reason(text, by_commit=by_commit))
        .withColumn("kind", _kind())
        .withColumn("value", F.col("value").cast("binary"))
        .select(*RECORD_COLUMNS, *_envelope_columns(by_commit=by_commit))
    )


def _declared_kind() -> Column:
    """What the fields say that it is, looked at in this order (MSG-40); null for nothing known.

    Rows that came as the text of a statement can be followed no more than DDL that is not
    understood: such a record is of the same kind, and stops its table.
    """
    json = F.col("_json")
    kind = kind_of(json["type"], TYPES)
    has_rows = F.coalesce(F.size(json["data"]), F.lit(0)) > 0
    is_statement = (kind == Kind.ROW.value) & ~has_rows & (F.trim(json["sql"]) != "")
    return F.when(F.col("_is_ddl") | is_statement, Kind.DDL.value).otherwise(kind)


def _reason(text: Column, *, by_commit: bool) -> Column:
    json, kind, is_ddl = F.col("_json"), F.col("_declared_kind"), F.col("_is_ddl")
    is_row, is_watermark = kind == Kind.ROW.value, kind == Kind.WATERMARK.value
    is_change = is_row | (kind == Kind.DDL.value)
    rows, old = F.coalesce(F.size(json["data"]), F.lit(0)), json["old"]
    no_table = ~is_ddl & (F.coalesce(json["table"], F.lit("")) == "")
    is_delete, has_key = json["type"] == "DELETE", F.coalesce(F.size(json["pkNames"]), F.lit(0)) > 0
    is_key_alone = F.coalesce(json["_tidb"]["onlyHandleKey"], F.lit(False)) & ~is_delete
    # Both have the values of the key, which is all that a delete needs (UNAV-9).
    is_pointer = json["_tidb"]["claimCheckLocation"].isNotNull() & ~(is_row & is_delete & has_key)
    reasons = [
        because(Reason.FORMAT_MISMATCH, kind.isNull() & json["type"].isNull()),
        because(Reason.OP_UNKNOWN, kind.isNull()),
        because(Reason.FORMAT_MISMATCH, is_change & json["database"].isNull()),
        because(Reason.ENVELOPE_INVALID, is_change & no_table),
        because(Reason.CLAIM_CHECK_MISSING, is_pointer),
        because(Reason.HANDLE_KEY_ONLY, is_row & is_key_alone),
        because(Reason.ENVELOPE_INVALID, is_ddl & json["sql"].isNull()),
        because(Reason.IMAGE_MISSING, is_row & (rows == 0)),
        because(Reason.CANAL_ARRAY_MISMATCH, is_row & old.isNotNull() & (F.size(old) != rows)),
        because(
            Reason.POSITION_MISSING, is_watermark & number(json["_tidb"]["watermarkTs"]).isNull()
        ),
    ]
    if by_commit:
        reasons.append(because(Reason.POSITION_MISSING, is_change & F.col("_commit_ts").isNull()))
    # Of rows only what is folded is read once more, and then tells (`Decoder.contradicts`).
    reasons.append(because(Reason.JSON_DUPLICATE_KEY, ~is_row & contradicts("value")))
    readable = first_reason(unparsed(text, F.col("_read")), *reasons)
    return F.when(F.col("value").isNotNull(), readable)


def _kind() -> Column:
    return (
        F.when(F.col("value").isNull(), F.lit(Kind.TOMBSTONE.value))
        .when(F.col("reason").isNotNull(), F.lit(Kind.UNREADABLE.value))
        .otherwise(F.col("_declared_kind"))
    )


def _schema_id() -> Column:
    """Tells record schemas apart: a hash of column types, whose order varies, and key."""
    types = F.array_sort(F.map_entries(F.col("_json.mysqlType")))
    return F.xxhash64(F.to_json(types), F.to_json(F.col("_json.pkNames")))


def _envelope_columns(*, by_commit: bool) -> tuple[Column, ...]:
    json, kind = F.col("_json"), F.col("kind")
    is_row, is_ddl = kind == Kind.ROW.value, kind == Kind.DDL.value
    has_table = kind.isin(Kind.ROW.value, Kind.DDL.value, Kind.UNREADABLE.value)
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
        "source_schema": F.when(has_table, json["database"]),
        "source_table": F.when(has_table, json["table"]),
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
