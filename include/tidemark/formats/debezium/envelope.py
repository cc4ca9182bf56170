"""Debezium's envelope: what a record is and where it stands.

One parse of the value serves both forms: a wrapped record has its fields under ``payload``
(MSG-15). Images are only probed here, not read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.formats.debezium.position import Coordinates, SourceBlock
from tidemark.formats.encoding import RecordEncoding
from tidemark.formats.kinds import kind_of
from tidemark.formats.place import hexadecimal, millis_to_time, number, position
from tidemark.formats.refuse import OBJECT, because, first_reason, read_object
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.checkpoint_status import CHANGES
from tidemark.model.event import (
    ENVELOPE_COLUMNS,
    MESSAGE_PREFIX,
    RECORD_COLUMNS,
    Kind,
    Op,
    Reason,
    SnapshotMark,
)
from tidemark.model.names import TableName

FIELDS = {
    "op": "STRING",
    "before": "STRUCT<>",
    "after": "STRUCT<>",
    "source": "STRUCT<snapshot STRING, db STRING, `table` STRING, ts_ms STRING, {own}>",
    "transaction": "STRUCT<id STRING, total_order STRING>",
    "ts_ms": "STRING",
    "status": "STRING",
    "id": "STRING",
    "ddl": "STRING",
    "databaseName": "STRING",
    "tableChanges": "ARRAY<STRUCT<>>",
    "position": "STRUCT<>",
    "aggregate_type": "STRING",
    "message": "STRUCT<prefix STRING>",
}

SIGNAL_IMAGE = {"after": "STRUCT<type STRING, data STRING>"}
OPS: Mapping[str, Kind] = {
    **dict.fromkeys(("r", "c", "u", "d"), Kind.ROW),
    "t": Kind.TRUNCATE,
    "m": Kind.CONTROL,
}
STREAMED = ("u", "d", "t")
"""Ops of which no snapshot has any."""
BOUNDARIES: Mapping[str, Kind] = {"BEGIN": Kind.BEGIN, "END": Kind.END}
NOTIFICATIONS = ("Initial Snapshot", "Incremental Snapshot")
HEARTBEATS = r"(^|\.)__debezium-heartbeat\."
WRAPPED_NOTHING = r'^\s*\{\s*"schema"\s*:\s*null\s*,\s*"payload"\s*:\s*null\s*\}\s*$'
WRAPPED_NOTHING_BYTES = 64


def debezium_envelope(
    records: DataFrame,
    roles: TopicRoles,
    *,
    block: SourceBlock,
    encoding: RecordEncoding,
    signals: TableName | None = None,
) -> DataFrame:
    """Read the envelope of every record.

    In: RECORD_COLUMNS. Out: the same and ENVELOPE_COLUMNS, one row per record; what cannot be
    read is kind ``unreadable`` with its reason. block: what the connector writes in ``source``.
    signals: its signal table.
    """
    carried, text = encoding.beside_text(records)
    fields = FIELDS if signals is None else FIELDS | SIGNAL_IMAGE
    read = read_object(text, _envelope_fields(fields, block))
    parsed = carried.withColumn("_read", read).withColumn("_json", F.col(f"_read.{OBJECT}"))
    wrapped = F.col("_json.payload").isNotNull() & F.col("_json.op").isNull()
    body = F.when(wrapped, F.col("_json.payload")).otherwise(
        F.struct(*(F.col(f"_json.{name}").alias(name) for name in FIELDS))
    )
    return (
        parsed.withColumn("schema_id", encoding.schema_id(text, wrapped))
        .withColumn("_body", body)
        .withColumn("reason", _reason(text, roles, block, encoding))
        .withColumn("kind", _kind(text, roles, encoding, _signal(signals, block)))
        .withColumn("value", F.col("value").cast("binary"))
        .select(*RECORD_COLUMNS, *_envelope_columns(roles, block))
    )


def _envelope_fields(forms: Mapping[str, str], block: SourceBlock) -> str:
    fields = ", ".join(f"{name} {form}" for name, form in forms.items()).format(own=block.fields)
    return f"{fields}, payload STRUCT<{fields}>"


def _coordinates(block: SourceBlock) -> Coordinates:
    return block.coordinates(F.col("_body.source"), _is_snapshot(block))


def _is_snapshot(block: SourceBlock) -> Column:
    """Whether a row was read and not streamed (MSG-10).

    The mark alone does not tell: a connector that died in a snapshot may mark all that it streams
    from then on, and old ones read rows with op ``c``.
    """
    body = F.col("_body")
    is_streamed = (
        F.coalesce(body["op"].isin(*STREAMED), F.lit(False))
        | body["transaction"]["id"].isNotNull()
        | block.is_logged(body["source"])
    )
    return (body["op"] == "r") | (_mark(body["source"]).isNotNull() & ~is_streamed)


def _mark(source: Column) -> Column:
    """``source.snapshot`` of a row that was read, null of one that was streamed (MSG-5, MSG-11)."""
    mark = F.lower(source["snapshot"])
    return F.when(mark != "false", mark)


def _is_tombstone(text: Column) -> Column:
    """No value, or a schema wrapper around none (MSG-15, MSG-18)."""
    is_short = F.octet_length("value") <= WRAPPED_NOTHING_BYTES
    wraps_nothing = F.coalesce(text.rlike(WRAPPED_NOTHING), F.lit(False))
    return F.col("value").isNull() | (is_short & wraps_nothing)


def _is_heartbeat(encoding: RecordEncoding) -> Column:
    """A record of the topic that a connector makes for heartbeats, by its name or shape (MSG-27).

    The topic's prefix is a setting of the connector; who sends them says the key alone.
    """
    body, key = F.col("_body"), encoding.text(F.col("key"))
    sender = (F.get_json_object(key, f"$.{at}serverName") for at in ("", "payload."))
    tells_nothing_else = body["op"].isNull() & body["source"].isNull() & body["ts_ms"].isNotNull()
    return F.col("topic").rlike(HEARTBEATS) | (tells_nothing_else & F.coalesce(*sender).isNotNull())


def _is_history() -> Column:
    """A record of the topic in which a connector keeps its own history of schemas (MSG-8)."""
    body = F.col("_body")
    tells_schemas = body["ddl"].isNotNull() | body["tableChanges"].isNotNull()
    return body["op"].isNull() & body["position"].isNotNull() & tells_schemas


def _is_notification() -> Column:
    """What a connector says about its snapshots (MSG-29); none of it is about a row."""
    body = F.col("_body")
    says_nothing_else = body["op"].isNull() & body["source"].isNull()
    return body["aggregate_type"].isin(*NOTIFICATIONS) & says_nothing_else


def _is_role(topics: Collection[str]) -> Column:
    return F.col("topic").isin(sorted(topics)) if topics else F.lit(False)


def _reason(
    text: Column, roles: TopicRoles, block: SourceBlock, encoding: RecordEncoding
) -> Column:
    body = F.col("_body")
    op, source = body["op"], body["source"]
    needs_after = op.isin("r", "c", "u")
    keyless = (op == "d") & F.col("key").isNull() & body["before"].isNull()
    unknown = (part.isNull() for part, _ in _coordinates(block))
    unplaced = (op != "m") & reduce(lambda left, right: left | right, unknown, F.lit(False))
    history = because(Reason.SCHEMA_HISTORY, _is_history())
    data = first_reason(
        history,
        because(Reason.FORMAT_MISMATCH, op.isNull() & source.isNull()),
        because(Reason.OP_UNKNOWN, kind_of(op, OPS).isNull()),
        because(Reason.ENVELOPE_INVALID, source[block.schema].isNull() | source["table"].isNull()),
        because(Reason.IMAGE_MISSING, (needs_after & body["after"].isNull()) | keyless),
        because(Reason.POSITION_MISSING, unplaced),
    )
    tells_statement = body["ddl"].isNotNull() | body["tableChanges"].isNotNull()
    if block.has_messages:
        tells_statement = F.coalesce(op == "m", F.lit(False))
    is_other = source.isNull() | ~tells_statement
    schema_change = first_reason(history, because(Reason.FORMAT_MISMATCH, is_other))
    transaction = because(Reason.FORMAT_MISMATCH, kind_of(body["status"], BOUNDARIES).isNull())
    by_role = (
        F.when(_is_role(roles.schema_changes), schema_change)
        .when(_is_role(roles.transactions), transaction)
        .when(_is_heartbeat(encoding), because(Reason.FORMAT_MISMATCH, body["ts_ms"].isNull()))
        .when(_is_notification(), F.lit(None).cast("string"))
        .otherwise(data)
    )
    refusal = encoding.refusal(text, F.col("_read"))
    # Of rows only what is folded is read once more, and then tells (`Decoder.contradicts`).
    is_row = F.coalesce(kind_of(op, OPS) == Kind.ROW.value, F.lit(False))
    contradiction = because(Reason.JSON_DUPLICATE_KEY, ~is_row & encoding.contradicts())
    return F.when(~_is_tombstone(text), F.coalesce(refusal, by_role, contradiction))


def _signal(table: TableName | None, block: SourceBlock) -> Column:
    """What a streamed change of the signal table is (MSG-28); null for any other record."""
    if table is None:
        return F.lit(None).cast("string")
    body = F.col("_body")
    source, after = body["source"], body["after"]
    is_signal = (source[block.schema] == table.schema) & (source["table"] == table.table)
    is_blocking = F.lower(F.get_json_object(after["data"], "$.type")) == "blocking"
    kind = (
        F.when(after["type"] == "snapshot-window-open", Kind.WINDOW.value)
        .when((after["type"] == "execute-snapshot") & is_blocking, Kind.ORDER.value)
        .otherwise(Kind.SIGNAL.value)
    )
    is_row = kind_of(body["op"], OPS) == Kind.ROW.value
    return F.when(is_signal & ~_is_snapshot(block) & is_row, kind)


def _kind(text: Column, roles: TopicRoles, encoding: RecordEncoding, signal: Column) -> Column:
    body = F.col("_body")
    return (
        F.when(_is_tombstone(text), F.lit(Kind.TOMBSTONE.value))
        .when(F.col("reason").isNotNull(), F.lit(Kind.UNREADABLE.value))
        .when(_is_role(roles.schema_changes), _kind_of_statement())
        .when(_is_role(roles.transactions), kind_of(body["status"], BOUNDARIES))
        .when(_is_heartbeat(encoding) | _is_notification(), F.lit(Kind.CONTROL.value))
        .otherwise(F.coalesce(signal, kind_of(body["op"], OPS)))
    )


def _kind_of_statement() -> Column:
    """A logical message may be anybody's: its prefix tells whose it is (MSG-30, SCHEMA-36)."""
    prefix = F.col("_body.message.prefix")
    is_foreign = F.coalesce(prefix != MESSAGE_PREFIX, F.lit(False))
    return F.when(is_foreign, Kind.CONTROL.value).otherwise(Kind.DDL.value)


def _envelope_columns(roles: TopicRoles, block: SourceBlock) -> tuple[Column, ...]:
    body, kind = F.col("_body"), F.col("kind")
    source, is_snapshot = body["source"], _is_snapshot(block)
    placed = position(*(hexadecimal(part, digits) for part, digits in _coordinates(block)))
    schema, table = source[block.schema], source["table"]
    transaction = body["transaction"]["id"]
    # Transactions wait for what they sent, also for what cannot be read of it (POISON-5).
    is_awaited = (kind == Kind.UNREADABLE.value) & transaction.isNotNull()
    is_placed = kind.isin(*CHANGES) | (is_awaited & schema.isNotNull() & table.isNotNull())
    upsert_or_delete = F.when(body["op"] == "d", Op.DELETE.value).otherwise(Op.UPSERT.value)
    columns = {
        "kind": kind,
        "source_schema": F.coalesce(schema, body["databaseName"]),
        # A logical message is about no table.
        "source_table": F.nullif(table, F.lit("")),
        "op": F.when(kind == Kind.ROW.value, upsert_or_delete),
        "position": F.when(is_placed, placed),
        "commit_time": millis_to_time(source["ts_ms"]),
        "transaction_id": F.coalesce(transaction, F.when(_is_role(roles.transactions), body["id"])),
        "event_order": number(body["transaction"]["total_order"]),
        "snapshot": F.when(
            is_snapshot, F.coalesce(_mark(source), F.lit(SnapshotMark.INSIDE.value))
        ),
        "watermark": F.lit(None).cast("long"),
        "schema_id": F.col("schema_id"),
        "reason": F.col("reason"),
    }
    return tuple(columns[name].alias(name) for name in ENVELOPE_COLUMNS)
