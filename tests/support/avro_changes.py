"""Changes of shop.items as Debezium writes them in Avro for MySQL, and how they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from tests.support.avro import wire
from tests.support.records import RECORDS
from tidemark.formats.avro.encoding import AvroEncoding
from tidemark.formats.debezium.envelope import debezium_envelope
from tidemark.formats.debezium.position import binlog_block
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.names import TopicName
from tidemark.model.position import BY_POSITION

ROLES = TopicRoles(frozenset({TopicName("shop")}), frozenset({TopicName("shop.transaction")}))
KEY_ID, VALUE_ID = 5, 6
KEY = {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "long"}]}
SNAPSHOT = {
    "type": "string",
    "connect.parameters": {"allowed": "true,last,false,incremental"},
    "connect.default": "false",
    "connect.name": "io.debezium.data.Enum",
}
SOURCE = {
    "type": "record",
    "name": "Source",
    "namespace": "io.debezium.connector.mysql",
    "fields": [
        {"name": "connector", "type": "string"},
        {"name": "ts_ms", "type": "long"},
        {"name": "snapshot", "type": [SNAPSHOT, "null"], "default": "false"},
        {"name": "db", "type": "string"},
        {"name": "table", "type": ["null", "string"], "default": None},
        {"name": "file", "type": "string"},
        {"name": "pos", "type": "long"},
    ],
}
AT = {
    "connector": "mysql",
    "ts_ms": 1_700_000_000_123,
    "snapshot": "false",
    "db": "shop",
    "table": "items",
    "file": "bin.000012",
    "pos": 255,
}
PLACE = "0001" + "0000000C" + "00000000000000FF"
TRANSACTION = {
    "type": "record",
    "name": "block",
    "namespace": "event",
    "fields": [{"name": "id", "type": "string"}, {"name": "total_order", "type": "long"}],
}


def envelope(*columns: tuple[str, Any]) -> dict[str, Any]:
    """The schema of changes of a table; the second image is a mention of the first."""
    value = {
        "type": "record",
        "name": "Value",
        "fields": [{"name": name, "type": declared} for name, declared in columns],
    }
    return {
        "type": "record",
        "name": "Envelope",
        "namespace": "shop.shop.items",
        "fields": [
            {"name": "before", "type": ["null", value], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "source", "type": SOURCE},
            {"name": "transaction", "type": ["null", TRANSACTION], "default": None},
            {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": ["null", "long"], "default": None},
        ],
    }


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """``schema`` for the encoder, which knows no names."""
    before, after, *rest = schema["fields"]
    return {**schema, "fields": [before, {**after, "type": before["type"]}, *rest]}


ITEMS = envelope(("id", "long"), ("name", ["null", "string"]))


def change(op: str, **fields: Any) -> dict[str, Any]:
    """A change of row 7; fields: of the envelope that are other ones."""
    image = {"id": 7, "name": "x"}
    common = {"before": None, "after": None, "source": AT, "transaction": None, "op": op}
    if op in "cru":
        common["after"] = image
    if op == "d":
        common["before"] = image
    return {**common, "ts_ms": 1, **fields}


def item(op: str, **fields: Any) -> bytes:
    """`change` as a record's value."""
    return wire(VALUE_ID, inlined(ITEMS), change(op, **fields))


def key(of: int = 7) -> bytes:
    """A record's key."""
    return wire(KEY_ID, KEY, {"id": of})


def records(
    spark: SparkSession, *pairs: tuple[bytes | None, bytes | None], topic: str = "shop.shop.items"
) -> DataFrame:
    """Records of ``topic`` at offset 7, told apart by partition."""
    rows = [
        (topic, at, 7, None, None, *(None if p is None else bytearray(p) for p in pair))
        for at, pair in enumerate(pairs)
    ]
    return spark.createDataFrame(rows, RECORDS)


def encoding(extra: Mapping[int, Any] | None = None) -> AvroEncoding:
    """With the schemas of `key` and `item`, and ``extra`` by their ids."""
    schemas = {KEY_ID: KEY, VALUE_ID: ITEMS, **(extra or {})}
    return AvroEncoding({number: json.dumps(schema) for number, schema in schemas.items()})


def read(
    spark: SparkSession,
    *pairs: tuple[bytes | None, bytes | None],
    topic: str = "shop.shop.items",
    extra: Mapping[int, Any] | None = None,
) -> Sequence[Row]:
    """The envelopes of keys and values, in their order."""
    events = debezium_envelope(
        records(spark, *pairs, topic=topic),
        ROLES,
        block=binlog_block(BY_POSITION),
        encoding=encoding(extra),
    )
    return events.orderBy("partition").collect()
