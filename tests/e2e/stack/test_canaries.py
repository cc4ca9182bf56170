"""Secrets of every kind, which runs that fail and succeed have, are in none of their traces.

A broker with a login, a catalog in PostgreSQL, a schema registry, a lineage backend and thirty
settings have secrets, which files refer to by variables, files and connections of Airflow.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation, AdminClient  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic
from cryptography.fernet import Fernet

from embedded.airflow import RunReport, prepare_airflow, run_dag
from embedded.home import embedded_environment
from embedded.ports import HOST
from tests.support.avro import Registry, running_registry
from tests.support.avro_changes import ITEMS, KEY, KEY_ID, VALUE_ID, item, key
from tests.support.canaries import files, leaked
from tests.support.postgres import USER as CATALOG_USER
from tests.support.postgres import running_postgres
from tests.support.secured_broker import PASSWORD, READ_ALONE, USER, secured_broker
from tests.support.statsd import statsd_server
from tidemark.cli.metrics import exposition
from tidemark.model.names import PipelineName
from tidemark.runs.metrics import read_samples
from tidemark.runs.world import open_world
from tidemark.spec import load_installation, pipeline_named

PIPELINE = "vault"
TOPIC = "vault.shop.items"
SETTINGS = 10
"""Of Spark, for each kind of reference."""
GREEN = {"plan": "success", "fold": "success", "audit": "success", "publish": "success"}
SUITE = """\
suite: vault_items
expectations:
  - expect: expect_table_row_count_to_equal
    arguments: {value: 1}
    severity: critical
    scope: table
"""
EVENTS, LINEAGE, ARGUMENTS = "events", "lineage.txt", "arguments.txt"


def canary(name: str) -> str:
    """A secret that is found in nothing else."""
    return f"c4nary-{name}-{b64encode(name.encode()).decode().strip('=')}"


OWN = ("catalog", "registry", "lineage", "wrong", "signs-tokens")
OF_SPARK = [f"{kind}{number}" for kind in ("env", "file", "conn") for number in range(SETTINGS)]
SECRETS = (PASSWORD, *map(canary, (*OWN, *OF_SPARK)))


PUBLIC = {
    "arguments of processes": f"--pipeline={PIPELINE}",
    "logs": "the second",
    "XCom": "staged",
    "rendered templates": PIPELINE,
    "run conf": "the first",
    "event logs": "spark.hadoop.canary.env0.password",
    "summaries": "tidemark.cut",
    "files of tables": "items",
    "Data Docs": "expect_table_row_count_to_equal",
    "result files": "published",
    "exceptions": "RegistryRefusedError",
    "metrics": PIPELINE,
    "lineage": f"cut__{PIPELINE}",
    "all files that were left": "airflow.db",
}
"""What shows that a place was looked into."""


@dataclass
class Vault:
    """What two runs left. places: what to look in, by what it is; reports: how the runs ended."""

    reports: Sequence[RunReport]
    places: Mapping[str, Sequence[bytes]]
    used: Mapping[str, bool] = field(default_factory=dict)


def stored(database: Path, table: str) -> list[bytes]:
    """All rows of a table of Airflow."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        return [str(row).encode() for row in opened.execute(f"SELECT * FROM {table}")]  # noqa: S608  ours


@contextmanager
def watched_arguments(into: Path) -> Iterator[None]:
    """The arguments of every process of this machine, as long as the block, each once."""
    seen: set[str] = set()
    ended = Event()

    def watch() -> None:
        while not ended.is_set():
            for process in psutil.process_iter():
                with suppress(psutil.Error):
                    seen.add(" ".join(process.cmdline()))
            time.sleep(0.1)

    thread = Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        into.write_text("\n".join(sorted(seen)), "utf-8", "surrogateescape")


@contextmanager
def lineage_backend(into: Path, logins: set[str]) -> Iterator[str]:
    """A server that keeps the bodies of what it is sent, and with which key."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            logins.add(self.headers.get("Authorization") or "")
            with into.open("ab") as file:
                file.write(body + b"\n")
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://{HOST}:{server.server_port}"
        server.shutdown()
        thread.join()


def installation(state: Path, kept: Path, broker: Any, catalog: str) -> str:
    """An installation whose secrets are references of every kind."""
    kinds = {
        "env": "${{env:CANARY_{}}}",
        "file": f"${{{{file:{kept}/{{}}}}}}",
        "conn": "${{conn:canaries.extra.{}}}",
    }
    conf = {
        f"spark.hadoop.canary.{name}.password": kinds[re.sub(r"\d", "", name)].format(name)
        for name in OF_SPARK
    }
    properties = dict(broker.properties) | {"sasl.password": "${conn:kafka.password}"}
    return json.dumps(
        {
            "kafka": {"bootstrap-servers": broker.bootstrap_servers, "properties": properties},
            "catalog": {
                "name": "lake",
                "uri": catalog,
                "user": CATALOG_USER,
                "password": "${conn:lake.password}",
                "warehouse": str(state / "warehouse"),
            },
            "spark": {
                "jars": "${env:TIDEMARK_JARS}",
                "conf": {
                    "spark.driver.bindAddress": HOST,
                    "spark.driver.host": HOST,
                    "spark.eventLog.enabled": "true",
                    "spark.eventLog.dir": str(state / EVENTS),
                    "spark.eventLog.compress": "false",
                    **conf,
                },
            },
            "state": str(state),
        }
    )


def pipeline(url: str) -> str:
    return json.dumps(
        {
            "name": PIPELINE,
            "description": "Is locked everywhere.",
            "schedule": None,
            "owner": "data-platform",
            "source": {
                "format": "debezium-mysql",
                "gate": "none",
                "topics": {"data": [TOPIC]},
                "avro": {"registry": {"url": url, "user": USER, "password": "${file:/REGISTRY}"}},
            },
            "tables": [{"source": "shop.items", "expectations": "vault_items", "key": ["id"]}],
        }
    )


@pytest.fixture
def vault(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Vault:
    state, kept = tmp_path_factory.mktemp("vault"), tmp_path_factory.mktemp("secrets")
    pipelines, logins = tmp_path_factory.mktemp("files"), set[str]()
    (state / EVENTS).mkdir()
    for name in OF_SPARK:
        (kept / name).write_text(canary(name))
    (kept / "registry").write_text(canary("wrong"))
    with ExitStack() as stack:
        secured = stack.enter_context(secured_broker(tmp_path_factory.mktemp("broker"), jars))
        server = stack.enter_context(running_postgres())
        statsd = stack.enter_context(statsd_server())
        lineage = stack.enter_context(lineage_backend(state / LINEAGE, logins))
        login = b64encode(f"{USER}:{canary('registry')}".encode()).decode()
        registry = stack.enter_context(running_registry(Registry(login=f"Basic {login}")))
        registry.add(KEY_ID, KEY)
        registry.add(VALUE_ID, ITEMS)
        (pipelines / f"{PIPELINE}.yaml").write_text(
            pipeline(registry.url).replace("/REGISTRY", str(kept / "registry"))
        )
        (pipelines / "vault_items.yaml").write_text(SUITE)
        file = pipelines.with_name("installation.yaml")
        file.write_text(installation(state, kept, secured.clients["scram"], server.uri))
        admin = AdminClient({"bootstrap.servers": secured.operator.bootstrap_servers})
        admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(timeout=30)
        secured.grant(TOPIC, *READ_ALONE, AclOperation.DESCRIBE_CONFIGS)
        producer = Producer({"bootstrap.servers": secured.operator.bootstrap_servers})
        producer.produce(TOPIC, item("c"), key())
        assert producer.flush(30) == 0
        connections = {
            "KAFKA": {"conn_type": "kafka", "password": PASSWORD},
            "LAKE": {"conn_type": "postgres", "password": canary("catalog")},
            "CANARIES": {
                "conn_type": "generic",
                "extra": {name: canary(name) for name in OF_SPARK if name.startswith("conn")},
            },
        }
        environment = {
            **embedded_environment(state, "unused:1", jars),
            "TIDEMARK_INSTALLATION": str(file),
            "TIDEMARK_PIPELINES": str(pipelines),
            "TIDEMARK_EXPECTATIONS": str(pipelines),
            **{f"CANARY_{name}": canary(name) for name in OF_SPARK if name.startswith("env")},
            **{f"AIRFLOW_CONN_{name}": json.dumps(told) for name, told in connections.items()},
            **statsd.settings,
            "AIRFLOW__API_AUTH__JWT_SECRET": canary("signs-tokens"),
            "AIRFLOW__CORE__FERNET_KEY": Fernet.generate_key().decode(),
            "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
                {
                    "type": "http",
                    "url": lineage,
                    "auth": {"type": "api_key", "apiKey": canary("lineage")},
                }
            ),
        }
        airflow = prepare_airflow(state, environment)
        with watched_arguments(state / ARGUMENTS):
            refused = run_dag(airflow, f"cut__{PIPELINE}", conf={"reason": "the first"})
            airflow.log_file(f"test-cut__{PIPELINE}").rename(airflow.home / "refused.log")
            (kept / "registry").write_text(canary("registry"))
            done = run_dag(airflow, f"cut__{PIPELINE}", conf={"reason": "the second"})
        monkeypatch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        spec, world = pipeline_named(PipelineName(PIPELINE)), open_world(load_installation())
        tables = [
            name
            for space in world.catalog.list_namespaces()
            for name in world.catalog.list_tables(space)
        ]
        summaries = [
            world.catalog.load_table(name).metadata.model_dump_json().encode() for name in tables
        ]
        metrics = exposition(read_samples(spec, world)) + json.dumps(statsd.gauges)
        places = {
            "arguments of processes": [(state / ARGUMENTS).read_bytes()],
            "logs": [*files(airflow.home, "*.log")],
            "XCom": stored(airflow.database, "xcom"),
            "rendered templates": stored(airflow.database, "rendered_task_instance_fields"),
            "run conf": stored(airflow.database, "dag_run"),
            "event logs": [*files(state / EVENTS)],
            "summaries": summaries,
            "files of tables": [*files(state / "warehouse")],
            "Data Docs": [*files(state / "data_docs")],
            "result files": [*files(state, "*.json")],
            "exceptions": [(airflow.home / "refused.log").read_bytes()],
            "metrics": [metrics.encode()],
            "lineage": [(state / LINEAGE).read_bytes()],
            "all files that were left": [*files(state)],
        }
        used = {
            "registry": bool(registry.asked),
            "lineage": f"Bearer {canary('lineage')}" in logins,
        }
        return Vault((refused, done), places, used)


def test_secrets_are_nowhere(vault: Vault) -> None:
    refused, done = vault.reports
    assert (refused.state, refused.tasks["fold"]) == ("failed", "failed")
    assert (done.state, done.tasks) == ("success", GREEN)
    assert vault.used == {"registry": True, "lineage": True}
    assert len(set(SECRETS)) > 30
    assert vault.places.keys() == PUBLIC.keys()
    unseen = {
        place for place, contents in vault.places.items() if not leaked([PUBLIC[place]], contents)
    }
    assert unseen == set()
    found = {place: leaked(SECRETS, contents) for place, contents in vault.places.items()}
    assert {place: secrets for place, secrets in found.items() if secrets} == {}
