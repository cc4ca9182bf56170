"""`tidemark validate` and `tidemark schema`: what they find, print, and leave unimported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidemark.cli.app import app

GOOD = """\
name: sales
description: Orders of the shop.
owner: data-platform
schedule: null
source:
  format: debezium-mysql
  gate: none
  topics: {data: [sales.orders]}
tables:
  - {source: sales.orders, expectations: none}
"""
SUITE = """\
suite: orders
expectations:
  - {expect: expect_column_values_to_not_be_null, arguments: {column: id}, severity: critical,
     scope: changed}
"""
HEAVY = ("airflow", "confluent_kafka", "great_expectations", "pyiceberg", "pyspark", "sqlalchemy")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation without fault: one pipeline, one suite."""
    for name, content in {"pipelines/sales": GOOD, "expectations/orders": SUITE}.items():
        file = tmp_path / f"{name}.yaml"
        file.parent.mkdir()
        file.write_text(content)
    (tmp_path / "installation.yaml").write_text(
        "kafka: {bootstrap-servers: '127.0.0.1:9092'}\n"
        f"catalog: {{name: lake, uri: 'sqlite:///{tmp_path}/c.db', warehouse: {tmp_path}}}\n"
        f"spark: {{jars: {tmp_path}}}\n"
        f"state: {tmp_path}\n"
    )
    monkeypatch.setenv("TIDEMARK_PIPELINES", str(tmp_path / "pipelines"))
    monkeypatch.setenv("TIDEMARK_EXPECTATIONS", str(tmp_path / "expectations"))
    monkeypatch.setenv("TIDEMARK_INSTALLATION", str(tmp_path / "installation.yaml"))
    return tmp_path


@pytest.mark.usefixtures("installed")
def test_a_sound_installation_has_no_fault() -> None:
    ended = CliRunner().invoke(app, ["validate"])

    assert (ended.exit_code, ended.stdout) == (0, "")
    assert ended.stderr.splitlines() == [
        "installation is good: catalog lake, broker 127.0.0.1:9092",
        "pipeline sales is good: 1 table, debezium-mysql, gate none",
        "suite orders is good: 1 expectation",
    ]


def test_faults_of_every_file_are_printed_at_once(installed: Path) -> None:
    pipeline, suite = installed / "pipelines/sales.yaml", installed / "expectations/orders.yaml"
    installation = installed / "installation.yaml"
    pipeline.write_text(GOOD.replace("gate: none", "gate: nine").replace("owner", "ownr"))
    suite.write_text(SUITE.replace("critical", "fatal"))
    installation.write_text(installation.read_text().replace("kafka:", "kafca:"))

    ended = CliRunner().invoke(app, ["validate"])

    assert ended.exit_code == 1
    assert [line.split(": got")[0] for line in ended.stdout.splitlines()] == [
        f"{installation}:1 -> kafka",
        f"{installation}:1 -> kafca",
        f"{pipeline}:1 -> owner",
        f"{pipeline}:3 -> ownr",
        f"{pipeline}:7 -> source.gate",
        f"{suite}:3 -> expectations[0].severity",
    ]
    assert ended.stderr == "6 faults\n"


def test_a_named_file_is_checked_as_what_it_is(installed: Path) -> None:
    files = [installed / "expectations/orders.yaml", installed / "pipelines/sales.yaml"]
    files += [installed / "installation.yaml", installed / "none.yaml"]

    ended = CliRunner().invoke(app, ["validate", *map(str, files)])

    assert ended.exit_code == 1
    assert [line.split()[0] for line in ended.stderr.splitlines()] == [
        "suite",
        "pipeline",
        "installation",
        "1",
    ]
    assert ended.stdout.startswith(f"{installed / 'none.yaml'}:1 -> (file): got No such file")


def test_faults_are_json_for_programs(installed: Path) -> None:
    missing = installed / "none.yaml"
    ended = CliRunner().invoke(app, ["validate", str(missing), "--json"])
    found = json.loads(ended.stdout)
    assert (ended.exit_code, found["good"]) == (1, [])
    assert found["faults"][0].startswith(f"{missing}:1 -> (file): got No such file")
    assert CliRunner().invoke(app, ["validate", "--json"]).exit_code == 0


@pytest.mark.parametrize(
    ("file", "key"),
    [
        ("pipeline", "source"),
        ("suite", "expectations"),
        ("status", "pipelines"),
        ("cut", "buckets"),
        ("plan", "tables"),
        ("validate", "faults"),
        ("doctor", "findings"),
        ("history", "changes"),
        ("init", "decide"),
        ("quarantine", "entries"),
        ("action", "next"),
    ],
)
def test_schemas_are_json_for_editors(file: str, key: str) -> None:
    ended = CliRunner().invoke(app, ["schema", file])

    assert ended.exit_code == 0
    assert key in json.loads(ended.stdout)["properties"]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "words", ["--help", "cut --help", "doctor --help", "init --help", "validate", "schema suite"]
)
def test_nothing_heavy_is_imported_for_words(words: str) -> None:
    script = (
        "import sys\n"
        "from tidemark.cli.app import app\n"
        f"app({words.split()!r}, standalone_mode=False)\n"
        f"sys.exit(' '.join(name for name in {HEAVY!r} if name in sys.modules) or 0)\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stderr
