"""A broker with TLS, logins and ACLs: the rights that a client needs, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]  # re-exported bare

from tests.support.records import ticdc_row, ticdc_watermark
from tests.support.secured_broker import (
    PASSWORD,
    READ_ALONE,
    SecuredBroker,
    secured_broker,
)
from tests.support.stack import Stream, reopened
from tidemark.errors import BrokerRefusedError, TopicMissingError
from tidemark.model.names import TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.runs.world import World
from tidemark.spec import KafkaSpec
from tidemark.topics import client
from tidemark.topics.client import Broker
from tidemark.topics.consume import consume
from tidemark.topics.read import read_records

WAYS = ("scram", "scram-256", "scram-clear", "plain", "certificate", "token", "token-tls")
SENT = (ticdc_row("INSERT", 1, 5), ticdc_row("INSERT", 2, 6), ticdc_watermark(9))


@pytest.fixture(scope="module")
def secured(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with secured_broker(tmp_path_factory.mktemp("secured"), jars) as broker:
        yield broker


@pytest.fixture
def stream(world: World, secured: SecuredBroker) -> Stream:
    """A topic with three records, made and filled by the broker's operator."""
    stream = Stream(reopened(world, kafka=secured.operator)).create()
    stream.send(SENT)
    return stream


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that is not let in tries again until its time is up."""
    monkeypatch.setattr(client, "TIMEOUT_SECONDS", 8)


def as_client(stream: Stream, spec: KafkaSpec) -> Stream:
    stream.world = reopened(stream.world, kafka=spec)
    return stream


@pytest.mark.parametrize("way", WAYS)
def test_both_clients_read_by_each_login(
    stream: Stream, secured: SecuredBroker, world: World, way: str
) -> None:
    secured.grant(stream.topic, *READ_ALONE)
    broker = Broker(secured.clients[way])
    place = TopicPartition(TopicName(stream.topic), 0)
    ranges = broker.reach([place])
    assert ranges == {place: OffsetRange(0, 3)}
    by_python = [
        bytes(m.value() or b"") for m in consume(broker.servers, broker.properties, ranges)
    ]
    frame = read_records(world.spark, broker, ranges)
    by_java = [bytes(row.value) for row in frame.orderBy("offset").collect()]
    assert by_python == by_java == [record.value for record in SENT]
    plan = frame._jdf.queryExecution().toString()
    assert PASSWORD not in plan
    assert "PRIVATE" not in plan


@pytest.mark.parametrize("way", ["scram", "certificate"])
def test_a_cut_needs_read_and_describe_alone(
    stream: Stream, secured: SecuredBroker, way: str
) -> None:
    secured.grant(stream.topic, *READ_ALONE)
    as_client(stream, secured.clients[way]).cut()
    assert stream.rows() == {1: "x", 2: "x"}


def test_a_topic_without_any_right_looks_like_none(stream: Stream, secured: SecuredBroker) -> None:
    with pytest.raises(TopicMissingError, match="not to be seen by this client"):
        as_client(stream, secured.clients["plain"]).cut()


def test_what_is_not_allowed_is_named(stream: Stream, secured: SecuredBroker) -> None:
    secured.grant(stream.topic, READ_ALONE[1])
    with pytest.raises(BrokerRefusedError, match="grant this client READ"):
        as_client(stream, secured.clients["plain"]).cut()
    assert stream.rows() == {}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("way", ["scram", "scram-256", "plain"])
def test_a_wrong_password_is_told(secured: SecuredBroker, way: str) -> None:
    spec = secured.clients[way]
    wrong = spec.model_copy(update={"properties": {**spec.properties, "sasl.password": "x"}})
    with pytest.raises(BrokerRefusedError, match="uthentication failed") as refused:
        Broker(wrong).find(["x"])
    assert "fix kafka.properties" in refused.value.next_step


@pytest.mark.usefixtures("impatient")
def test_a_broker_that_nobody_vouches_for_is_refused(secured: SecuredBroker) -> None:
    spec = secured.clients["plain"]
    properties = {k: v for k, v in spec.properties.items() if not k.startswith("ssl.ca")}
    with pytest.raises(BrokerRefusedError, match="certificate"):
        Broker(spec.model_copy(update={"properties": properties})).find(["x"])


@pytest.mark.usefixtures("impatient")
def test_a_token_server_that_nobody_vouches_for_is_refused(secured: SecuredBroker) -> None:
    spec = secured.clients["token-tls"]
    properties = {k: v for k, v in spec.properties.items() if not k.startswith("https.ca")}
    with pytest.raises(BrokerRefusedError, match="certificate") as refused:
        Broker(spec.model_copy(update={"properties": properties})).find(["x"])
    assert PASSWORD not in str(refused.value)


def test_files_that_are_not_there_are_named(secured: SecuredBroker) -> None:
    spec = secured.clients["certificate"]
    properties = {**spec.properties, "ssl.ca.location": "/nowhere/ca.pem"}
    with pytest.raises(BrokerRefusedError, match=r"ssl\.ca\.location"):
        Broker(spec.model_copy(update={"properties": properties})).find(["x"])


def test_compaction_needs_the_right_to_see_it(stream: Stream, secured: SecuredBroker) -> None:
    """KEY-12: without it nobody knows how long tombstones are kept."""
    secured.grant(stream.topic, *READ_ALONE)
    stream = as_client(stream, secured.clients["plain"])
    stream.format, stream.gate = "debezium-mysql", "none"
    stream.source = {"compacted": "allow"}
    with pytest.raises(BrokerRefusedError, match="DESCRIBE_CONFIGS"):
        stream.cut()


def test_a_signal_needs_the_right_to_write(stream: Stream, secured: SecuredBroker) -> None:
    broker, topic = Broker(secured.clients["plain"]), TopicName(stream.topic)
    secured.grant(stream.topic, *READ_ALONE)
    assert broker.rights([topic]) == {topic: {"READ", "DESCRIBE"}}
    with pytest.raises(BrokerRefusedError, match="WRITE"):
        broker.send(stream.topic, b"k", b"v")
    secured.grant(stream.topic, AclOperation.WRITE)
    broker.send(stream.topic, b"k", b"v")
    assert broker.rights([topic]) == {topic: {"READ", "DESCRIBE", "WRITE"}}
    place = TopicPartition(topic, 0)
    assert broker.reach([place])[place].end == 4
