"""What a connector sends while a workload runs, as a case of the corpus."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tests.live.source import Source
from tests.live.worker import Worker

BEING_MADE = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
)
"""What a broker says of a topic that it is making."""
QUIET_SECONDS = 1.5
PATIENCE_SECONDS = 120


@dataclass
class Recorder:
    """A connector of ``source`` and the records that it has sent; stages: as cases have them."""

    source: Source
    worker: Worker
    has_schemas: bool
    partitions: int = 3
    lines: list[dict[str, Any]] = field(default_factory=list)
    stages: list[dict[str, Any]] = field(default_factory=list)
    _read: dict[tuple[str, int], int] = field(default_factory=dict)

    @property
    def variant(self) -> str:
        """What cases call the form of the records."""
        return "json-schema" if self.has_schemas else "json-noschema"

    @property
    def config(self) -> Mapping[str, str]:
        """Settings of the connector."""
        name = self.source.name
        return {
            "tasks.max": "1",
            "topic.prefix": name,
            "snapshot.mode": "initial",
            "skipped.operations": "none",
            "provide.transaction.metadata": "true",
            "poll.interval.ms": "100",
            "retriable.restart.connector.wait.ms": "500",
            "decimal.handling.mode": "precise",
            "signal.enabled.channels": "source",
            "incremental.snapshot.chunk.size": "7",
            "topic.creation.default.partitions": str(self.partitions),
            "topic.creation.default.replication.factor": "1",
            "topic.creation.groups": "single",
            "topic.creation.single.include": rf"{name}|{name}\.transaction",
            "topic.creation.single.partitions": "1",
            "topic.creation.single.replication.factor": "1",
            **self._converters(),
            **self.source.connector(),
        }

    def _converters(self) -> Mapping[str, str]:
        settings = {
            "": "org.apache.kafka.connect.json.JsonConverter",
            ".schemas.enable": str(self.has_schemas).lower(),
            ".replace.null.with.default": "false",
        }
        return {
            f"{part}.converter{name}": value
            for part in ("key", "value")
            for name, value in settings.items()
        }

    def start(self) -> None:
        """Let the connector run."""
        self.worker.create(self.source.name, self.config)

    def end_stage(self, name: str) -> None:
        """Wait until all that happened has come, and note what the source selects now."""
        number = len(self.stages) + 1
        self.source.run([f"INSERT INTO marker VALUES ({number})"])
        until, quiet_since, seen = time.monotonic() + PATIENCE_SECONDS, 0.0, False
        while not seen or time.monotonic() < quiet_since + QUIET_SECONDS:
            if time.monotonic() > until:
                raise RuntimeError(f"the connector of {self.source.name} sent no marker {number}")
            if new := self._take():
                quiet_since = time.monotonic()
                self.lines += new
                seen = seen or any(_is_marker(line, number) for line in new)
            time.sleep(0.1)
        self.stages.append(
            {
                "stage": name,
                "messages_so_far": {self.variant: len(self.lines)},
                "tables": {
                    f"{self.source.namespace}.{table}": table_of(self.source, table)
                    for table in self.source.tables()
                },
            }
        )

    def write(self, folder: Path, statements: list[str]) -> None:
        """The case."""
        folder.mkdir(parents=True)
        contents = [_content(line) for line in self.lines]
        if sum(_source_of(one).get("snapshot") == "last" for one in contents) > 1:
            # Signals that were lost never come: no snapshot reads their table.
            rows = [
                one.get("after") for one in contents if _source_of(one).get("table") == "signals"
            ]
            came = {row["id"] for row in rows if row}
            for stage in self.stages:
                table = stage["tables"][f"{self.source.namespace}.signals"]
                table["rows"] = [row for row in table["rows"] if row["id"] in came]
        topics = {line["topic"] for line in self.lines}
        counts = {t: sum(1 for at in self._read if at[0] == t) for t in topics}
        expected = {"partitions": {self.variant: counts}, "stages": self.stages}
        (folder / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False))
        (folder / f"connector.{self.variant}.json").write_text(json.dumps(self.config, indent=1))
        (folder / "source.sql").write_text("\n".join(statements) + "\n")
        with (folder / f"messages.{self.variant}.jsonl").open("w") as file:
            file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines)

    def _take(self) -> list[dict[str, Any]]:
        """What is new on the connector's topics, by the time of its sending."""
        name = self.source.name
        consumer = Consumer(
            {
                "bootstrap.servers": self.worker.servers,
                "group.id": "recorder",
                "enable.auto.commit": False,
                "enable.partition.eof": False,
                "log_level": 0,
            }
        )
        try:
            topics = consumer.list_topics(timeout=30).topics
            places = [
                (topic, partition)
                for topic, told in topics.items()
                if topic == name or topic.startswith(f"{name}.")
                for partition in told.partitions
            ]
            try:
                ends = {
                    at: consumer.get_watermark_offsets(TopicPartition(*at), timeout=30)[1]
                    for at in places
                }
            except KafkaException as error:
                if error.args[0].code() in BEING_MADE:
                    return []
                raise
            start = {at: self._read.setdefault(at, 0) for at in places}
            waiting = {at for at in places if ends[at] > start[at]}
            consumer.assign([TopicPartition(*at, start[at]) for at in waiting])
            new: list[dict[str, Any]] = []
            while any(self._read[at] < ends[at] for at in waiting):
                for message in consumer.consume(500, timeout=1):
                    if message.error() is not None:
                        raise RuntimeError(str(message.error()))
                    line = _line(message)
                    at = line["topic"], line["partition"]
                    if line["offset"] < ends[at]:
                        new.append(line)
                        self._read[at] = line["offset"] + 1
        finally:
            consumer.close()
        return sorted(new, key=_when)


def table_of(source: Source, table: str) -> dict[str, Any]:
    """What the source selects now, as cases have it."""
    return {
        "primary_key": list(source.key(table)),
        "columns": [{"name": c.name, "source_type": c.text} for c in source.columns(table)],
        "rows": source.rows(table),
    }


def _when(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("timestamp", "topic", "partition", "offset"))


def _line(message: Message) -> dict[str, Any]:
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "key": _text(message.key()),
        "value": _text(message.value()),
        "headers": [[name, _text(value)] for name, value in _headers(message)],
        "offset": message.offset(),
        "timestamp": message.timestamp()[1],
    }


def _headers(message: Message) -> list[tuple[str, bytes | None]]:
    headers: Any = message.headers()
    return list(headers or ())


def _text(raw: Any) -> Any:
    if raw is None:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(raw).decode()}


def _content(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a record says, without its schema; nothing where it has no value."""
    content: Mapping[str, Any] = json.loads(line["value"] or "{}")
    return content.get("payload") or content


def _source_of(content: Mapping[str, Any]) -> Mapping[str, Any]:
    return content.get("source") or {}


def _is_marker(line: Mapping[str, Any], number: int) -> bool:
    after = _content(line).get("after") or {}
    return line["topic"].endswith(".marker") and bool(after.get("id") == number)
