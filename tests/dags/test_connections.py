"""Values of files that are in Airflow's connections."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidemark.errors import SpecError
from tidemark.model.names import PipelineName
from tidemark.scheduling.connections import load_installation_for

INSTALLATION = """\
kafka:
  bootstrap-servers: ${conn:kafka_here.extra.bootstrap.servers}
catalog:
  name: lake
  uri: postgresql://${conn:lake.host}:${conn:lake.port}/lake
  user: ${conn:lake.login}
  password: ${conn:lake.password}
  warehouse: /lake
spark: {jars: /jars}
state: /state
"""
PIPELINE = "source: {avro: {registry: {user: '${conn:registry.login}'}}}"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of an installation, and connections as an operator may give them to Airflow."""
    (tmp_path / "installation.yaml").write_text(INSTALLATION)
    (tmp_path / "orders.yaml").write_text(PIPELINE)
    monkeypatch.setenv("TIDEMARK_INSTALLATION", str(tmp_path / "installation.yaml"))
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(tmp_path))
    servers = "kafka://?bootstrap.servers=kafka%3A9092"
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_HERE", servers)
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", "postgres://tide:a%2Fb%7D@store:5432")
    monkeypatch.setenv("AIRFLOW_CONN_REGISTRY", '{"conn_type": "http", "login": "tide"}')


def test_connections_of_both_files_are_found_however_airflow_keeps_them() -> None:
    installation = load_installation_for(PipelineName("orders"))
    assert installation.kafka.bootstrap_servers == "kafka:9092"
    assert installation.catalog.uri == "postgresql://store:5432/lake"
    assert installation.catalog.user == "tide"
    assert installation.catalog.password is not None
    assert installation.catalog.password.get_secret_value() == "a/b}"
    assert "tide" in os.environ["AIRFLOW_CONN_REGISTRY"]


def test_a_connection_that_airflow_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_LAKE")
    with pytest.raises(SpecError, match="a connection lake of Airflow"):
        load_installation_for(PipelineName("orders"))
