"""A broker, a Spark session and a catalog for tests that run whole cuts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.support.records import TABLE, Record
from tests.support.topics import add_partitions
from tidemark.lake.catalog import open_catalog
from tidemark.model.names import AttemptId, TopicName
from tidemark.model.result import CutResult
from tidemark.runs.cut import run_cut
from tidemark.runs.run import CutRequest
from tidemark.runs.world import World, open_spark_world
from tidemark.spec import InstallationSpec, PipelineSpec
from tidemark.topics.client import Broker

COUNTER = itertools.count(1)
SPARK_CONF: Mapping[str, str] = {
    "spark.master": "local[2]",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Over a few rows the optimising compiler costs a third of the time and never pays for it.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m "
    "-XX:+UseSerialGC",
}
"""Of every session that tests start."""


def installation(state: Path, jars: Path, servers: str) -> InstallationSpec:
    """An installation below ``state`` with an SQLite catalog."""
    return InstallationSpec.model_validate(
        {
            "kafka": {"bootstrap-servers": servers},
            "catalog": {
                "name": "lake",
                "uri": f"sqlite:///{state}/catalog.db",
                "warehouse": str(state / "warehouse"),
            },
            "spark": {
                "jars": str(jars / "spark"),
                "conf": dict(SPARK_CONF),
            },
            "state": str(state),
        }
    )


@dataclass
class Stream:
    """One pipeline on a topic of its own, and what a reader sees of its one table.

    has_statements: Debezium's schema changes come by a topic beside it. replicas: of each topic.
    """

    world: World
    partitions: int = 1
    format: str = "ticdc-canal-json"
    gate: str = "watermark"
    table: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    has_statements: bool = False
    replicas: int = 1

    def __post_init__(self) -> None:
        self.name = f"p{next(COUNTER)}"
        self.topic = f"{self.name}.items"
        self.transactions = f"{self.name}.transaction"
        self.statements = f"{self.name}.schemas"
        self.attempts = itertools.count(1)
        self.admin = AdminClient({"bootstrap.servers": self.world.broker.servers, "log_level": 0})

    @property
    def pipeline(self) -> PipelineSpec:
        """The pipeline as its file would declare it."""
        topics = {"data": [self.topic]}
        if self.gate == "transaction":
            topics["transactions"] = [self.transactions]
        if self.has_statements:
            topics["schema-changes"] = [self.statements]
        return PipelineSpec.model_validate(
            {
                "name": self.name,
                "description": "a test",
                "owner": "tests",
                "schedule": None,
                "source": {
                    "format": self.format,
                    "gate": self.gate,
                    "topics": topics,
                    **self.source,
                },
                "tables": [{"source": TABLE, "expectations": "none", **self.table}],
                **self.options,
            }
        )

    def create(self, config: Mapping[str, str] | None = None) -> Stream:
        """Make the topics; config: of the topic of rows."""
        rows = NewTopic(
            self.topic,
            num_partitions=self.partitions,
            replication_factor=self.replicas,
            config=dict(config or {}),
        )
        beside = [self.transactions] if self.gate == "transaction" else []
        beside += [self.statements] if self.has_statements else []
        topics = [rows, *(NewTopic(name, 1, replication_factor=self.replicas) for name in beside)]
        for made in self.admin.create_topics(topics).values():
            made.result(timeout=30)
        return self

    def grow(self, partitions: int) -> None:
        """Add partitions to the topic of rows."""
        add_partitions(self.world.broker, TopicName(self.topic), partitions)

    def send(self, records: Iterable[Record], topic: str = "") -> None:
        """Produce ``records`` in order; to the topic of rows unless another is named."""
        producer = Producer(
            {"bootstrap.servers": self.world.broker.servers, "acks": "all", "log_level": 0}
        )
        for record in records:
            producer.produce(
                topic or self.topic,
                record.value,
                record.key,
                partition=record.partition,
                headers=list(record.headers),
            )
        assert producer.flush(30) == 0

    def attempt(self) -> AttemptId:
        """A name that was not used before."""
        return AttemptId(f"t{next(self.attempts)}")

    def cut(self, **request: Any) -> CutResult:
        """Run one cut to its end."""
        return run_cut(self.pipeline, self.world, CutRequest(self.attempt(), **request))

    def published(self) -> list[dict[str, Any]]:
        """Rows of main, all columns, as pyiceberg reads them; none when there is no table."""
        if not self.world.catalog.table_exists((self.name, "items")):
            return []
        table = self.world.catalog.load_table((self.name, "items"))
        return list(table.scan().to_arrow().to_pylist())

    def rows(self) -> dict[int, str]:
        """id -> name of `published`."""
        return {row["id"]: row["name"] for row in self.published()}


def counted(result: CutResult) -> dict[str, int]:
    """The buckets that are not empty (ACC-1)."""
    return {name: number for name, number in result.buckets.items() if number}


def reopened(world: World, **changed: Any) -> World:
    """The same session with another installation: `kafka` or `catalog` replaced."""
    spec = world.installation.model_copy(update=changed)
    return World(spec, open_catalog(spec.catalog), Broker(spec.kafka), world.session)


def open_stack(state: Path, jars: Path, servers: str) -> World:
    """A world with a session, for a whole test process."""
    return open_spark_world(installation(state, jars, servers))
