"""The one shape into which every decoder decodes: the columns of the changelog.

A record is kept as it came (topic, partition, offset, time, headers, key, value) and beside it
stands its envelope. What an envelope cannot say is null.
"""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a record is.

    Of a Debezium connector's signal table (MSG-28): ``window`` opens a window of an incremental
    snapshot, ``order`` asks for a blocking snapshot, ``signal`` is any other change of it. Of an
    erased record its place alone is left (ERASE-1).
    """

    ROW = "row"
    TRUNCATE = "truncate"
    DDL = "ddl"
    WATERMARK = "watermark"
    BEGIN = "begin"
    END = "end"
    WINDOW = "window"
    ORDER = "order"
    SIGNAL = "signal"
    TOMBSTONE = "tombstone"
    CONTROL = "control"
    UNREADABLE = "unreadable"
    ERASED = "erased"


SIGNALS = (Kind.WINDOW, Kind.ORDER, Kind.SIGNAL)


class Op(StrEnum):
    """What a row event does: ``upsert`` makes the row what its image says, ``delete`` ends it."""

    UPSERT = "U"
    DELETE = "D"


class SnapshotMark(StrEnum):
    """What ``source.snapshot`` says of a snapshot row (MSG-11); a streamed change has none."""

    FIRST = "first"
    FIRST_IN_TABLE = "first_in_data_collection"
    INSIDE = "true"
    LAST_IN_TABLE = "last_in_data_collection"
    LAST = "last"
    INCREMENTAL = "incremental"


UNTOLD = -1
"""The ``schema_id`` of a row event that tells nothing of its table's columns: a tombstone."""


class Reason(StrEnum):
    """Why a record is unreadable, or a change that it holds cannot be applied (POISON-1)."""

    EMPTY_VALUE = "EMPTY_VALUE"
    JSON_INVALID = "JSON_INVALID"
    JSON_NOT_OBJECT = "JSON_NOT_OBJECT"
    JSON_DUPLICATE_KEY = "JSON_DUPLICATE_KEY"
    JSON_NUMBER = "JSON_NUMBER"
    JSON_DEPTH = "JSON_DEPTH"
    RECORD_TOO_LARGE = "RECORD_TOO_LARGE"
    UTF8_INVALID = "UTF8_INVALID"
    AVRO_MAGIC = "AVRO_MAGIC"
    AVRO_SCHEMA_UNKNOWN = "AVRO_SCHEMA_UNKNOWN"
    AVRO_DECODE = "AVRO_DECODE"
    FORMAT_MISMATCH = "FORMAT_MISMATCH"
    SCHEMA_HISTORY = "SCHEMA_HISTORY"
    ENVELOPE_INVALID = "ENVELOPE_INVALID"
    OP_UNKNOWN = "OP_UNKNOWN"
    IMAGE_MISSING = "IMAGE_MISSING"
    CANAL_ARRAY_MISMATCH = "CANAL_ARRAY_MISMATCH"
    POSITION_MISSING = "POSITION_MISSING"
    HANDLE_KEY_ONLY = "HANDLE_KEY_ONLY"
    CLAIM_CHECK_MISSING = "CLAIM_CHECK_MISSING"
    KEY_UNDECODABLE = "KEY_UNDECODABLE"
    KEY_NULL = "KEY_NULL"
    KEY_MISMATCH = "KEY_MISMATCH"
    KEY_UNAVAILABLE = "KEY_UNAVAILABLE"
    TYPE_MISMATCH = "TYPE_MISMATCH"
    VALUE_OUT_OF_RANGE = "VALUE_OUT_OF_RANGE"
    DECIMAL_OVERFLOW = "DECIMAL_OVERFLOW"
    TEMPORAL_INVALID = "TEMPORAL_INVALID"
    BINARY_INVALID = "BINARY_INVALID"
    ENUM_UNKNOWN = "ENUM_UNKNOWN"
    UNAVAILABLE_UNRESOLVED = "UNAVAILABLE_UNRESOLVED"
    TX_SKIPPED = "TX_SKIPPED"


# event_order: Debezium's total_order. snapshot: a SnapshotMark of rows that were read.
RECORD_COLUMNS = ("topic", "partition", "offset", "kafka_time", "headers", "key", "value")
MESSAGE_PREFIX = "tidemark"
"""Of the logical messages that tell what DDL did to tables of PostgreSQL."""

ENVELOPE_COLUMNS = (
    "kind",
    "source_schema",
    "source_table",
    "op",
    "position",
    "commit_time",
    "transaction_id",
    "event_order",
    "snapshot",
    "watermark",
    "schema_id",
    "reason",
)
