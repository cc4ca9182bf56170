"""The page in headless Chromium, on a running stack: looked through, and used to decide."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from embedded.airflow import USER, prepare_airflow
from embedded.airflow_servers import running_airflow
from embedded.home import STATE, embedded_environment
from embedded.sample import create_topics, inventory_stream, send, shop_stream
from tests.support.airflow_api import Api
from tests.support.stack import installation
from tidemark.lake.catalog import open_catalog
from tidemark.spec import InstallationSpec

REPOSITORY = Path(__file__).parents[2]
SELENIUM = STATE / "mkdocs" / "bin" / "python"
NO_CUSTOMERS = """\
suite: shop_customers
expectations:
  - expect: expect_table_row_count_to_equal
    arguments: {value: 0}
    severity: critical
    scope: table
"""
PICTURES = {"airflow.png": "airflow", "page.png": "pipeline-desktop", "table.png": "table-desktop"}
PICTURES |= {"form.png": "form-desktop", "phone.png": "blocked-phone"}
WALK_SECONDS = 900
SIZES = ("desktop", "phone")
REASON = "the shop has customers"


@dataclass(frozen=True)
class Stack:
    """A running Airflow, and the lake that its runs fill."""

    api: Api
    password: str
    lake: InstallationSpec


@pytest.fixture(scope="module")
def stack(broker: str, jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The inventory is published, and the first cut of the shop is blocked by its audit."""
    state = tmp_path_factory.mktemp("site")
    pipelines, suites = state / "pipelines", state / "suites"
    shutil.copytree(REPOSITORY / "include" / "pipelines", pipelines)
    shutil.copytree(REPOSITORY / "include" / "expectations", suites)
    (suites / "shop_customers.yaml").write_text(NO_CUSTOMERS)
    for file in pipelines.glob("*.yaml"):
        file.write_text(file.read_text().replace('"*/10 * * * *"', "null"))
    settings = {
        **embedded_environment(state, broker, jars),
        "TIDEMARK_PIPELINES": str(pipelines),
        "TIDEMARK_EXPECTATIONS": str(suites),
    }
    inventory, shop = inventory_stream(), shop_stream()
    for stream in (inventory, shop):
        create_topics(broker, stream)
    airflow = prepare_airflow(state, settings)
    with running_airflow(airflow) as url:
        api = Api(url, airflow.password)
        for dag in ("cut__inventory", "cut__shop", "action__shop"):
            api.found(dag, beside=dag)
        start = 0
        for stage in inventory.stages[:2]:
            send(broker, inventory.records[start : stage.end])
            start = stage.end
            assert api.trigger("cut__inventory")["state"] == "success"
        send(broker, shop.records)
        assert api.trigger("cut__shop")["state"] == "failed"
        api.ask("/api/v2/dags/action__shop?update_mask=is_paused", {"is_paused": True}, "PATCH")
        yield Stack(api, airflow.password, installation(state, jars, broker))


@pytest.fixture(scope="module")
def seen(
    stack: Stack, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, dict[str, Any]]:
    """What a person saw, step by step."""
    folder = tmp_path_factory.mktemp("pictures")
    asked = {"url": stack.api.url, "password": stack.password, "folder": str(folder)}
    walk = subprocess.run(
        [SELENIUM, Path(__file__).with_name("walk.py")],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=WALK_SECONDS,
    )
    assert walk.returncode == 0, walk.stderr
    if pictures := request.config.getoption("--pictures"):
        for picture, step in PICTURES.items():
            shutil.copy(folder / f"{step}.png", Path(pictures) / picture)
    steps: Mapping[str, dict[str, Any]] = json.loads(walk.stdout)
    return steps


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("step", "texts"),
    [
        ("pipelines", ["blocked", "cut 1 is blocked by its audit", "inventory", "0 unread"]),
        ("pipeline", ["inventory.orders", "last change", "Data Docs", "Maintain the tables"]),
        ("table", ["inventory.orders", "Next cut", "History", "inserted", "snapshot"]),
        ("docs", ["suite inventory_orders", "0 of"]),
        ("audits", ["inventory.orders", "inventory_orders"]),
        ("blocked", ["shop.customers", "expect_table_row_count_to_equal"]),
        ("form", ["Reason needed", "action__shop"]),
    ],
)
def test_a_person_finds_the_way(
    seen: Mapping[str, dict[str, Any]], step: str, texts: list[str], size: str
) -> None:
    """On a desktop and on a phone, without the internet."""
    page = seen[f"{step}-{size}"]
    for text in texts:
        assert text in page["text"]
    assert page["too_wide_by"] <= 0, "the page itself scrolls sideways"
    assert page["complaints"] == []


def test_a_form_is_filled_in(seen: Mapping[str, dict[str, Any]]) -> None:
    form = seen["form-desktop"]
    assert form["path"] == "/tidemark/pipelines/shop/run?dag=action&action=accept"
    assert form["fields"] == {"reason": ""}


def test_a_form_asks_for_a_reason_before_it_starts_anything(
    seen: Mapping[str, dict[str, Any]],
) -> None:
    assert "It is paused" in seen["paused"]["text"]
    assert seen["without-reason"]["path"] == seen["paused"]["path"]


def test_a_blocked_cut_is_published_by_the_form(
    seen: Mapping[str, dict[str, Any]], stack: Stack
) -> None:
    """PUB-7: by Airflow's own API, which knows who it was."""
    run_id = unquote(seen["begun"]["path"].split("/runs/")[1].partition("/")[0])
    run = stack.api.ended("action__shop", run_id)
    runs = stack.api.ask("/api/v2/dags/action__shop/dagRuns")["dag_runs"]
    assert [one["dag_run_id"] for one in runs] == [run_id], "one began without its reason"
    assert (run["state"], run["triggering_user_name"]) == ("success", USER)
    assert {name: value for name, value in run["conf"].items() if value} == {
        "action": "accept",
        "reason": REASON,
    }
    customers = open_catalog(stack.lake.catalog).load_table(("shop", "customers"))
    assert customers.scan().to_arrow().num_rows > 0
    logged = stack.api.ask("/api/v2/eventLogs?dag_id=action__shop&limit=100")["event_logs"]
    assert ("trigger_dag_run", USER) in {(event["event"], event["owner"]) for event in logged}


@pytest.mark.parametrize("dag", ["cut__inventory", "cut__shop"])
def test_the_audit_of_a_run_leads_to_data_docs(
    seen: Mapping[str, dict[str, Any]], stack: Stack, dag: str
) -> None:
    """Its log names an address that the browser was at, and no path of the worker."""
    api, pipeline = stack.api, dag.partition("__")[2]
    docs = f"{api.url}/tidemark/pipelines/{pipeline}/docs/"
    run = api.ask(f"/api/v2/dags/{dag}/dagRuns?order_by=run_after")["dag_runs"][0]
    task = f"/api/v2/dags/{dag}/dagRuns/{run['dag_run_id']}/taskInstances/audit"
    assert api.ask(f"{task}/links")["extra_links"] == {"Data Docs": docs}
    assert docs in json.dumps(api.ask(f"{task}/logs/1"))
    assert seen["audits-desktop"]["path"].startswith("/tidemark/pipelines/inventory/docs/")
    text, _ = api.page(docs.removeprefix(api.url))
    assert f"Audits of {pipeline}" in text
