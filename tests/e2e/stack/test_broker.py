"""The embedded broker is a real one, is reachable from this machine alone, and leaves nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from embedded.broker import running_broker, start_broker, stop_broker
from embedded.process import has_ended
from tests.support.network import listening_addresses
from tidemark.errors import JarsError, ServiceError

PARENT = """
import sys, time
from pathlib import Path
from embedded.broker import running_broker
from tidemark.log import configure
configure()
with running_broker(Path(sys.argv[1]), Path(sys.argv[2])) as address:
    print(address, flush=True)
    time.sleep(600)
"""
STARTER = """
import sys
from pathlib import Path
from embedded.broker import start_broker
from tidemark.log import configure
configure()
print(start_broker(Path(sys.argv[1]), Path(sys.argv[2])))
"""


def make_topic(address: str, name: str) -> None:
    client = AdminClient({"bootstrap.servers": address})
    for made in client.create_topics([NewTopic(name, 1)]).values():
        made.result(timeout=10)


def topics(address: str) -> set[str]:
    return set(AdminClient({"bootstrap.servers": address}).list_topics(timeout=10).topics)


def is_served(address: str) -> bool:
    port = int(address.split(":")[1])
    return any(
        connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
        for connection in psutil.net_connections("tcp")
    )


def test_records_come_back_as_they_were_sent(broker: str) -> None:
    make_topic(broker, "round-trip")
    producer = Producer({"bootstrap.servers": broker})
    producer.produce("round-trip", key=b"k", value=b"v", timestamp=1, headers=[("h", b"1")])
    assert producer.flush(10) == 0
    consumer = Consumer(
        {"bootstrap.servers": broker, "group.id": "test", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["round-trip"])
    record = consumer.poll(20)
    consumer.close()
    assert record is not None
    assert (record.key(), record.value(), record.offset()) == (b"k", b"v", 0)
    assert record.timestamp()[1] == 1
    assert record.headers() == [("h", b"1")]


def test_misspelt_topic_is_not_made(broker: str) -> None:
    AdminClient({"bootstrap.servers": broker}).list_topics("mispelt", timeout=10)
    assert "mispelt" not in topics(broker)


@pytest.mark.usefixtures("broker")
def test_nobody_else_can_reach_it() -> None:
    assert listening_addresses("kafka.Kafka") == {"127.0.0.1"}


def test_nothing_is_left_when_its_parent_is_killed(tmp_path: Path, jars: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), str(jars)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        address = parent.stdout.readline().strip()
        programs = psutil.Process(parent.pid).children(recursive=True)
        was_served = is_served(address)
        parent.kill()
    assert was_served
    until = time.monotonic() + 10
    while time.monotonic() < until and not all(map(has_ended, programs)):
        time.sleep(0.1)
    assert all(map(has_ended, programs))
    assert not is_served(address)


def test_detached_broker_outlives_its_starter_and_keeps_its_topics(
    tmp_path: Path, jars: Path
) -> None:
    outcome = subprocess.run(
        [sys.executable, "-c", STARTER, str(tmp_path), str(jars)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    address = outcome.stdout.strip()
    try:
        assert start_broker(tmp_path, jars) == address
        make_topic(address, "kept")
    finally:
        assert stop_broker(tmp_path)
    assert not is_served(address)
    with running_broker(tmp_path, jars) as again:
        assert topics(again) == {"kept"}


def test_second_broker_on_one_state_folder_is_told_why(tmp_path: Path, jars: Path) -> None:
    with (
        running_broker(tmp_path, jars),
        pytest.raises(ServiceError, match="a broker is running on"),
        running_broker(tmp_path, jars),
    ):
        pass


def test_broker_does_not_start_without_its_jars(tmp_path: Path) -> None:
    with pytest.raises(JarsError, match="is missing"), running_broker(tmp_path, tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
