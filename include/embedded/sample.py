"""The recorded streams of the two sample pipelines, sent stage by stage as their sources did.

A stream is a case of tests/corpus/cases: Kafka records in the order in which they were sent, and
what the source's tables held at a few moments between them (the form: README.md in that folder).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from embedded.home import REPOSITORY
from tidemark.errors import ServiceError

CASES = REPOSITORY / "tests" / "corpus" / "cases"
TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Record:
    """A Kafka record as it was captured."""

    topic: str
    partition: int
    key: str | None
    value: str | None
    headers: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class SourceTable:
    """What a table held at the source; columns: name -> type there. rows: a set by ``key``."""

    key: tuple[str, ...]
    columns: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """A moment of the source; end: how many records of the stream had been sent by then.

    tables: by the name that records give them. With a gate it is what the gate allows to be seen.
    """

    name: str
    end: int
    tables: Mapping[str, SourceTable]


@dataclass(frozen=True, slots=True)
class Stream:
    """A recorded stream; partitions: of each of its topics."""

    pipeline: str
    records: tuple[Record, ...]
    stages: tuple[Stage, ...]
    partitions: Mapping[str, int]

    def stage(self, name: str) -> Stage:
        """The stage of that name."""
        return next(stage for stage in self.stages if stage.name == name)


def inventory_stream() -> Stream:
    """Debezium on the tutorial database, as its JSON converter writes it without schemas."""
    return _read("inventory", CASES / "recorded-debezium-mysql" / "my-inventory", "json-noschema")


def shop_stream() -> Stream:
    """TiCDC on a small web shop, in one topic of three partitions, with watermarks."""
    return _read("shop", CASES / "ticdc-made" / "shop", "3p")


def create_topics(servers: str, stream: Stream) -> None:
    """Make the topics of ``stream`` that the broker does not have yet."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 4})
    known = admin.list_topics(timeout=TIMEOUT_SECONDS).topics
    missing = [
        NewTopic(topic, count, 1)
        for topic, count in stream.partitions.items()
        if topic not in known
    ]
    if missing:
        for made in admin.create_topics(missing, operation_timeout=TIMEOUT_SECONDS).values():
            made.result(timeout=TIMEOUT_SECONDS)


def count_sent(servers: str, stream: Stream) -> int:
    """How many records the topics of ``stream`` hold: where it goes on."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "sample"})
    try:
        ends = [
            consumer.get_watermark_offsets(TopicPartition(topic, number), TIMEOUT_SECONDS)[1]
            for topic, count in stream.partitions.items()
            for number in range(count)
        ]
    finally:
        consumer.close()
    return sum(ends)


def send(servers: str, records: Iterable[Record]) -> None:
    """Send in order, and return when the broker has them all."""
    refused: list[str] = []
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    for record in records:
        producer.produce(
            record.topic,
            value=record.value,
            key=record.key,
            partition=record.partition,
            headers=list(record.headers),
            on_delivery=lambda error, _: refused.append(str(error)) if error else None,
        )
    unavailable = producer.flush(TIMEOUT_SECONDS)
    if unavailable or refused:
        raise ServiceError(
            f"the broker did not take {unavailable + len(refused)} records: {refused[:1]}",
            state="the topics hold the records before them",
            next_step="read the broker's log, then start with fresh topics: make down, make up",
        )


def _read(pipeline: str, folder: Path, variant: str) -> Stream:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    # Not splitlines: a text may hold U+2028, which ends no line of the file.
    lines = (folder / f"messages.{variant}.jsonl").read_text(encoding="utf-8").split("\n")
    records = tuple(_record(json.loads(line)) for line in lines if line)
    stages = tuple(
        Stage(
            stage["stage"],
            stage["messages_so_far"][variant],
            {name: _table(table) for name, table in stage["tables"].items()},
        )
        for stage in expected["stages"]
    )
    return Stream(pipeline, records, stages, _partitions(records))


def _record(line: Mapping[str, Any]) -> Record:
    headers = tuple((name, text) for name, text in line["headers"])
    return Record(line["topic"], line.get("partition", 0), line["key"], line["value"], headers)


def _table(table: Mapping[str, Any]) -> SourceTable:
    columns = {column["name"]: column["source_type"] for column in table["columns"]}
    return SourceTable(tuple(table["primary_key"]), columns, tuple(table["rows"]))


def _partitions(records: Sequence[Record]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in records:
        counts[record.topic] = max(counts.get(record.topic, 0), record.partition + 1)
    return counts
