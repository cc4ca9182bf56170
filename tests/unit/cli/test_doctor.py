"""`tidemark doctor` on a machine where nothing answers, and how it shows findings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from rich.console import Console
from typer.testing import CliRunner

from embedded.home import embedded_environment
from tests.support.connect import recorded_connect
from tests.support.tokens import SCOPE, TokenIssuer
from tidemark.cli.app import app
from tidemark.cli.doctor import show_findings
from tidemark.model.finding import Finding, Grade

ASKED = ["--connect", "http://c", "--connect-client-id", "u"]
ASKED += ["--connect-token-endpoint-url", "http://t/token"]
PIPELINE = r"""
name: shop
description: A test
owner: tests
schedule: "*/10 * * * *"
source:
  format: debezium-postgres
  gate: none
  topics: {data: ['^failing\.app\..*']}
other-tables: follow
"""


@pytest.fixture(autouse=True)
def _installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One pipeline, no catalog that opens, no jars; commands log to their own terminal."""
    jars = tmp_path / "no-jars"
    for name, value in embedded_environment(tmp_path, "127.0.0.1:1", jars).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "shop.yaml").write_text(PIPELINE)
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(tmp_path / "pipelines"))
    monkeypatch.setenv("TIDEMARK_CATALOG", f"sqlite:///{tmp_path}/absent/catalog.db")
    yield
    structlog.reset_defaults()


def examined(*words: str) -> tuple[int, list[dict[str, str]]]:
    ended = CliRunner().invoke(app, ["doctor", *words, "--json"])
    return ended.exit_code, json.loads(ended.stdout)["findings"]


def test_a_catalog_that_is_away_is_an_error(tmp_path: Path) -> None:
    code, findings = examined("shop")
    assert code == 1
    worst = findings[0]
    assert (worst["severity"], worst["about"]) == ("error", "catalog lake")
    assert worst["what"].startswith("CatalogUnreachableError: ")
    assert worst["fix"]
    assert [
        f["severity"]
        for f in findings
        if f["about"] == "this machine" and f"the jars in {tmp_path}/no-jars/spark" in f["what"]
    ] == ["warning"]


def test_connectors_are_looked_at_though_the_catalog_is_away() -> None:
    with recorded_connect() as connect:
        connect.answer_with("/connectors once one fails")
        code, findings = examined("shop", "--connect", connect.url)
    assert code == 1
    of_connector = [f for f in findings if f["about"] == "connector failing"]
    assert {f["what"].partition("=")[0] for f in of_connector if f["severity"] == "error"} > {
        "skipped.operations",
        "value.converter.replace.null.with.default",
    }
    assert any(f["what"].startswith("its task 0 is FAILED: ") for f in of_connector)
    assert "not-for-print" not in str(findings)


def test_a_connector_is_known_by_its_prefix_or_named() -> None:
    with recorded_connect() as connect:
        _, unknown = examined("shop", "--connect", connect.url, "--connector", "absent")
        _, named = examined("shop", "--connect", connect.url, "--connector", "postgres_plain_1")
        _, none = examined("shop", "--connect", connect.url)
    (warning,) = (f for f in unknown if "there is no connector absent" in f["what"])
    assert "postgres_plain_1 (postgres_plain_1)" in warning["what"]
    assert "connector postgres_plain_1" in {finding["about"] for finding in named}
    assert any("no connector has a topic.prefix" in finding["what"] for finding in none)


def test_kafka_connect_is_asked_by_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    issuer = TokenIssuer("tide", "hunter2")
    monkeypatch.setenv("CLIENT_SECRET", "hunter2")
    with recorded_connect() as connect, issuer.running() as tokens:
        connect.tokens = issuer
        asked = ["shop", "--connect", connect.url, "--connect-token-endpoint-url", tokens]
        asked += ["--connect-client-secret", "${env:CLIENT_SECRET}", "--connect-scope", SCOPE]
        _, known = examined(*asked, "--connect-client-id", "tide")
        _, strange = examined(*asked, "--connect-client-id", "stranger")
    assert any("no connector has a topic.prefix" in finding["what"] for finding in known)
    (refused,) = (f for f in strange if "invalid_client" in f["what"])
    assert refused["what"].startswith(f"ConnectRefusedError: the token server {tokens} answered")
    assert issuer.given == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--connector", "bare"],
        ["--connect", "http://c", "--connector", "bare"],
        ["--connect-user", "u", "--connect-password", "${env:P}"],
        ["--connect", "http://c", "--connect-user", "u"],
        ["--connect", "http://c", "--connect-user", "u", "--connect-password", "hunter2"],
        ["--connect", "http://c", "--connect-user", "u", "--connect-password", "${env:P:-h2}"],
        [*ASKED, "--connect-client-secret", "hunter2"],
        [*ASKED],
        [*ASKED, "--connect-client-secret", "${env:S}", "--connect-user", "u"]
        + ["--connect-password", "${env:P}"],
        [*ASKED, "--connect-client-secret", "${env:S}"]
        + ["--connect-token-endpoint-url", "http://a:hunter2@t"],
        [*ASKED, "--connect-client-secret", "${env:S}", "--connect-token-endpoint-url", "${nope"],
        [*ASKED, "--connect-client-secret", "${env:S}", "--connect-client-id", " "],
        ["--connect-scope", "s"],
    ],
)
def test_a_password_is_taken_by_reference_alone(words: list[str]) -> None:
    ended = CliRunner().invoke(app, ["doctor", *words])
    assert ended.exit_code == 2
    assert "hunter2" not in ended.output


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--connect-token-endpoint-url", "nowhere"),
        ("--connect-token-endpoint-url", "${nope"),
        ("--connect-client-id", " "),
        ("--connect-client-id", "${nope"),
        ("--connect-scope", " "),
    ],
)
def test_an_option_is_refused_by_its_name(option: str, value: str) -> None:
    words = [*ASKED, "--connect-client-secret", "${env:S}", option, value]
    ended = CliRunner().invoke(app, ["doctor", *words], env={"COLUMNS": "200"})
    assert ended.exit_code == 2
    assert f"{option} takes " in ended.output


def test_findings_are_shown_with_what_to_do() -> None:
    console = Console(width=160, record=True, force_terminal=False)
    bad = Finding(Grade.ERROR, "topic shop", "it is \x1b[2J", "rows are lost", "set it")
    show_findings(console, [bad, Finding.good("catalog lake", "it answers")])
    shown = console.export_text()
    assert [word in shown for word in ("rows are lost", "set it", r"it is \x1b[2J")] == [True] * 3
    assert "1 error, 0 warnings, 0 notes; 1 as it should be" in shown
