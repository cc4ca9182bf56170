"""Which tombstones of a compacted topic delete, and of which table: KEY-12, KEY-13."""

from __future__ import annotations

import json

from pyspark.sql import Row, SparkSession

from tests.support.records import RECORDS
from tidemark.formats.decoder import decoder_of
from tidemark.formats.topic_roles import TopicRoles
from tidemark.model.event import UNTOLD
from tidemark.model.names import TopicName
from tidemark.model.position import OrderedBy, Ordering
from tidemark.spec import SourceSpec

TOPIC = "shop-1.my-db.orders"
WRAPPED_NOTHING = b'{"schema":null,"payload":null}'
ONE, TWO = b'{"id":1}', b'{"id":2}'


def change(op: str) -> bytes:
    """A change of a row of my-db.orders."""
    source = {"ts_ms": 1, "db": "my-db", "table": "orders", "file": "b.1", "pos": 4}
    return json.dumps({"op": op, "before": {}, "after": {}, "source": source}).encode()


def read(
    spark: SparkSession,
    *records: tuple[bytes | None, bytes | None],
    compacted: str = "allow",
    topic: str = TOPIC,
) -> list[Row]:
    """The envelopes of ``records`` (key, value), which stand at the offsets from 10 on."""
    source = SourceSpec.model_validate(
        {
            "format": "debezium-mysql",
            "gate": "none",
            "topics": {"data": [TOPIC]},
            "compacted": compacted,
        }
    )
    rows = [
        (topic, 0, 10 + number, None, None, key, value)
        for number, (key, value) in enumerate(records)
    ]
    decoder = decoder_of(source, {}, ordering=Ordering(OrderedBy.OFFSET))
    roles = TopicRoles(transactions=frozenset({TopicName("shop-1.my-db.transaction")}))
    return decoder.envelope(spark.createDataFrame(rows, RECORDS), roles).orderBy("offset").collect()


def test_a_tombstone_deletes_where_its_delete_is_gone(spark: SparkSession) -> None:
    """KEY-12, MSG-15: other keys between do not part the two."""
    rows = read(
        spark,
        (ONE, change("d")),
        (TWO, change("c")),
        (ONE, None),
        (TWO, None),
        (ONE, change("c")),
        (ONE, WRAPPED_NOTHING),
    )
    assert [(row["kind"], row["op"]) for row in rows] == [
        ("row", "D"),
        ("row", "U"),
        ("tombstone", None),
        ("row", "D"),
        ("row", "U"),
        ("row", "D"),
    ]
    alone = rows[3]
    assert (alone["source_schema"], alone["source_table"]) == ("my-db", "orders")
    assert (alone["position"], alone["schema_id"]) == ("0001" + "000000000000000D", UNTOLD)
    assert (alone["key"], alone["value"], alone["commit_time"]) == (TWO, None, None)
    assert alone["position"] < rows[4]["position"] < rows[5]["position"]


def test_a_tombstone_without_a_key_changes_nothing(spark: SparkSession) -> None:
    """KEY-12: nothing tells whose row it would end."""
    (row,) = read(spark, (None, None))
    assert (row["kind"], row["op"], row["position"]) == ("tombstone", None, None)


def test_a_tombstone_deletes_in_topics_of_rows_alone(spark: SparkSession) -> None:
    """MSG-1, KEY-13: and only where the file says that they are compacted."""
    (role,) = read(spark, (ONE, None), topic="shop-1.my-db.transaction")
    (refused,) = read(spark, (ONE, None), compacted="refuse")
    assert {role["kind"], refused["kind"]} == {"tombstone"}
    assert role["op"] is refused["op"] is None


def test_a_short_topic_name_tells_no_table(spark: SparkSession) -> None:
    """KEY-12: it is told by whoever counts rows of other tables in a topic."""
    (row,) = read(spark, (ONE, None), topic="orders")
    assert (row["kind"], row["source_schema"], row["source_table"]) == ("row", None, "orders")
