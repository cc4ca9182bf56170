"""Records of explicit offset ranges, one after the other, by librdkafka; in a task of a job."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from tidemark.model.offsets import OffsetRange, Ranges

AT_ONCE = 4_000
POLL_SECONDS = 0.1
SILENCE_SECONDS = 120
"""How long a broker may say nothing: one that starts again, or a leader that moves, takes less."""
CONSUMER: Mapping[str, str | int | bool] = {
    "group.id": "tidemark",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    # At the end of a partition there is nothing to wait for: what is read is known to be there.
    "fetch.wait.max.ms": 10,
}
"""A consumer with assigned partitions, read-committed isolation and no committed offsets."""
_QUEUE: Mapping[str, int] = {
    "queued.max.messages.kbytes": 8 * 1024,
    # A partition whose queue was full is asked for more a second later unless told otherwise.
    "fetch.queue.backoff.ms": 5,
}


class RecordsGoneError(Exception):
    """Retention deleted records of a range before they were read."""


class SilentBrokerError(Exception):
    """No record came from the broker for SILENCE_SECONDS; the text says what went wrong last."""


READ_ERRORS = (RecordsGoneError, SilentBrokerError, KafkaException)


def consume(servers: str, properties: Mapping[str, str], ranges: Ranges) -> Iterator[Message]:
    """The committed records of ``ranges``, in order within a partition (TOP-6).

    properties: of the client, in librdkafka's names. `RecordsGoneError`, `SilentBrokerError`,
    `KafkaException`.
    """
    errors = deque[KafkaError](maxlen=1)
    heard = {
        "error_cb": errors.append,
        # It would log each try to connect, twenty a second while a broker is away.
        "log_level": 0,
    }
    settings = {"bootstrap.servers": servers, **CONSUMER, **_QUEUE, **heard, **properties}
    consumer = Consumer(settings)
    try:
        consumer.assign([KafkaPartition(p.topic, p.partition, s.start) for p, s in ranges.items()])
        yield from _consume(consumer, {(p.topic, p.partition): s for p, s in ranges.items()})
    except SilentBrokerError as error:
        why = f"; last error of the client: {errors[0].str()}" if errors else ""
        # A driver is told of a task's error by its traceback, where a cause would stand first.
        raise SilentBrokerError(f"{error}{why}") from None
    finally:
        consumer.close()


def _consume(consumer: Consumer, unread: dict[tuple[str, int], OffsetRange]) -> Iterator[Message]:
    """unread: of partitions that are not read to their end; each leaves it there."""
    left, heard = sum(span.count for span in unread.values()), time.monotonic()
    while unread:
        # A client that is asked for more than there is waits for it.
        messages = consumer.consume(min(AT_ONCE, left), POLL_SECONDS)
        for message in messages:
            at = (message.topic() or "", message.partition() or 0)
            span = unread.get(at)
            if span is None:
                _refuse(message)
                continue  # It came behind the end, before the partition was let go.
            offset = _next_offset(message)
            if message.error() is None and offset <= span.end:
                yield message
            reached = min(offset, span.end)
            left -= reached - span.start
            if reached < span.end:
                unread[at] = OffsetRange(reached, span.end)
            else:
                del unread[at]
                consumer.incremental_unassign([KafkaPartition(*at)])
        if messages:
            heard = time.monotonic()
        elif time.monotonic() > heard + SILENCE_SECONDS:
            place = "{}-{}".format(*min(unread))
            raise SilentBrokerError(f"nothing came from {place} for {SILENCE_SECONDS} s")


def _next_offset(message: Message) -> int:
    """The offset behind the record; where a partition ends, the next one to come."""
    _refuse(message)
    return (message.offset() or 0) + (message.error() is None)


def _refuse(message: Message) -> None:
    """Raise what a message reports that is no record; what concerns no partition passes."""
    error = message.error()
    if error is None or message.topic() is None or error.code() == KafkaError._PARTITION_EOF:
        return
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        raise RecordsGoneError(f"{message.topic()}-{message.partition()}: {error.str()}")
    raise KafkaException(error)
