"""A real Kafka broker on this machine: one node, KRaft, reachable on 127.0.0.1 alone."""

from __future__ import annotations

import base64
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from embedded.ports import HOST, free_ports
from embedded.process import (
    Program,
    find_recorded,
    require_stopped,
    start_detached,
    stop_recorded,
    tethered,
)
from tidemark.errors import ServiceError
from tidemark.jars.fetch import JarSet, verify_jars
from tidemark.jars.java import java_command
from tidemark.log import get_logger

READY_SECONDS = 120


@dataclass(frozen=True)
class _Home:
    """Where a broker keeps what it needs, all below one state folder."""

    state: Path

    @property
    def folder(self) -> Path:
        return self.state.resolve() / "kafka"

    @property
    def records(self) -> Path:
        return self.folder / "records"

    @property
    def properties(self) -> Path:
        return self.folder / "server.properties"

    @property
    def log(self) -> Path:
        return self.folder / "broker.log"

    @property
    def pid_file(self) -> Path:
        return self.folder / "broker.pid"

    @property
    def address_file(self) -> Path:
        return self.folder / "address"


@dataclass(frozen=True)
class Listener:
    """A further port of a broker: its name in the settings, and Kafka's security protocol."""

    name: str
    protocol: str
    port: int


@contextmanager
def running_broker(
    state: Path,
    jars: Path,
    listeners: Sequence[Listener] = (),
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    """Address ``host:port`` of a broker that serves as long as the block runs.

    Its topics stay in ``state`` for the next start. ``jars`` is the folder of all fetched sets,
    ``settings`` are further ones of the server. The address is that of a port without security.
    Raises JarsError before anything starts, ServiceError when the broker does not become ready.
    """
    home = _Home(state)
    program, address = _prepare(home, jars, listeners, settings)
    with tethered(program) as tether:
        _await_ready(home, address, lambda: tether.poll() is None)
        yield address


def start_broker(state: Path, jars: Path) -> str:
    """Address of a broker that runs on until `stop_broker`; the running one if there is one."""
    home = _Home(state)
    if find_recorded(home.pid_file):
        return home.address_file.read_text()
    program, address = _prepare(home, jars, (), {})
    broker = start_detached(program)
    try:
        _await_ready(home, address, lambda: find_recorded(home.pid_file) == broker)
    except BaseException:
        stop_broker(state)
        raise
    return address


def stop_broker(state: Path) -> bool:
    """Stop the broker of ``state``; false when it was not running any more."""
    return stop_recorded(_Home(state).pid_file)


def _prepare(
    home: _Home, jars: Path, listeners: Sequence[Listener], settings: Mapping[str, str]
) -> tuple[Program, str]:
    """Program and address of a broker whose jars are verified and whose storage is formatted."""
    class_path = os.pathsep.join(str(jar) for jar in verify_jars(JarSet.BROKER, jars))
    require_stopped(home.pid_file)
    home.folder.mkdir(parents=True, exist_ok=True)
    broker_port, controller_port = free_ports(2)
    address = f"{HOST}:{broker_port}"
    further = "".join(f"{name}={value}\n" for name, value in settings.items())
    home.properties.write_text(_properties(home, address, controller_port, listeners) + further)
    home.address_file.write_text(address)
    java = [java_command(), "-Xmx512m", "-Djava.net.preferIPv4Stack=true", "-cp", class_path]
    if not (home.records / "meta.properties").exists():
        _format_storage(home, java)
    command = [*java, "-Dlog4j2.level=WARN", "kafka.Kafka", str(home.properties)]
    return Program(command, home.log, home.pid_file), address


def _properties(
    home: _Home, address: str, controller_port: int, listeners: Sequence[Listener]
) -> str:
    ports = "".join(f",{each.name}://{HOST}:{each.port}" for each in listeners)
    protocols = "".join(f",{each.name}:{each.protocol}" for each in listeners)
    return f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{HOST}:{controller_port}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://{address}{ports},CONTROLLER://{HOST}:{controller_port}
advertised.listeners=PLAINTEXT://{address}{ports}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT{protocols}
log.dirs={home.records}
# A misspelt topic is an error, never a new topic.
auto.create.topics.enable=false
# Recorded records carry the time of their recording: by age they would be deleted at once.
log.retention.ms=-1
# One node: one copy, and few internal partitions, for each costs files and start-up time.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
# One reader of a topic at a time: nobody else to wait for.
group.initial.rebalance.delay.ms=0
"""


def _format_storage(home: _Home, java: list[str]) -> None:
    # A zero in front: an id may not begin with the "-" that base64 may begin with.
    cluster_id = base64.urlsafe_b64encode(b"\0" + secrets.token_bytes(15)).decode().rstrip("=")
    arguments = ["format", "--cluster-id", cluster_id, "--config", str(home.properties)]
    outcome = subprocess.run(  # noqa: S603  every argument is ours
        [*java, "kafka.tools.StorageTool", *arguments], capture_output=True, text=True, check=False
    )
    if outcome.returncode != 0:
        home.log.write_text(outcome.stdout + outcome.stderr)
        raise _not_started(home, "its storage could not be formatted")


def _await_ready(home: _Home, address: str, is_alive: Callable[[], bool]) -> None:
    """Return once the broker answers a metadata request."""
    began = time.monotonic()
    client = AdminClient({"bootstrap.servers": address, "log_level": 0})
    while time.monotonic() - began < READY_SECONDS:
        if not is_alive():
            raise _not_started(home, "it ended at once")
        try:
            client.list_topics(timeout=1)
        except KafkaException:
            continue
        took_ms = round((time.monotonic() - began) * 1000)
        get_logger().info("broker_ready", address=address, took_ms=took_ms, log=str(home.log))
        return
    raise _not_started(home, f"it gave no answer within {READY_SECONDS} s")


def _not_started(home: _Home, why: str) -> ServiceError:
    lines = home.log.read_text(errors="replace").strip().splitlines()
    error_lines = [
        line for line in lines if "ERROR" in line or "FATAL" in line or "xception" in line
    ]
    last_words = (error_lines or lines or ["it left no word"])[-1][:300]
    return ServiceError(
        f"the Kafka broker did not start: {why}; last word in its log: {last_words}",
        state="no topic was touched",
        next_step=f"read {home.log}, fix the cause, run the same command again",
    )
