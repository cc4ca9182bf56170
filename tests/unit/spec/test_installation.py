"""The installation file: references, secrets and what a wrong one is answered with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidemark.errors import SpecError
from tidemark.spec import load_installation
from tidemark.spec.references import UnresolvedError, connections_in, keeps_secret, resolve

INSTALLATION = """\
kafka:
  bootstrap-servers: 127.0.0.1:9092
  properties: {}
catalog:
  name: lake
  uri: sqlite:////lake/catalog.db
  warehouse: /lake
spark:
  jars: /jars
state: /state
"""
LOGIN = """
    security.protocol: SASL_SSL
    sasl.mechanism: PLAIN
    sasl.username: tide
    sasl.password: ${env:TM_PASSWORD}"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("${env:HOST}", "example", id="variable"),
        pytest.param("${env:HOST}:${env:PORT:-9092}", "example:9092", id="two in one value"),
        pytest.param("${env:NONE:-}", "", id="empty default"),
        pytest.param("${env:EMPTY:-x}", "x", id="default of an empty variable"),
        pytest.param("${env:EMPTY}", "", id="empty variable"),
        pytest.param("plain $5 {x}", "plain $5 {x}", id="no reference"),
    ],
)
def test_reference(text: str, value: str) -> None:
    assert resolve(text, {"HOST": "example", "EMPTY": ""}) == value


def test_a_value_is_not_searched_for_references_again() -> None:
    assert resolve("${env:A}", {"A": "${env:B}", "B": "b"}) == "${env:B}"


def test_file_reference_loses_its_line_end(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("top secret\n")
    assert resolve(f"${{file:{tmp_path}/key}}", {}) == "top secret"


CONNECTION = {
    "host": "broker",
    "port": 9092,
    "password": "p}4",
    "schema": "",
    "extra": {"bootstrap.servers": "kafka:9092", "depth": {"a": 1}},
}


ENVIRON = {
    "HOST": "example",
    "AIRFLOW_CONN_KAFKA": json.dumps(CONNECTION),
    "AIRFLOW_CONN_URI": "kafka://broker",
    "AIRFLOW_CONN_LIST": "[]",
}


@pytest.mark.parametrize("extra", [CONNECTION["extra"], json.dumps(CONNECTION["extra"])])
def test_reference_to_a_connection(extra: object) -> None:
    environ = {"AIRFLOW_CONN_KAFKA-1": json.dumps({**CONNECTION, "extra": extra})}
    text = "${conn:kafka-1.host}:${conn:kafka-1.port} ${conn:kafka-1.password}"
    assert resolve(text, environ) == "broker:9092 p}4"
    assert resolve("${conn:kafka-1.extra.bootstrap.servers}", environ) == "kafka:9092"


def test_connections_in_a_file() -> None:
    text = "a: ${conn:one.host}:${env:PORT}\nb: ${conn:two.extra.x} # ${conn:one.port} ${conn:x}"
    assert connections_in(text) == {"one", "two"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "${conn:none.host}",
            "a connection none of Airflow; outside of Airflow AIRFLOW_CONN_NONE with it as JSON",
            id="connection",
        ),
        pytest.param("${conn:uri.host}", "AIRFLOW_CONN_URI to hold a connection as JSON", id="URI"),
        pytest.param(
            "${conn:list.host}", "AIRFLOW_CONN_LIST to hold a connection as JSON", id="list"
        ),
        pytest.param("${conn:kafka.login}", "connection kafka to have login", id="no value"),
        pytest.param("${conn:kafka.schema}", "connection kafka to have schema", id="empty value"),
        pytest.param(
            "${conn:kafka.extra.depth}", "connection kafka to have extra.depth", id="no text"
        ),
        pytest.param("${conn:kafka.uri}", "a reference of the form ${env:NAME}", id="no field"),
        pytest.param("${env:NONE}", "the environment variable NONE to be set", id="variable"),
        pytest.param(
            "${file:/no/such}",
            "the file /no/such to be readable: No such file or directory",
            id="file",
        ),
        pytest.param("${HOST}", "a reference of the form ${env:NAME}", id="no kind"),
        pytest.param("${env:HOST", "a reference of the form ${env:NAME}", id="no end"),
        pytest.param("${env:HOST:9092}", "a reference of the form ${env:NAME}", id="no dash"),
        pytest.param("${file:key}", "a reference of the form ${env:NAME}", id="relative path"),
    ],
)
def test_reference_that_leads_nowhere(text: str, expected: str) -> None:
    with pytest.raises(UnresolvedError) as caught:
        resolve(text, ENVIRON)
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("${env:KEY}", True),
        ("${env:KEY:-}", True),
        ("${file:/run/secrets/key}", True),
        ("", True),
        ("hunter2", False),
        ("${env:KEY}2", False),
        ("${env:KEY:-hunter2}", False),
    ],
)
def test_a_secret_is_a_reference_and_nothing_else(text: str, kept: bool) -> None:
    assert keeps_secret(text) is kept


def written(folder: Path, text: str) -> Path:
    file = folder / "installation.yaml"
    file.write_text(text)
    return file


def swapped(old: str, new: str) -> str:
    assert old in INSTALLATION
    return INSTALLATION.replace(old, new)


def test_references_are_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TM_BROKER", "broker:9092")
    monkeypatch.setenv("TM_PASSWORD", "hunter2")
    text = swapped("127.0.0.1:9092", "${env:TM_BROKER}").replace(
        "  warehouse:", "  user: ${env:TM_USER:-}\n  password: ${env:TM_PASSWORD}\n  warehouse:"
    )
    text = text.replace("properties: {}", f"properties:{LOGIN}")
    installation = load_installation(written(tmp_path, text))
    assert installation.kafka.bootstrap_servers == "broker:9092"
    assert installation.kafka.properties["sasl.password"] == "hunter2"
    assert installation.catalog.user is None
    assert installation.catalog.password is not None
    assert installation.catalog.password.get_secret_value() == "hunter2"
    assert installation.state == Path("/state")
    assert "hunter2" not in repr(installation)


ON_S3 = swapped(
    "warehouse: /lake",
    "warehouse: s3://lake/x\n  s3:\n    endpoint: http://store:9000\n    region: here",
)
KEY = "    access-key-id: me\n    secret-access-key: ${env:TM_PASSWORD}\n"


def test_a_store_and_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TM_PASSWORD", "hunter2")
    text = ON_S3.replace("region: here\n", f"region: here\n    path-style: true\n{KEY}")
    installation = load_installation(written(tmp_path, text))
    store = installation.catalog.s3
    assert store is not None
    assert store.secret_access_key is not None
    assert store.secret_access_key.get_secret_value() == "hunter2"
    assert (store.endpoint, store.region, store.path_style) == ("http://store:9000", "here", True)
    assert "hunter2" not in repr(installation)


def test_a_store_may_leave_its_key_to_others(tmp_path: Path) -> None:
    """References to variables that are not set stand for what is not there."""
    text = ON_S3.replace(
        "region: here\n",
        "region: here\n    access-key-id: ${env:TM_NONE:-}\n"
        "    secret-access-key: ${env:TM_NONE:-}\n",
    ).replace("http://store:9000", "${env:TM_NONE:-}")
    store = load_installation(written(tmp_path, text)).catalog.s3
    assert store is not None
    assert (store.endpoint, store.access_key_id, store.secret_access_key) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            swapped("warehouse: /lake", "warehouse: /lake\n  s3: {region: here}"),
            "8 -> catalog.s3: got a store; expected a warehouse that begins with s3://",
            id="store without a warehouse on it",
        ),
        pytest.param(
            ON_S3.replace("    region: here\n", ""),
            "8 -> catalog.s3.region: got nothing; expected this key: its region; a store that "
            "knows none takes any",
            id="store without a region",
        ),
        pytest.param(
            ON_S3.replace("http://store:9000", "store:9000"),
            "9 -> catalog.s3.endpoint: got 'store:9000'; expected http://host:port or "
            "https://host, without a path",
            id="store without a scheme",
        ),
        pytest.param(
            ON_S3.replace("http://store:9000", "http://store:9000/lake"),
            "9 -> catalog.s3.endpoint: got 'http://store:9000/lake'; expected http://host:port or "
            "https://host, without a path",
            id="bucket in the endpoint",
        ),
        pytest.param(
            ON_S3.replace("region: here", "region: here\n    access-key-id: me"),
            "8 -> catalog.s3.secret-access-key: got nothing; expected both halves of the key, or "
            "neither",
            id="half a key",
        ),
        pytest.param(
            ON_S3.replace(
                "region: here",
                "region: here\n    access-key-id: me\n    secret-access-key: hunter2",
            ),
            "12 -> catalog.s3.secret-access-key: got a literal secret; expected a reference: "
            "${env:NAME} or ${file:/path}",
            id="key of the store in the file",
        ),
        pytest.param(
            swapped("  warehouse:", "  password: hunter2\n  warehouse:"),
            "7 -> catalog.password: got a literal secret; expected a reference: ${env:NAME} or "
            "${file:/path}",
            id="password in the file",
        ),
        pytest.param(
            swapped("  warehouse:", "  password: 12345\n  warehouse:"),
            "7 -> catalog.password: got a literal secret; expected a reference: ${env:NAME} or "
            "${file:/path}",
            id="password of digits in the file",
        ),
        pytest.param(
            swapped("properties: {}", "properties: {ssl.key.password: hunter2}"),
            "3 -> kafka.properties['ssl.key.password']: got a literal secret; expected a "
            "reference: ${env:NAME} or ${file:/path}",
            id="secret among properties",
        ),
        pytest.param(
            swapped("jars: /jars", "jars: /jars\n  conf: {spark.hadoop.fs.s3a.secret.key: x}"),
            "10 -> spark.conf['spark.hadoop.fs.s3a.secret.key']: got a literal secret; expected a "
            "reference: ${env:NAME} or ${file:/path}",
            id="secret among Spark settings",
        ),
        pytest.param(
            swapped("/state", "${env:TM_NOT_SET}"),
            "10 -> state: got '${env:TM_NOT_SET}'; expected the environment variable TM_NOT_SET "
            "to be set",
            id="variable that is not set",
        ),
        pytest.param(
            swapped("127.0.0.1:9092", "localhost"),
            "2 -> kafka.bootstrap-servers: got 'localhost'; expected host:port, further ones "
            "after commas",
            id="broker without a port",
        ),
        pytest.param(
            swapped("sqlite:////lake", "sqlite:///lake"),
            "6 -> catalog.uri: got 'sqlite:///lake/catalog.db'; expected "
            "sqlite:////absolute/path.db, postgresql://host:port/database or https://host/path",
            id="catalog on a relative path",
        ),
        pytest.param(
            swapped("sqlite:////lake/catalog.db", "https://catalog:8181"),
            "6 -> catalog.uri: got 'https://catalog:8181'; expected the URI of a database, or "
            "type: rest",
            id="server without its type",
        ),
        pytest.param(
            swapped("sqlite:////lake/catalog.db", "sqlite:////lake/catalog.db\n  type: rest"),
            "6 -> catalog.uri: got 'sqlite:////lake/catalog.db'; expected https://host/path",
            id="database as a server",
        ),
        pytest.param(
            swapped("sqlite:////lake/catalog.db", "https://c\n  type: rest\n  user: me"),
            "8 -> catalog.user: got a value; expected nothing for type: rest",
            id="user of a server",
        ),
        pytest.param(
            swapped("sqlite:////lake/catalog.db", "sqlite:////c.db\n  server-warehouse: w"),
            "7 -> catalog.server-warehouse: got a value; expected nothing for type: sql",
            id="warehouse of a database",
        ),
        pytest.param(
            swapped("sqlite:////lake/catalog.db", "postgresql://db:5432/lake"),
            "4 -> catalog.user: got nothing; expected the database user for a PostgreSQL catalog",
            id="database without a user",
        ),
        pytest.param(
            swapped("warehouse: /lake", "warehouse: lake"),
            "7 -> catalog.warehouse: got 'lake'; expected an absolute path, or a URI such as "
            "s3://bucket/prefix",
            id="relative warehouse",
        ),
        pytest.param(
            swapped("state: /state", "state: state"),
            "10 -> state: got 'state'; expected an absolute path",
            id="relative folder",
        ),
        pytest.param(
            swapped("bootstrap-servers", "bootstrap.servers"),
            "1 -> kafka.bootstrap-servers: got nothing; expected this key: host:port of the "
            "brokers, separated by commas\n"
            "2 -> kafka['bootstrap.servers']: got an unknown key; expected one of "
            "bootstrap-servers, properties; did you mean 'bootstrap-servers'",
            id="key in another spelling",
        ),
    ],
)
def test_fault(tmp_path: Path, text: str, fault: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(SpecError) as caught:
        load_installation(file)
    assert caught.value.what == "\n".join(f"{file}:{line}" for line in fault.splitlines())


def test_credentials_in_a_uri_are_not_repeated(tmp_path: Path) -> None:
    text = swapped("sqlite:////lake/catalog.db", "postgresql://me:hunter2@db/lake")
    with pytest.raises(SpecError) as caught:
        load_installation(written(tmp_path, text))
    assert "a URI without credentials" in caught.value.what
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_resolved_values_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TM_BROKER", "user:hunter2@broker")
    file = written(tmp_path, swapped("127.0.0.1:9092", "${env:TM_BROKER}"))
    with pytest.raises(SpecError) as caught:
        load_installation(file)
    assert caught.value.what == (
        f"{file}:2 -> kafka.bootstrap-servers: got '${{env:TM_BROKER}}'; expected host:port, "
        "further ones after commas"
    )
