"""docker-compose.yml without an engine: what it publishes, waits for and demands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tidemark.spec import load_installation, load_pipeline
from tidemark.spec.topics import selects

REPOSITORY = Path(__file__).parents[3]
DEPLOY = REPOSITORY / "include" / "deploy"
COMPOSE = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
CONNECTOR: dict[str, str] = json.loads((DEPLOY / "connect" / "inventory.json").read_text())

REQUIRED = re.compile(r"\$\{([A-Z0-9_]+):\?see include/deploy/server\.env\.example\}")
SECRET = re.compile(r"PASS|SECRET|FERNET|TOKEN|ACCESS_KEY|ROOT_USER")
CREDENTIALS = re.compile(r"://([^/@\s]+:[^/@\s]*)@")
VERSION = re.compile(r"\d+\.\d+(\.\d+|-\w+|$)|RELEASE\.\d{4}-\d\d-\d\dT[\d-]+Z")

each_service = pytest.mark.parametrize("name", sorted(SERVICES))


def strings(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        part = [*part, *part.values()]
    if isinstance(part, list):
        for item in part:
            yield from strings(item)
    elif isinstance(part, str):
        yield part


def is_one_shot(name: str) -> bool:
    return "x-one-shot" in SERVICES[name]


@each_service
def test_ports_are_bound_to_this_machine(name: str) -> None:
    for port in SERVICES[name].get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port), f"{name} publishes {port}"


@each_service
def test_it_says_that_it_is_well_or_why_it_ends(name: str) -> None:
    service = SERVICES[name]
    if is_one_shot(name):
        assert service["x-one-shot"].endswith("ends")
        assert service.get("restart", "no") == "no", f"{name} would be started again and again"
        assert "healthcheck" not in service
    else:
        assert service["restart"] == "unless-stopped"
        assert service["healthcheck"]["test"][0] == "CMD", f"{name} has no health check"
        assert {"interval", "timeout", "retries", "start_period"} <= service["healthcheck"].keys()


@each_service
def test_it_waits_only_for_what_can_come_true(name: str) -> None:
    for other, wait in SERVICES[name].get("depends_on", {}).items():
        expected = "service_completed_successfully" if is_one_shot(other) else "service_healthy"
        assert wait == {"condition": expected}, f"{name} waits for {other}"


@each_service
def test_secrets_are_demanded(name: str) -> None:
    for key, value in SERVICES[name].get("environment", {}).items():
        if SECRET.search(key) and not key.endswith("_FILE"):
            assert REQUIRED.fullmatch(str(value)), f"{name} has a value or a default for {key}"


@each_service
def test_no_url_holds_a_literal_password(name: str) -> None:
    for text in strings(SERVICES[name]):
        for credentials in CREDENTIALS.findall(REQUIRED.sub("", text)):
            assert credentials == ":", f"{name} has the password of {text} in it"


def test_no_variable_has_a_default() -> None:
    # $$ is a dollar for the shell inside; every other one begins a reference
    for text in strings(COMPOSE):
        assert "$" not in REQUIRED.sub("", text).replace("$$", ""), text


def test_every_variable_is_documented_without_a_value() -> None:
    lines = (DEPLOY / "server.env.example").read_text().splitlines()
    documented = [line for line in lines if line and not line.startswith("#")]
    used = {variable for text in strings(COMPOSE) for variable in REQUIRED.findall(text)}
    assert sorted(documented) == sorted(f"{variable}=" for variable in used)


@each_service
def test_images_are_of_one_version(name: str) -> None:
    tag = SERVICES[name]["image"].rpartition(":")[2]
    assert VERSION.match(tag), f"{name} runs {SERVICES[name]['image']}"


def test_our_image_starts_from_one_version() -> None:
    base = re.findall(r"^FROM (\S+)$", (DEPLOY / "Dockerfile").read_text(), re.M)
    assert [bool(VERSION.match(image.rpartition(":")[2])) for image in base] == [True]


@each_service
def test_what_it_mounts_is_there(name: str) -> None:
    for source, target, *mode in (mount.split(":") for mount in SERVICES[name].get("volumes", [])):
        if source.startswith("./"):
            assert (REPOSITORY / source).exists(), source
            assert mode == ["ro"], f"{name} could change {source} through {target}"
        else:
            assert source in COMPOSE["volumes"]


def test_the_installation_takes_what_the_scheduler_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in SERVICES["airflow-scheduler"]["environment"].items():
        if key.startswith(("TIDEMARK_", "AWS_")):
            monkeypatch.setenv(key, REQUIRED.sub(r"secret-of-\1", value))
    installation = load_installation(DEPLOY / "installation.server.yaml")
    assert installation.catalog.password is not None
    assert installation.catalog.warehouse == "s3://tidemark/warehouse"
    assert installation.catalog.s3 is not None
    assert installation.catalog.s3.secret_access_key is not None
    assert "airflow-scheduler" in installation.spark.conf.values()


def test_the_connector_writes_what_its_pipeline_reads() -> None:
    source = load_pipeline(REPOSITORY / "include" / "pipelines" / "inventory.yaml").source
    prefix = CONNECTOR["topic.prefix"]
    (tables,) = source.topics.data
    assert selects(tables, f"{prefix}.inventory.orders")
    assert not selects(tables, f"{prefix}.debezium.heartbeat")
    assert source.topics.schema_changes == (prefix,)
    assert source.topics.transactions == (f"{prefix}.transaction",)
    assert CONNECTOR["decimal.handling.mode"] == source.modes.decimal
    assert CONNECTOR["bigint.unsigned.handling.mode"] == source.modes.bigint_unsigned
    assert CONNECTOR["time.precision.mode"] == "adaptive_time_microseconds"
    assert source.modes.connector.time == "adaptive-microseconds"


def test_the_connector_keeps_every_kind_of_event() -> None:
    assert CONNECTOR["skipped.operations"] == "none", "truncates would be left out"
    assert CONNECTOR["provide.transaction.metadata"] == "true"
    assert CONNECTOR["tombstones.on.delete"] == "true"
    assert CONNECTOR["database.password"] == "${env:MYSQL_DEBEZIUM_PASSWORD}"
