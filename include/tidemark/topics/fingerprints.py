"""The newest landed record of each partition: read, remembered, and known again (TOP-5).

After an unclean leader election a topic keeps its id, but other records may stand at offsets that
were landed. One record of each partition that has new ones tells.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from tidemark.errors import UNCHANGED, DataLossError
from tidemark.model.fingerprint import Fingerprint, Fingerprints
from tidemark.model.names import TopicName
from tidemark.model.offsets import OffsetRange, Ranges, TopicPartition
from tidemark.topics.client import TIMEOUT_SECONDS, Broker

LOOK_BACK = 8
"""Offsets in which the last record is looked for; what ends transactions is no record (TOP-6)."""
POLL_SECONDS = 0.05
AT_ONCE = 1000


def next_fingerprints(
    broker: Broker, before: Fingerprints, ranges: Ranges, compacted: Collection[TopicName]
) -> dict[TopicPartition, Fingerprint]:
    """Tails once ``ranges`` are landed, after those before them were found as they were.

    A partition without new records is not looked at, nor is a tail that retention has deleted: of
    that, only what `plan_topics` looks at is checked. Where the last offsets of a range hold no
    record, the tail before stays. `DataLossError` when another record stands at a tail.
    """
    new = {place: span for place, span in ranges.items() if span.count}
    if not new:
        return dict(before)
    with broker.reading() as consumer:
        known = {place: before[place] for place in new if place in before}
        current = read_fingerprints(
            consumer, {p: OffsetRange(t.offset, t.offset + 1) for p, t in known.items()}
        )
        _refuse_others(known, current, compacted)
        ends = {p: OffsetRange(max(s.start, s.end - LOOK_BACK), s.end) for p, s in new.items()}
        last = {
            place: fingerprints[-1]
            for place, fingerprints in read_fingerprints(consumer, ends).items()
            if fingerprints
        }
    return {**before, **last}


def _refuse_others(
    known: Fingerprints,
    current: Mapping[TopicPartition, list[Fingerprint]],
    compacted: Collection[TopicName],
) -> None:
    """current: per partition the record at its tail, if there is one; what is gone is not in."""
    for place, fingerprint in sorted(known.items(), key=lambda item: item[0]):
        there = current.get(place)
        if there is None or there == [fingerprint] or (not there and place.topic in compacted):
            continue
        now = f"one of {_moment(there[0])}" if there else "none"
        raise DataLossError(
            f"the record of {_moment(fingerprint)} that was landed from offset "
            f"{fingerprint.offset} of {place} "
            f"is not there any more, but {now}: the broker lost records and took others in their "
            "place, as after an unclean leader election (TOP-5)",
            state=UNCHANGED,
            next_step="the tables of this topic need a new snapshot at the source into a new "
            "pipeline; set unclean.leader.election.enable=false on the topic",
        )


def _moment(fingerprint: Fingerprint) -> str:
    return datetime.fromtimestamp(fingerprint.time_ms / 1000, UTC).isoformat(
        timespec="milliseconds"
    )


def read_fingerprints(consumer: Consumer, spans: Ranges) -> dict[TopicPartition, list[Fingerprint]]:
    """The records of ``spans``; partitions that begin behind their span are left out."""
    fingerprints: dict[TopicPartition, list[Fingerprint]] = {place: [] for place in spans}
    missing = dict(spans)
    consumer.assign([KafkaPartition(p.topic, p.partition, s.start) for p, s in spans.items()])
    patience = time.monotonic() + TIMEOUT_SECONDS
    while missing:
        messages = consumer.consume(AT_ONCE, POLL_SECONDS)
        if time.monotonic() > patience:
            raise TimeoutError(f"nothing came from {min(missing)} in {TIMEOUT_SECONDS} s")
        done = [
            place for message in messages for place in _add_message(message, missing, fingerprints)
        ]
        if done:
            consumer.incremental_unassign([KafkaPartition(p.topic, p.partition) for p in done])
            patience = time.monotonic() + TIMEOUT_SECONDS
    return fingerprints


def _add_message(
    message: Message,
    missing: dict[TopicPartition, OffsetRange],
    fingerprints: dict[TopicPartition, list[Fingerprint]],
) -> Iterable[TopicPartition]:
    """Put ``message`` where it belongs; the partition, if that was all of it."""
    error, topic = message.error(), message.topic()
    if topic is None:
        return ()  # About the connection: the client fixes it, or patience ends.
    place = TopicPartition(TopicName(topic), message.partition() or 0)
    span = missing.get(place)
    if span is None:
        return ()
    if error is not None and error.code() == KafkaError._AUTO_OFFSET_RESET:
        del fingerprints[place]
    elif error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    elif error is None:
        fingerprint = _fingerprint(message)
        if fingerprint.offset < span.end:
            fingerprints[place].append(fingerprint)
        if fingerprint.offset < span.end - 1:
            return ()
    del missing[place]
    return (place,)


def _fingerprint(message: Message) -> Fingerprint:
    digest = hashlib.sha256()
    parts: list[bytes | str | None] = [message.key(), message.value()]
    for header in message.headers() or ():
        parts += header
    for part in parts:
        text = part.encode() if isinstance(part, str) else part
        digest.update(b"-" if text is None else b"%d:%s" % (len(text), text))
    return Fingerprint(message.offset() or 0, message.timestamp()[1], digest.hexdigest())
