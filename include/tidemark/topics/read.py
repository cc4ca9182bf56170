"""Records of explicit offset ranges as a frame, exactly as the broker holds them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from tidemark.model.offsets import OffsetRange, Ranges, TopicPartition, offsets_to_json
from tidemark.topics import consume
from tidemark.topics.client import Broker
from tidemark.topics.java_client import java_properties

RECORDS_PER_TASK = 25_000
MIB = 1024 * 1024
CONSUMER = {
    "isolation.level": "read_committed",
    # A task decodes what it has while the broker fills the socket with what comes next.
    "receive.buffer.bytes": str(4 * MIB),
    # All that a fetch brings, which is 1 MiB at most. What a larger one brings outlives the young
    # collections that come while it is decoded, and is copied by each.
    "max.poll.records": "4000",
    # At the end of a partition there is nothing to wait for: what is read is known to be there.
    "fetch.max.wait.ms": "10",
}


def read_records(session: SparkSession, broker: Broker, ranges: Ranges) -> DataFrame:
    """Records of ``ranges``, committed ones only (TOP-6). Out: RECORD_COLUMNS.

    A record that retention removes while it is read fails the job (``failOnDataLoss``).
    """
    wanted = {place: span for place, span in ranges.items() if span.count > 0}
    reader = (
        session.read.format("kafka")
        .option("kafka.bootstrap.servers", broker.servers)
        .option("assign", json.dumps(_assigned(wanted)))
        .option("startingOffsets", _offsets({p: span.start for p, span in wanted.items()}))
        .option("endingOffsets", _offsets({p: span.end for p, span in wanted.items()}))
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "true")
        .option("kafkaConsumer.pollTimeoutMs", str(consume.SILENCE_SECONDS * 1000))
    )
    for name, value in {**CONSUMER, **java_properties(broker.declared)}.items():
        reader = reader.option(f"kafka.{name}", value)
    total = sum(span.count for span in wanted.values())
    records = reader.load().coalesce(max(1, -(-total // RECORDS_PER_TASK)))
    return records.selectExpr(
        "topic", "partition", "offset", "timestamp AS kafka_time", "headers", "key", "value"
    )


def _assigned(wanted: Mapping[TopicPartition, OffsetRange]) -> dict[str, list[int]]:
    assigned: dict[str, list[int]] = {}
    for place in sorted(wanted):
        assigned.setdefault(place.topic, []).append(place.partition)
    return assigned


def _offsets(offsets: Mapping[TopicPartition, int]) -> str:
    return json.dumps(offsets_to_json(offsets))
