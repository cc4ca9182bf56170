"""Debezium's envelope, JSON with or without schema wrapper: what a record is and where it stands.

One parse of the value serves both forms: a wrapped record has its fields under ``payload``
(MSG-15). Images are only probed here, not read.
"""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.place import hexadecimal, millis_to_time, number, position
from tidemark.formats.refuse import CORRUPT, because, first_reason, unparsed
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.event import ENVELOPE_COLUMNS, RECORD_COLUMNS, Kind, Op, Reason, SnapshotMark
from tidemark.model.position import FILE_DIGITS, NUMBER_DIGITS, SnapshotRank

FIELDS = (
    "op STRING, before STRUCT<>, after STRUCT<>, "
    "source STRUCT<snapshot STRING, db STRING, `table` STRING, `file` STRING, pos STRING, "
    "ts_ms STRING>, transaction STRUCT<id STRING, total_order STRING>, "
    "status STRING, id STRING, ddl STRING, databaseName STRING, tableChanges ARRAY<STRUCT<>>"
)
ENVELOPE = f"{FIELDS}, payload STRUCT<{FIELDS}>, {CORRUPT} STRING"

ROW_OPS = ("r", "c", "u", "d")
SCHEMA_FIRST = '{"schema":'
PAYLOAD_NEXT = ',"payload":'


def debezium_envelope(records: DataFrame, roles: TopicRoles) -> DataFrame:
    """Read the envelope of every record.

    In: RECORD_COLUMNS. Out: the same and ENVELOPE_COLUMNS, one row per record; what cannot be
    read is kind ``unreadable`` with its reason.
    """
    text = F.col("value").cast("string")
    parsed = records.withColumn("_text", text).withColumn("_json", F.from_json("_text", ENVELOPE))
    wrapped = F.col("_json.payload").isNotNull() & F.col("_json.op").isNull()
    body = F.when(wrapped, F.col("_json.payload")).otherwise(
        F.struct(*(F.col(f"_json.{name}").alias(name) for name in _field_names()))
    )
    return (
        parsed.withColumn("schema_id", F.when(wrapped, _schema_id(F.col("_text"))))
        .withColumn("_body", body)
        .withColumn("reason", _reason(roles))
        .withColumn("kind", _kind(roles))
        .select(*RECORD_COLUMNS, *_envelope_columns(roles))
    )


def _field_names() -> tuple[str, ...]:
    return (
        "op",
        "before",
        "after",
        "source",
        "transaction",
        "status",
        "id",
        "ddl",
        "databaseName",
        "tableChanges",
    )


def _schema_id(text: Column) -> Column:
    """Tells record schemas apart: a hash of the schema's text.

    Connect's converter writes the schema first, so its text ends where the payload begins: these
    characters cannot stand inside a JSON string, where quotes are escaped.
    """
    in_front = F.substring_index(text, PAYLOAD_NEXT, 1)
    anywhere = F.from_json(text, "schema STRING")["schema"]
    return F.xxhash64(F.when(text.startswith(SCHEMA_FIRST), in_front).otherwise(anywhere))


def _is_role(topics: Collection[str]) -> Column:
    return F.col("topic").isin(sorted(topics)) if topics else F.lit(False)


def _reason(roles: TopicRoles) -> Column:
    body = F.col("_body")
    op, source = body["op"], body["source"]
    needs_after = op.isin("r", "c", "u")
    keyless = (op == "d") & F.col("key").isNull() & body["before"].isNull()
    placed = (_file_number(source["file"]).isNotNull()) & number(source["pos"]).isNotNull()
    data = first_reason(
        because(Reason.FORMAT_MISMATCH, op.isNull() & source.isNull()),
        because(Reason.OP_UNKNOWN, op.isNull() | ~op.isin(*ROW_OPS, "t", "m")),
        because(Reason.ENVELOPE_INVALID, source["db"].isNull() | source["table"].isNull()),
        because(Reason.IMAGE_MISSING, (needs_after & body["after"].isNull()) | keyless),
        because(Reason.POSITION_MISSING, ~placed),
    )
    schema_change = because(
        Reason.FORMAT_MISMATCH,
        source.isNull() | (body["ddl"].isNull() & body["tableChanges"].isNull()),
    )
    transaction = because(
        Reason.FORMAT_MISMATCH, body["status"].isNull() | ~body["status"].isin("BEGIN", "END")
    )
    by_role = (
        F.when(_is_role(roles.schema_changes), schema_change)
        .when(_is_role(roles.transactions), transaction)
        .otherwise(data)
    )
    readable = F.coalesce(unparsed(F.col("_text"), F.col("_json")), by_role)
    return F.when(F.col("value").isNotNull(), readable)


def _kind(roles: TopicRoles) -> Column:
    body = F.col("_body")
    return (
        F.when(F.col("value").isNull(), F.lit(Kind.TOMBSTONE.value))
        .when(F.col("reason").isNotNull(), F.lit(Kind.UNREADABLE.value))
        .when(_is_role(roles.schema_changes), F.lit(Kind.DDL.value))
        .when(_is_role(roles.transactions), F.lower(body["status"]))
        .when(body["op"].isin(*ROW_OPS), F.lit(Kind.ROW.value))
        .when(body["op"] == "t", F.lit(Kind.TRUNCATE.value))
        .otherwise(F.lit(Kind.CONTROL.value))
    )


def _file_number(file: Column) -> Column:
    """The number after the last dot of a binlog file name (POS-3)."""
    return number(F.substring_index(file, ".", -1))


def _envelope_columns(roles: TopicRoles) -> tuple[Column, ...]:
    body, kind = F.col("_body"), F.col("kind")
    source = body["source"]
    mark = F.nullif(F.lower(source["snapshot"]), F.lit("false"))
    is_snapshot = (body["op"] == "r") | mark.isNotNull()
    rank = F.when(is_snapshot, SnapshotRank.SNAPSHOT.value).otherwise(SnapshotRank.STREAMED.value)
    placed = position(
        hexadecimal(_file_number(source["file"]), FILE_DIGITS),
        hexadecimal(number(source["pos"]), NUMBER_DIGITS),
        rank.cast("string"),
    )
    is_change = kind.isin(Kind.ROW.value, Kind.TRUNCATE.value, Kind.DDL.value)
    upsert_or_delete = F.when(body["op"] == "d", Op.DELETE.value).otherwise(Op.UPSERT.value)
    columns = {
        "kind": kind,
        "source_schema": F.coalesce(source["db"], body["databaseName"]),
        "source_table": source["table"],
        "op": F.when(kind == Kind.ROW.value, upsert_or_delete),
        "position": F.when(is_change, placed),
        "commit_time": millis_to_time(source["ts_ms"]),
        "transaction_id": F.coalesce(
            body["transaction"]["id"], F.when(_is_role(roles.transactions), body["id"])
        ),
        "event_order": number(body["transaction"]["total_order"]),
        "snapshot": F.when(is_snapshot, F.coalesce(mark, F.lit(SnapshotMark.INSIDE.value))),
        "watermark": F.lit(None).cast("long"),
        "schema_id": F.col("schema_id"),
        "reason": F.col("reason"),
    }
    return tuple(columns[name].alias(name) for name in ENVELOPE_COLUMNS)
