"""The broker as Tidemark sees it: which topics there are, who they are, and how far they reach."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
)
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # re-exported bare
    AdminClient,
    ConfigResource,
    OffsetSpec,
    ResourceType,
    TopicDescription,
)

from tidemark.errors import (
    UNCHANGED,
    BrokerRefusedError,
    BrokerUnreachableError,
    TidemarkError,
    TopicMissingError,
)
from tidemark.log import get_logger
from tidemark.model.names import TopicName, few
from tidemark.model.offsets import OffsetRange, Ranges, TopicPartition
from tidemark.spec import KafkaSpec
from tidemark.topics.authorities import with_authorities
from tidemark.topics.consume import CONSUMER, RecordsGoneError, SilentBrokerError, consume

TIMEOUT_SECONDS = 20
RETRY_SECONDS = 0.2
NO_LEADER = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)
NOT_ALLOWED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)
NOT_LET_IN = (
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError._INVALID_ARG,  # such as a file of certificates that cannot be read
    KafkaError.SASL_AUTHENTICATION_FAILED,
)
PATTERN_MARK = "^"
FEW_BYTES = 64 * 1024

log = get_logger()


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """What a topic is: its id changes when it is deleted and made again (POS-15).

    compacted, tombstones_ms: whether it is, and how long it keeps tombstones once they were
    cleaned; None where the broker does not tell this client.
    """

    name: TopicName
    topic_id: str
    partitions: int
    compacted: bool | None
    tombstones_ms: int | None

    @property
    def places(self) -> tuple[TopicPartition, ...]:
        """Its partitions."""
        return tuple(TopicPartition(self.name, number) for number in range(self.partitions))


class Broker:
    """A Kafka cluster; one client, made at first use. Nothing is written but signals.

    declared: how to connect, as the installation says it; properties: as librdkafka takes it.
    """

    def __init__(self, spec: KafkaSpec) -> None:
        self.servers = spec.bootstrap_servers
        self.declared: Mapping[str, str] = dict(spec.properties)
        self.properties: Mapping[str, str] = with_authorities(spec.properties)
        self._admin: AdminClient | None = None
        self._refusals: list[KafkaError] = []

    @property
    def admin(self) -> AdminClient:
        """The client; librdkafka connects in the background and logs through ours."""
        if self._admin is None:
            settings: dict[str, Any] = {
                "bootstrap.servers": self.servers,
                "socket.timeout.ms": TIMEOUT_SECONDS * 1000,
                "error_cb": self._heard,
                **self.properties,
            }
            self._admin = AdminClient(settings, logger=_Quiet())
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
                f"topic {', '.join(sorted(missing))} is not on the broker {self.servers}, or not "
                "to be seen by this client",
                state=UNCHANGED,
                next_step="look at source.topics of the pipeline file, or start the connector "
                "that makes the topic; where Kafka has ACLs, grant READ and DESCRIBE",
            )
        matching = {name for name in present if any(p.fullmatch(name) for p in patterns)}
        return tuple(TopicName(name) for name in sorted(matching | exact))

    def describe(self, topics: Collection[TopicName]) -> tuple[TopicFacts, ...]:
        """Id, partitions and clean-up policy of each of ``topics``.

        The policy asks for the right to DESCRIBE_CONFIGS; who does not have it reads all the same.
        """
        if not topics:
            return ()
        with self._errors("the description of topics"):
            described = {
                name: future.result(timeout=TIMEOUT_SECONDS)
                for name, future in self.admin.describe_topics(
                    TopicCollection(list(topics)), request_timeout=TIMEOUT_SECONDS
                ).items()
            }
            configs = self.settings(topics)
        untold = sorted(described.keys() - configs.keys())
        if untold:
            log.warning("cleanup_policy_unknown", topics=few(untold), lacking="DESCRIBE_CONFIGS")
        return tuple(
            TopicFacts(
                TopicName(name),
                str(facts.topic_id),
                len(facts.partitions),
                None if name in untold else "compact" in configs[name]["cleanup.policy"],
                None if name in untold else int(configs[name]["delete.retention.ms"]),
            )
            for name, facts in sorted(described.items())
        )

    def rights(self, topics: Collection[TopicName]) -> dict[TopicName, frozenset[str]]:
        """What this client may do with those of ``topics`` of which the broker tells it."""
        if not topics:
            return {}
        with self._errors("what this client may do"):
            described = self.admin.describe_topics(
                TopicCollection(list(topics)),
                include_authorized_operations=True,
                request_timeout=TIMEOUT_SECONDS,
            )
            return rights_of(described)

    def settings(self, topics: Collection[TopicName]) -> dict[str, dict[str, str]]:
        """Settings of those of ``topics`` whose settings this client may see, by their names."""
        if not topics:
            return {}
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
        configs: dict[str, dict[str, str]] = {}
        with self._errors("the settings of topics"):
            asked = self.admin.describe_configs(resources, request_timeout=TIMEOUT_SECONDS)
            for resource, future in asked.items():
                try:
                    entries = future.result(timeout=TIMEOUT_SECONDS)
                except KafkaException as error:
                    if error.args[0].code() not in NOT_ALLOWED:
                        raise
                else:
                    configs[resource.name] = {name: e.value or "0" for name, e in entries.items()}
        return configs

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
        settings: dict[str, Any] = {
            "bootstrap.servers": self.servers,
            **CONSUMER,
            "max.partition.fetch.bytes": FEW_BYTES,
            # All partitions share one queue: one that waits for another to be emptied waits
            # a second unless told otherwise.
            "queued.max.messages.kbytes": 4 * 1024,
            "fetch.queue.backoff.ms": 10,
            "error_cb": self._heard,
            **self.properties,
        }
        with self._errors("single records"):
            consumer = Consumer(settings, logger=_Quiet())
            try:
                yield consumer
            finally:
                consumer.close()

    def read(self, ranges: Ranges) -> Iterator[Message]:
        """The committed records of ``ranges``, in order within a partition."""
        with self._errors("records"):
            try:
                yield from consume(self.servers, self.properties, ranges)
            except (RecordsGoneError, SilentBrokerError) as error:
                raise TimeoutError(str(error)) from error

    def send(self, topic: str, key: bytes, value: bytes) -> None:
        """Write one record, and wait until all replicas have it."""
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: object) -> None:
            if error is not None:
                failed.append(error)

        producer = Producer(
            {
                "bootstrap.servers": self.servers,
                "acks": "all",  # A signal that arrives twice has a table read twice, and no harm.
                "message.timeout.ms": TIMEOUT_SECONDS * 1000,
                **self.properties,
            },
            logger=_Quiet(),
        )
        with self._errors(f"the writing of a record to {topic}"):
            producer.produce(topic, value, key, on_delivery=delivered)
            if producer.flush(TIMEOUT_SECONDS):
                raise TimeoutError("it was not confirmed")
            if failed:
                raise KafkaException(failed[0])

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        self._refusals.clear()
        try:
            yield
        except (KafkaException, TimeoutError) as error:
            raise self._error_for(error, doing) from error

    def _heard(self, error: KafkaError) -> None:
        """Keep why a client is not let in; what it waits for then only runs out of time."""
        if error.code() in NOT_LET_IN:
            self._refusals.append(error)

    def _error_for(self, error: Exception, doing: str) -> TidemarkError:
        if self._admin is not None:
            self._admin.poll(0)  # What it heard comes only now.
        answer = error.args[0] if isinstance(error, KafkaException) else None
        code = answer.code() if answer is not None else None
        if code in NOT_ALLOWED:
            return BrokerRefusedError(
                f"the broker {self.servers} refused a request for {doing}: {error}",
                state=UNCHANGED,
                next_step="grant this client READ and DESCRIBE on the topics of the pipeline, and "
                "WRITE on its signal topic, then run again",
            )
        if code in NOT_LET_IN or self._refusals:
            why = error if code in NOT_LET_IN else self._refusals[-1].str()
            return BrokerRefusedError(
                f"no connection to the broker {self.servers} was let in: {why}",
                state=UNCHANGED,
                next_step="fix kafka.properties in the installation file, then run again",
            )
        return BrokerUnreachableError(
            f"the broker {self.servers} did not answer a request for {doing}: {error}",
            state=UNCHANGED,
            next_step="look whether the broker runs, then run again",
        )


def rights_of(
    described: Mapping[str, Future[TopicDescription]],
) -> dict[TopicName, frozenset[str]]:
    """What a client may do, such as READ and WRITE, with the topics whose answers tell it."""
    rights: dict[TopicName, frozenset[str]] = {}
    for name, future in described.items():
        try:
            allowed = future.result(timeout=TIMEOUT_SECONDS).authorized_operations
        except KafkaException as error:
            if error.args[0].code() != KafkaError._UNSUPPORTED_FEATURE:
                raise
            continue
        if allowed is not None:
            rights[TopicName(name)] = frozenset(operation.name for operation in allowed)
    return rights


class _Quiet:
    """Sends librdkafka's own lines to our log, below the level that is shown."""

    def log(self, level: int, message: str, *values: object) -> None:
        log.debug("librdkafka", level=level, message=message % values if values else message)
