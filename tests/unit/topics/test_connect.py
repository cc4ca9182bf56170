"""Connectors as a real Kafka Connect has them; its answers were recorded (connect/ORIGIN.md)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, AlertDescription, SSLContext

import pytest

from tests.support.certificates import Authority
from tests.support.connect import RecordedConnect, recorded_connect
from tidemark.errors import ConnectRefusedError, ConnectUnreachableError
from tidemark.spec import SourceFormat
from tidemark.spec.connect import ConnectSpec
from tidemark.spec.connector import Connector
from tidemark.topics.connect import TaskState, connector_names, read_connector, read_states


@pytest.fixture
def connect() -> Iterator[RecordedConnect]:
    with recorded_connect() as running:
        yield running


def by_name(spec: ConnectSpec) -> dict[str, Connector]:
    read = [read_connector(spec, name) for name in connector_names(spec)]
    return {connector.name: connector for connector in read if connector is not None}


def test_connectors_have_their_settings(connect: RecordedConnect) -> None:
    connectors = by_name(ConnectSpec(f"{connect.url}/"))
    assert connect.asked[:2] == ["/connectors", "/connectors/bare/config"]
    assert {name: one.format for name, one in connectors.items()} == {
        "bare": SourceFormat.DEBEZIUM_POSTGRES,
        "mariadb_plain_1": SourceFormat.DEBEZIUM_MARIADB,
        "mysql_plain_1": SourceFormat.DEBEZIUM_MYSQL,
        "postgres_plain_1": SourceFormat.DEBEZIUM_POSTGRES,
    }
    assert connectors["mysql_plain_1"].config["skipped.operations"] == "none"
    assert list(connectors["bare"].transforms.values()) == ["ExtractNewRecordState", "MaskField"]


def test_a_connector_and_its_tasks_have_states(connect: RecordedConnect) -> None:
    spec = ConnectSpec(connect.url)
    connectors = by_name(spec)
    runs = (TaskState("connector", "RUNNING"), TaskState("task 0", "RUNNING"))
    assert read_states(spec, connectors["mysql_plain_1"]) == runs
    connect.answer_with("/connectors/mysql_plain_1/status once paused")
    paused = (TaskState("connector", "PAUSED"), TaskState("task 0", "PAUSED"))
    assert read_states(spec, connectors["mysql_plain_1"]) == paused


def test_of_a_failure_the_first_line_is_read_without_secrets(connect: RecordedConnect) -> None:
    spec = ConnectSpec(connect.url)
    connect.answer_with("/connectors once one fails")
    failed = by_name(spec)["failing"]
    _, task = read_states(spec, failed)
    assert task.state == "FAILED"
    assert "Exception" in task.error
    assert "\n" not in task.error
    word = task.error.split()[0].rstrip(":")
    leaky = Connector("failing", {**failed.config, "database.password": word})
    assert read_states(spec, leaky)[1].error == task.error.replace(word, "***")


def test_who_asks_has_a_name_and_a_password(
    connect: RecordedConnect, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect.login = f"Basic {b64encode(b'tide:hunter2').decode()}"
    with pytest.raises(ConnectRefusedError, match="answered with HTTP 401"):
        connector_names(ConnectSpec(connect.url))
    known = ConnectSpec(connect.url, "tide", "${env:CONNECT_PASSWORD}")
    with pytest.raises(ConnectRefusedError, match="the environment variable CONNECT_PASSWORD"):
        connector_names(known)
    monkeypatch.setenv("CONNECT_PASSWORD", "hunter2")
    assert len(by_name(known)) == 4


@pytest.mark.parametrize("url", ["connect:8083", "ftp://connect", "http://a:b@connect"])
def test_another_address_is_refused(url: str) -> None:
    with pytest.raises(ConnectRefusedError, match="the address of Kafka Connect is not"):
        connector_names(ConnectSpec(url))


def test_one_that_wants_a_certificate_is_refused(tmp_path: Path) -> None:
    """It says so by an alert, before anybody has asked."""
    served_with = tmp_path / "server.pem"
    served_with.write_text("".join(reversed(Authority("services").issue("connect"))))
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(served_with)
    context.sni_callback = lambda *_: AlertDescription.ALERT_DESCRIPTION_HANDSHAKE_FAILURE
    with (
        recorded_connect(context) as connect,
        pytest.raises(ConnectRefusedError, match="ends the handshake"),
    ):
        connector_names(ConnectSpec(connect.url))


def test_one_that_cannot_serve_now_is_asked_again_later(connect: RecordedConnect) -> None:
    connect.answers["/connectors"] = {"status": 409, "body": {"error_code": 409}}
    with pytest.raises(ConnectUnreachableError, match="answered with HTTP 409"):
        connector_names(ConnectSpec(connect.url))


def test_something_else_that_answers_is_no_kafka_connect(connect: RecordedConnect) -> None:
    connect.answers["/connectors"] = {"status": 200, "body": {"subjects": 3}}
    with pytest.raises(ConnectRefusedError):
        connector_names(ConnectSpec(connect.url))


def test_one_that_is_deleted_meanwhile_is_none(connect: RecordedConnect) -> None:
    spec = ConnectSpec(connect.url)
    assert read_connector(spec, "absent") is None
    assert read_states(spec, Connector("absent", {})) == ()
    del connect.answers["/connectors"]
    with pytest.raises(ConnectRefusedError, match="answered with HTTP 404"):
        connector_names(spec)


@pytest.mark.parametrize(
    "body",
    [
        ["a list"],
        {"connector": "RUNNING", "tasks": []},
        {"connector": {"state": ["hunter2"]}, "tasks": ["hunter2"]},
        {"connector": {"state": "RUNNING"}, "tasks": [{"state": "RUNNING"}]},
        None,
    ],
)
def test_an_answer_of_another_form_is_none_of_kafka_connect(
    connect: RecordedConnect, body: object
) -> None:
    spec, bare = ConnectSpec(connect.url), "/connectors/bare"
    connector = by_name(spec)["bare"]
    connect.answers[f"{bare}/config"] = {"status": 200, "body": ["hunter2"]}
    with pytest.raises(ConnectRefusedError, match="is no answer of Kafka Connect") as refused:
        read_connector(spec, "bare")
    assert "hunter2" not in f"{refused.value} {refused.value.__cause__}"
    connect.answers[f"{bare}/status"] = {"status": 200, "body": body}
    with pytest.raises(ConnectRefusedError, match="is no answer of Kafka Connect") as refused:
        read_states(spec, connector)
    assert "hunter2" not in f"{refused.value} {refused.value.__cause__}"
