"""What happens to topics behind a reader's back: they grow, and records go."""

from __future__ import annotations

import time
from collections.abc import Collection

from confluent_kafka import KafkaError
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # re-exported bare
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from tidemark.model.names import TopicName
from tidemark.model.offsets import Offsets, TopicPartition
from tidemark.topics.client import Broker

SECONDS = 30
EAGERLY_COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "1",
    "min.cleanable.dirty.ratio": "0.0",
    "max.compaction.lag.ms": "1",
}
"""Of a topic whose every record may be compacted away once another one was sent after it."""


def add_partitions(broker: Broker, topic: TopicName, partitions: int) -> None:
    """Give ``topic`` so many; done once the broker says so."""
    admin = AdminClient({"bootstrap.servers": broker.servers})
    for added in admin.create_partitions([NewPartitions(topic, partitions)]).values():
        added.result(timeout=SECONDS)
    until = time.monotonic() + SECONDS
    while broker.describe([topic])[0].partitions < partitions:
        assert time.monotonic() < until
        time.sleep(0.1)


def delete_records(broker: Broker, starts: Offsets) -> None:
    """Delete what is before ``starts``, as retention does."""
    if not starts:
        return
    admin = AdminClient({"bootstrap.servers": broker.servers})
    wanted = [KafkaPartition(at.topic, at.partition, start) for at, start in starts.items()]
    for deleted in admin.delete_records(wanted).values():
        deleted.result(timeout=SECONDS)


def compact_often(broker: Broker) -> None:
    """Let the broker look for what can be compacted every 100 ms, and not every 15 s."""
    _configure(broker, ConfigResource(ResourceType.BROKER, "1"), "log.cleaner.backoff.ms", "100")


def set_policy(broker: Broker, topic: TopicName, policy: str) -> None:
    """Change the clean-up policy of ``topic``."""
    _configure(broker, ConfigResource(ResourceType.TOPIC, topic), "cleanup.policy", policy)


def _configure(broker: Broker, resource: ConfigResource, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource.add_incremental_config(entry)
    admin = AdminClient({"bootstrap.servers": broker.servers})
    for altered in admin.incremental_alter_configs([resource]).values():
        altered.result(timeout=SECONDS)


def offsets_in(broker: Broker, place: TopicPartition) -> list[int]:
    """The offsets at which ``place`` holds records."""
    span = broker.reach([place])[place]
    found: list[int] = []
    with broker.reading() as consumer:
        consumer.assign([KafkaPartition(place.topic, place.partition, span.start)])
        until = time.monotonic() + SECONDS
        while True:
            assert time.monotonic() < until
            message = consumer.poll(1)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return found
            found.append(message.offset() or 0)


def await_compaction(broker: Broker, place: TopicPartition, gone: Collection[int]) -> list[int]:
    """The offsets that are left in ``place`` once none of ``gone`` is."""
    until = time.monotonic() + SECONDS
    while True:
        left = offsets_in(broker, place)
        if not {*gone} & {*left}:
            return left
        assert time.monotonic() < until, f"not compacted away: {sorted({*gone} & {*left})}"
        time.sleep(0.1)
