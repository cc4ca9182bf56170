"""The same histories through the whole engine: a real broker, Spark, Iceberg and its audit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from tests.corpus.produce import create_topics, open_producer
from tests.corpus.run import read_rows
from tests.simulate.broker import Broker
from tests.simulate.connector import MILLIS, SCHEMA, TRANSACTIONS, Connector
from tests.simulate.consumer import GATES, Published
from tests.simulate.decode import POSTGRES
from tests.simulate.history import SIGNALS, TABLES, Flavour
from tests.support.topics import add_partitions, delete_records
from tidemark.lake.catalog import SystemTables
from tidemark.lake.landing import read_mark
from tidemark.lake.ledger import newest_result, read_progress
from tidemark.model.cut import GateMode
from tidemark.model.names import AttemptId, TopicName
from tidemark.model.offsets import Offsets, TopicPartition
from tidemark.model.until import Barrier, Cap
from tidemark.runs.cut import run_cut, stage_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World
from tidemark.spec import PipelineSpec, load_pipeline

FORMATS = {
    Flavour.MYSQL: "debezium-mysql",
    Flavour.MYSQL_UNGATED: "debezium-mysql",
    Flavour.MARIADB: "debezium-mariadb",
    Flavour.POSTGRES: "debezium-postgres",
    Flavour.POSTGRES_UNGATED: "debezium-postgres",
    Flavour.TICDC: "ticdc-canal-json",
    Flavour.BY_OFFSET: "ticdc-canal-json",
}


@dataclass(slots=True)
class Engine:
    """One history's pipeline; name: of the pipeline, its namespace and its topics' prefix."""

    connector: Connector
    broker: Broker
    world: World
    name: str
    mode: GateMode = field(init=False)
    pipeline: PipelineSpec = field(init=False)
    producer: Producer = field(init=False)
    sent: dict[TopicPartition, int] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)
    attempts: int = 0

    def __post_init__(self) -> None:
        self.mode = GATES.get(self.connector.flavour, GateMode.NONE)
        self.made = dict.fromkeys(self.connector.data_topics, self.connector.partitions)
        boundaries: dict[str, int] = (
            {TRANSACTIONS.topic: 1} if self.mode is GateMode.TRANSACTION else {}
        )
        create_topics(self.world.broker.servers, self.name, {**self.made, **boundaries})
        self.producer = open_producer(self.world.broker.servers)
        file = Path(self.world.installation.state) / f"{self.name}.yaml"
        file.write_text(json.dumps(self._content()))  # JSON is YAML
        self.pipeline = load_pipeline(file, suites=file.parent)

    def run(self, limit: int | None, until: Cap | None, *, dies: bool) -> Published | None:
        """Bring the broker to where the model broker is, then run; limit: per partition."""
        assert not isinstance(until, Barrier), "none of its statements ends a cut"
        self._grow()
        self._send()
        self._expire()
        self.attempts += 1
        request = CutRequest(AttemptId(f"run_{self.attempts}"), until)
        pipeline = self.pipeline if limit is None else self._limited(limit)
        if dies:
            stage_cut(pipeline, self.world, request)
            return None
        run_cut(pipeline, self.world, request)
        progress = read_progress(self.world.catalog, SystemTables.of(self.pipeline.name))
        return Published(progress.frontier, self.rows()) if progress.cut else None

    @property
    def landed(self) -> Offsets:
        """Next offset per partition, by the model's names of topics."""
        mark = read_mark(self.world.catalog, SystemTables.of(self.pipeline.name))
        prefix = len(self.name) + 1
        return {
            TopicPartition(TopicName(place.topic[prefix:]), place.partition): offset
            for place, offset in mark.offsets.items()
        }

    def rows(self) -> Mapping[str, Mapping[int, int]]:
        """What the tables hold, by a reader without Spark."""
        found = {t: read_rows(self.world, self.pipeline.target_namespace, t) for t in TABLES}
        return {t: {row["id"]: row["v"] for row in rows or ()} for t, rows in found.items()}

    def unsettled(self) -> int:
        """What the newest cut holds; BEGIN and END of gate ``transaction`` may be among it."""
        result = newest_result(self.world.catalog, SystemTables.of(self.pipeline.name))
        is_exact = self.mode is not GateMode.TRANSACTION
        return result.buckets["held"] if result is not None and is_exact else 0

    def _limited(self, limit: int) -> PipelineSpec:
        limits = self.pipeline.limits.model_copy(
            update={"max_records": limit * len(self.connector.places())}
        )
        return self.pipeline.model_copy(update={"limits": limits})

    def _grow(self) -> None:
        wanted = self.connector.partitions
        for topic in [name for name, partitions in self.made.items() if partitions < wanted]:
            add_partitions(self.world.broker, TopicName(f"{self.name}.{topic}"), wanted)
            self.made[topic] = wanted
            # The one that is open may not hear of the new partitions for minutes.
            self.producer = open_producer(self.world.broker.servers)

    def _expire(self) -> None:
        starts = {
            self._at(place): start
            for place, start in self.broker.starts.items()
            if start and (place != TRANSACTIONS or self.mode is GateMode.TRANSACTION)
        }
        delete_records(self.world.broker, starts)

    def _at(self, place: TopicPartition) -> TopicPartition:
        return TopicPartition(TopicName(f"{self.name}.{place.topic}"), place.partition)

    def _send(self) -> None:
        for place, log in self.broker.logs.items():
            if place == TRANSACTIONS and self.mode is not GateMode.TRANSACTION:
                continue
            for record in log[self.sent.get(place, 0) :]:
                self.producer.produce(
                    f"{self.name}.{place.topic}",
                    key=record.key,
                    value=record.value,
                    partition=place.partition,
                    timestamp=MILLIS + record.time,
                )
            self.sent[place] = len(log)
        self.producer.flush()

    def _content(self) -> dict[str, Any]:
        topics = {"data": [f"{self.name}.{topic}" for topic in self.connector.data_topics]}
        if self.mode is GateMode.TRANSACTION:
            topics["transactions"] = [f"{self.name}.{TRANSACTIONS.topic}"]
        signals = {"signal-table": f"{SCHEMA}.{SIGNALS}"} if self.connector.has_signals else {}
        table: dict[str, Any] = {"expectations": "none"}
        if FORMATS[self.connector.flavour].startswith("debezium"):
            number = "integer" if self.connector.flavour in POSTGRES else "int"
            table |= {"columns": {"id": number, "v": number}, "key": ["id"]}
        return {
            "name": self.name,
            "description": str(self.connector.flavour),
            "owner": "simulation",
            "schedule": None,
            "snapshots": {"max-removed": 1.0},  # of a few rows, one is a great share
            "source": {
                "format": FORMATS[self.connector.flavour],
                "gate": self.mode.value,
                "topics": topics,
                **signals,
            },
            "tables": [{"source": f"{SCHEMA}.{name}", **table} for name in TABLES],
        }
