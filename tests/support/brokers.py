"""Brokers of one cluster, of which any may be killed at any moment and started again."""

from __future__ import annotations

import base64
import os
import secrets
import subprocess
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import ElectionType, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient

from embedded.ports import HOST, free_ports
from embedded.process import Program
from tests.support.killable import Killable
from tidemark.jars.fetch import JarSet, verify_jars
from tidemark.jars.java import java_command

SECONDS = 90


class Brokers:
    """Each is a controller as well: of three, one may be away.

    A fetch above the quota waits for less than a second, so that what is throttled flows steadily.
    """

    def __init__(self, folder: Path, jars: Path, count: int) -> None:
        ports = free_ports(2 * count)
        self._addresses = [f"{HOST}:{port}" for port in ports[:count]]
        self._controllers = [f"{HOST}:{port}" for port in ports[count:]]
        self._java = _java(jars)
        self._programs = [self._formatted(folder, number) for number in range(count)]
        self._running = set[int]()

    @property
    def servers(self) -> str:
        """All of them, as clients name them."""
        return ",".join(self._addresses)

    @property
    def admin(self) -> AdminClient:
        """A new client."""
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def start(self) -> None:
        """Start those that do not run, and wait for the whole cluster."""
        for number, program in enumerate(self._programs):
            if number not in self._running:
                self._running.add(number)
                program.start()
        until = time.monotonic() + SECONDS
        while len(self._present()) < len(self._programs):
            assert time.monotonic() < until, "the brokers did not become ready"
            time.sleep(0.2)

    def kill(self, number: int) -> None:
        """SIGKILL."""
        self._running.remove(number)
        self._programs[number].kill()

    def end(self) -> None:
        """SIGKILL to all that run."""
        for number in tuple(self._running):
            self.kill(number)

    def leader(self, topic: str, partition: int = 0) -> int:
        """Which of them leads a partition now."""
        return self.admin.list_topics(topic, SECONDS).topics[topic].partitions[partition].leader

    def await_replicas(self, topic: str) -> None:
        """Until every broker has all of ``topic``."""
        until = time.monotonic() + SECONDS
        while True:
            partitions = self.admin.list_topics(topic, SECONDS).topics[topic].partitions
            if all(len(each.isrs) == len(self._programs) for each in partitions.values()):
                return
            assert time.monotonic() < until, "the replicas did not catch up"
            time.sleep(0.2)

    def prefer_leaders(self, topic: str, partitions: Collection[int]) -> None:
        """Have the first replica of each partition lead it again, while the others run."""
        places = [KafkaPartition(topic, partition) for partition in partitions]
        admin = self.admin
        admin.elect_leaders(ElectionType.PREFERRED, places).result(SECONDS)

    def _present(self) -> Sequence[int]:
        try:
            return list(self.admin.list_topics(timeout=2).brokers)
        except KafkaException:
            return []

    def _formatted(self, folder: Path, number: int) -> Killable:
        home = folder / f"broker-{number}"
        home.mkdir()
        properties = home / "server.properties"
        properties.write_text(self._properties(home, number))
        _run(
            [*self._java, "kafka.tools.StorageTool", "format", "--config", str(properties)]
            + ["--cluster-id", _cluster_id(folder)]
        )
        command = [*self._java, "-Dlog4j2.level=WARN", "kafka.Kafka", str(properties)]
        program = Program(command, home / "broker.log", home / "broker.pid")
        return Killable(program, lambda _: None)

    def _properties(self, home: Path, number: int) -> str:
        count = len(self._addresses)
        voters = ",".join(f"{n}@{address}" for n, address in enumerate(self._controllers))
        internal = "".join(
            f"{topic}.replication.factor={count}\n{topic}.num.partitions=1\n"
            for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
        )
        listener = f"PLAINTEXT://{self._addresses[number]}"
        return f"""\
process.roles=broker,controller
node.id={number}
controller.quorum.voters={voters}
controller.listener.names=CONTROLLER
listeners={listener},CONTROLLER://{self._controllers[number]}
advertised.listeners={listener}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={home / "records"}
auto.create.topics.enable=false
log.retention.ms=-1
min.insync.replicas={min(2, count)}
transaction.state.log.min.isr={min(2, count)}
share.coordinator.state.topic.min.isr={min(2, count)}
{internal}\
group.initial.rebalance.delay.ms=0
# One that dies is missed soon.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
auto.leader.rebalance.enable=false
quota.window.num=2
quota.window.size.seconds=1
"""


@contextmanager
def running_brokers(folder: Path, jars: Path, count: int) -> Iterator[Brokers]:
    """``count`` brokers that run as long as the block."""
    brokers = Brokers(folder, jars, count)
    try:
        brokers.start()
        yield brokers
    finally:
        brokers.end()


def throttle(jars: Path, servers: str, client_id: str, bytes_per_second: int) -> None:
    """Bound what each broker sends to the consumers that call themselves ``client_id``."""
    _run(
        [*_java(jars), "kafka.admin.ConfigCommand", "--bootstrap-server", servers, "--alter"]
        + ["--add-config", f"consumer_byte_rate={bytes_per_second}"]
        + ["--entity-type", "clients", "--entity-name", client_id]
    )


def _java(jars: Path) -> list[str]:
    """How a program of Kafka's begins."""
    class_path = os.pathsep.join(str(jar) for jar in verify_jars(JarSet.BROKER, jars))
    options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return [java_command(), *options, "-Djava.net.preferIPv4Stack=true", "-cp", class_path]


def _cluster_id(folder: Path) -> str:
    """One for all brokers below ``folder``."""
    file = folder / "cluster-id"
    if not file.exists():
        file.write_text(base64.urlsafe_b64encode(b"\0" + secrets.token_bytes(15)).decode()[:22])
    return file.read_text()


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
