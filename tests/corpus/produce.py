"""Records into topics: which partition each one would have been sent to, and the sending."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.corpus.cases import Case, Record
from tests.corpus.source import (
    Role,
    Source,
    envelope_of,
    image_of,
    is_row,
    is_watermark,
    table_of,
)

TIMEOUT_SECONDS = 30


def spread(case: Case, source: Source, partitions: int) -> dict[str, int]:
    """Partitions of each topic: as recorded if rows were spread then, else ``partitions``.

    Topics whose order only the offset tells have one: schema changes, transactions, and every
    topic of a source without positions.
    """
    widest = max(case.partitions.values())
    may_widen = widest == 1 and source.has_positions
    return {
        topic: partitions if may_widen and source.roles[topic] is Role.DATA else recorded
        for topic, recorded in case.partitions.items()
    }


def place(
    case: Case, partitions: Mapping[str, int], rng: random.Random
) -> tuple[tuple[Record, ...], ...]:
    """The records to send for each line of the case: one, or a watermark for every partition."""
    return tuple(
        (record,)
        if case.partitions[record.topic] == partitions[record.topic]
        else _placed(record, case, partitions[record.topic], rng)
        for record in case.records
    )


def create_topics(servers: str, prefix: str, partitions: Mapping[str, int]) -> None:
    """Make the topics, each behind ``prefix`` and a dot."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    topics = [NewTopic(f"{prefix}.{topic}", count, 1) for topic, count in partitions.items()]
    for made in admin.create_topics(topics, operation_timeout=TIMEOUT_SECONDS).values():
        made.result(timeout=TIMEOUT_SECONDS)


def open_producer(servers: str) -> Producer:
    """A producer that waits for nothing and leaves what it thinks of it unsaid."""
    return Producer({"bootstrap.servers": servers, "linger.ms": 0, "log_level": 0})


def send(producer: Producer, prefix: str, records: Iterable[Record]) -> None:
    """Send in order, and return when the broker has them all."""
    refused: list[str] = []
    for record in records:
        producer.produce(
            f"{prefix}.{record.topic}",
            value=record.value,
            key=record.key,
            headers=list(record.headers),
            partition=record.partition,
            on_delivery=lambda error, _: refused.append(str(error)) if error else None,
        )
        producer.poll(0)
    unavailable = producer.flush(TIMEOUT_SECONDS)
    if unavailable or refused:
        raise RuntimeError(
            f"the broker did not take {unavailable + len(refused)} records: {refused[:1]}"
        )


def _placed(record: Record, case: Case, count: int, rng: random.Random) -> tuple[Record, ...]:
    """Where the source would have sent it: rows by their key, watermarks everywhere."""
    envelope = envelope_of(record)
    if is_watermark(envelope):
        return tuple(replace(record, partition=partition) for partition in range(count))
    return (replace(record, partition=_partition(record, envelope, case, count, rng)),)


def _partition(
    record: Record,
    envelope: Mapping[str, object],
    case: Case,
    count: int,
    rng: random.Random,
) -> int:
    if record.key is not None:
        return zlib.crc32(record.key) % count
    if is_row(envelope):
        values = _key_values(envelope, case)
        return zlib.crc32(values) % count if values else rng.randrange(count)
    # TiCDC and Canal keep DDL in partition 0; Debezium's truncate has no key to go by.
    return 0 if "isDdl" in envelope else rng.randrange(count)


def _key_values(envelope: Mapping[str, object], case: Case) -> bytes:
    """Table and key of the row's image; empty when the table has no key."""
    name = table_of(envelope)
    table = case.tables.get(name)
    key: Sequence[str] = table.key if table else ()
    image = image_of(envelope)
    return json.dumps([name, *(image.get(column) for column in key)]).encode() if key else b""
