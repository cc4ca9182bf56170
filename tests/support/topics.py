"""What happens to topics behind a reader's back: they grow, and retention deletes records."""

from __future__ import annotations

import time

from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # re-exported bare
    AdminClient,
    NewPartitions,
)

from tidemark.model.names import TopicName
from tidemark.model.offsets import Offsets
from tidemark.topics.client import Broker

SECONDS = 30


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
