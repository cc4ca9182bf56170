"""Somebody gets a mail of a run that takes longer than its tables may be old."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from embedded.airflow import prepare_airflow
from embedded.airflow_servers import running_airflow
from embedded.home import embedded_environment
from embedded.ports import HOST
from tests.support.airflow_api import Api
from tests.support.mailbox import mailbox

DOCS = Path(__file__).parents[3] / "docs" / "monitoring.md"
PIPELINE = """\
name: slow
description: Is late after a minute.
schedule: null
owner: data-platform
freshness: 1 min
source: {format: ticdc-canal-json, gate: watermark, topics: {data: [slow]}, zone: UTC}
tables:
  - {source: shop.items, expectations: none}
"""


def file_that_mails() -> str:
    """The DAG file as the documentation has it."""
    (block,) = re.findall(r"```python\n(\"\"\"Airflow: .*?)```", DOCS.read_text(), re.DOTALL)
    assert "SmtpNotifier" in block
    return str(block)


def test_late_run_is_mailed(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The DAG is paused, so that its run neither begins nor ends, as where all workers are busy."""
    state, dags = tmp_path_factory.mktemp("late"), tmp_path_factory.mktemp("dags")
    pipelines = tmp_path_factory.mktemp("pipelines")
    (dags / "mailed.py").write_text(file_that_mails())
    (pipelines / "slow.yaml").write_text(PIPELINE)
    with mailbox() as server:
        extra = {"disable_ssl": True, "disable_tls": True, "from_email": "airflow@example.org"}
        connection = {"conn_type": "smtp", "host": HOST, "port": server.port, "extra": extra}
        settings = {
            **embedded_environment(state, "unused:1", jars),
            "TIDEMARK_PIPELINES": str(pipelines),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
            "AIRFLOW_CONN_SMTP_DEFAULT": json.dumps(connection),
        }
        airflow = prepare_airflow(state, settings)
        with running_airflow(airflow) as url:
            run = Api(url, airflow.password).begin("cut__slow")
            mail = server.mails.get(timeout=120)
    assert mail["To"] == "sales-data@example.org"
    assert mail["Subject"] == "cut__slow is late"
    body = mail.get_body()
    assert body is not None
    assert run in body.get_content()
    assert server.mails.empty()
