"""Records into the broker, before anything is timed."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import KafkaError, Producer
from confluent_kafka import Message as Delivered

from tests.bench.messages import Message
from tidemark.errors import ServiceError

QUEUED = 10_000
TIMEOUT_SECONDS = 60


def send(servers: str, prefix: str, messages: Iterable[Message]) -> None:
    """Send in order to the topics behind ``prefix``; return when the broker has them all."""
    refused: list[str] = []

    def note(error: KafkaError | None, _: Delivered) -> None:
        if error is not None:
            refused.append(str(error))

    producer = Producer(
        {"bootstrap.servers": servers, "linger.ms": 20, "queue.buffering.max.messages": 2 * QUEUED}
    )
    for number, message in enumerate(messages, start=1):
        producer.produce(
            f"{prefix}.{message.topic}",
            value=message.value,
            key=message.key,
            partition=message.partition,
            on_delivery=note,
        )
        if number % QUEUED == 0:
            producer.flush(TIMEOUT_SECONDS)
    unavailable = producer.flush(TIMEOUT_SECONDS)
    if unavailable or refused:
        raise ServiceError(
            f"the broker did not take {unavailable + len(refused)} records: {refused[:1]}",
            state="nothing was measured",
            next_step="look after the disk and the broker's log, then run again",
        )
