"""The broker as Tidemark sees it: which topics there are, who they are, and how far they reach."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
)
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # re-exported bare
    AdminClient,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)

from tidemark.errors import UNCHANGED, BrokerUnreachableError, TopicMissingError
from tidemark.log import get_logger
from tidemark.model.names import TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.spec import KafkaSpec

TIMEOUT_SECONDS = 20
RETRY_SECONDS = 0.2
NO_LEADER = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
PATTERN_MARK = "^"
FEW_BYTES = 64 * 1024

log = get_logger()


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """What a topic is: its id changes when it is deleted and made again (POS-15).

    tombstones_ms: how long a compacted one keeps tombstones once they were cleaned.
    """

    name: TopicName
    topic_id: str
    partitions: int
    compacted: bool
    tombstones_ms: int

    @property
    def places(self) -> tuple[TopicPartition, ...]:
        """Its partitions."""
        return tuple(TopicPartition(self.name, number) for number in range(self.partitions))


class Broker:
    """A Kafka cluster; one client, made at first use. Nothing is written but signals."""

    def __init__(self, spec: KafkaSpec) -> None:
        self.servers = spec.bootstrap_servers
        self.properties: Mapping[str, str] = dict(spec.properties)
        self._admin: AdminClient | None = None

    @property
    def admin(self) -> AdminClient:
        """The client; librdkafka connects in the background and logs through ours."""
        if self._admin is None:
            self._admin = AdminClient(
                {
                    "bootstrap.servers": self.servers,
                    "socket.timeout.ms": TIMEOUT_SECONDS * 1000,
                    **self.properties,
                },
                logger=_Quiet(),
            )
        return self._admin

    def find(self, declared: Sequence[str]) -> tuple[TopicName, ...]:
        """The topics that ``declared`` names, exactly or by a pattern that starts with ``^``."""
        exact = {name for name in declared if not name.startswith(PATTERN_MARK)}
        patterns = [re.compile(name) for name in declared if name.startswith(PATTERN_MARK)]
        if not patterns and not exact:
            return ()
        with self._errors("the list of topics"):
            present = set(self.admin.list_topics(timeout=TIMEOUT_SECONDS).topics)
        missing = exact - present
        if missing:
            raise TopicMissingError(
                f"topic {', '.join(sorted(missing))} is not on the broker {self.servers}",
                state=UNCHANGED,
                next_step="look at source.topics of the pipeline file, or start the connector "
                "that makes the topic",
            )
        found = {name for name in present if any(p.fullmatch(name) for p in patterns)}
        return tuple(TopicName(name) for name in sorted(found | exact))

    def describe(self, topics: Collection[TopicName]) -> tuple[TopicFacts, ...]:
        """Id, partitions and clean-up policy of each of ``topics``."""
        if not topics:
            return ()
        with self._errors("the description of topics"):
            described = {
                name: future.result(timeout=TIMEOUT_SECONDS)
                for name, future in self.admin.describe_topics(
                    TopicCollection(list(topics)), request_timeout=TIMEOUT_SECONDS
                ).items()
            }
            resources = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
            configs = {
                resource.name: future.result(timeout=TIMEOUT_SECONDS)
                for resource, future in self.admin.describe_configs(
                    resources, request_timeout=TIMEOUT_SECONDS
                ).items()
            }
        return tuple(
            TopicFacts(
                TopicName(name),
                str(facts.topic_id),
                len(facts.partitions),
                "compact" in (configs[name]["cleanup.policy"].value or ""),
                int(configs[name]["delete.retention.ms"].value or 0),
            )
            for name, facts in sorted(described.items())
        )

    def reach(self, places: Collection[TopicPartition]) -> dict[TopicPartition, OffsetRange]:
        """Earliest offset and last stable next offset of each partition (read committed)."""
        if not places:
            return {}
        earliest = self._offsets(places, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        latest = self._offsets(places, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        return {place: OffsetRange(earliest[place], latest[place]) for place in sorted(places)}

    def _offsets(
        self, places: Collection[TopicPartition], spec: OffsetSpec
    ) -> dict[TopicPartition, int]:
        """Offsets of ``places``; asked again while a new partition has no leader yet."""
        asked = {KafkaPartition(place.topic, place.partition): spec for place in places}
        patience = time.monotonic() + TIMEOUT_SECONDS
        with self._errors("the offsets of topics"):
            while True:
                answered = self.admin.list_offsets(
                    asked,
                    isolation_level=IsolationLevel.READ_COMMITTED,
                    request_timeout=TIMEOUT_SECONDS,
                )
                try:
                    return {
                        TopicPartition(TopicName(at.topic), at.partition): future.result(
                            timeout=TIMEOUT_SECONDS
                        ).offset
                        for at, future in answered.items()
                    }
                except KafkaException as error:
                    if error.args[0].code() not in NO_LEADER or time.monotonic() > patience:
                        raise
                    time.sleep(RETRY_SECONDS)

    @contextmanager
    def reading(self) -> Iterator[Consumer]:
        """A consumer for a few committed records of partitions that it is assigned to."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "tidemark",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
                "max.partition.fetch.bytes": FEW_BYTES,
                # All partitions share one queue: one that waits for another to be emptied waits
                # a second unless told otherwise.
                "queued.max.messages.kbytes": 4 * 1024,
                "fetch.queue.backoff.ms": 10,
                "fetch.wait.max.ms": 10,
                **self.properties,
            },
            logger=_Quiet(),
        )
        try:
            with self._errors("single records"):
                yield consumer
        finally:
            consumer.close()

    def send(self, topic: str, key: bytes, value: bytes) -> None:
        """Write one record, and wait until all replicas have it."""
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: object) -> None:
            if error is not None:
                failed.append(error)

        producer = Producer(
            {
                "bootstrap.servers": self.servers,
                "enable.idempotence": True,
                "message.timeout.ms": TIMEOUT_SECONDS * 1000,
                **self.properties,
            },
            logger=_Quiet(),
        )
        with self._errors(f"the writing of a record to {topic}"):
            producer.produce(topic, value, key, on_delivery=delivered)
            if producer.flush(TIMEOUT_SECONDS) or failed:
                raise TimeoutError(str(failed[0]) if failed else "it was not confirmed")

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (KafkaException, TimeoutError) as error:
            raise BrokerUnreachableError(
                f"the broker {self.servers} did not answer a request for {doing}: {error}",
                state=UNCHANGED,
                next_step="look whether the broker runs, then run again",
            ) from error


class _Quiet:
    """Sends librdkafka's own lines to our log, below the level that is shown."""

    def log(self, level: int, message: str, *values: object) -> None:
        log.debug("librdkafka", level=level, message=message % values if values else message)
