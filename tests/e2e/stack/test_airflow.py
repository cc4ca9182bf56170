"""Both pipelines through Airflow: by `dags test`, by the REST API as the UI does, by backfill."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from embedded.airflow import (
    Airflow,
    RunReport,
    airflow_command,
    prepare_airflow,
    read_runs,
    run_dag,
)
from embedded.airflow_servers import running_airflow
from embedded.home import embedded_environment
from tests.corpus.cases import Case, Table, read_case
from tests.corpus.compare import differences
from tests.corpus.run import read_rows
from tests.support.airflow_api import Api
from tests.support.network import LOOPBACK, listening_addresses
from tests.support.records import ticdc_row, ticdc_watermark
from tests.support.statsd import StatsdServer, statsd_server
from tidemark.cli.metrics import exposition
from tidemark.lake.catalog import SystemTables
from tidemark.lake.results import failed_attempts
from tidemark.model.names import PipelineName
from tidemark.model.position import commit_ts_of
from tidemark.runs.metrics import read_samples
from tidemark.runs.world import World, open_world
from tidemark.spec import CatalogSpec, InstallationSpec, KafkaSpec, SparkSpec, load_pipeline

REPOSITORY = Path(__file__).parents[3]
CASES = REPOSITORY / "tests" / "corpus" / "cases"
SHOP = read_case(CASES / "ticdc-made" / "shop", "3p")
INVENTORY = read_case(CASES / "recorded-debezium-mysql" / "my-inventory", "json-schema")
CAP = "2026-04-01T09:00:04.055Z"  # what the shop's stage first-load is complete to
GREEN = {"plan": "success", "fold": "success", "audit": "success", "publish": "success"}
RED = {"plan": "success", "fold": "success", "audit": "failed", "publish": "upstream_failed"}
IDLE = {"plan": "success", "fold": "skipped", "audit": "skipped", "publish": "skipped"}
UNTOUCHED = {"until": None, "tables": None, "reason": None, "hold": False, "dry_run": False}
EMBEDDED = REPOSITORY / "include" / "deploy" / "installation.embedded.yaml"
BY_CONNECTION = "${conn:kafka_default.extra.bootstrap.servers}"  # as the provider's form has it
NO_CUSTOMERS = """\
suite: shop_customers
expectations:
  - expect: expect_table_row_count_to_equal
    arguments: {value: 0}
    severity: critical
    scope: table
"""
LINEAGE = "lineage.json"
IMPATIENT = """\
# Airflow reads files that name it.
from datetime import timedelta

from tidemark.scheduling.dags import build_cut_dag
from tidemark.spec import pipeline_named

dag = build_cut_dag(pipeline_named("shop"))
dag.get_task("fold").execution_timeout = timedelta(seconds=15)
dag.get_task("fold").retries = 0
"""
LATE = """\
name: late
description: Came when everything ran already.
schedule: null
owner: data-platform
source: {format: ticdc-canal-json, gate: watermark, topics: {data: [shop]}, zone: UTC}
tables:
  - {source: shop.customers, expectations: none}
  - {source: shop.orders, expectations: none}
  - {source: shop.order_lines, expectations: none}
  - {source: shop.vouchers, expectations: none}  # the source has no such table
"""


ASKED = """\
name: asked
description: Has somebody decide about findings.
schedule: null
owner: data-platform
source: {format: ticdc-canal-json, gate: watermark, topics: {data: [shop]}, zone: UTC}
tables:
  - {source: shop.customers, expectations: asked_customers}
  - {source: shop.orders, expectations: none}
  - {source: shop.order_lines, expectations: none}
publish: {approval: ask}
"""


YEARLY = """\
name: yearly
description: Is read as it was at the end of each year.
schedule: "0 0 1 1 *"
owner: data-platform
source: {format: ticdc-canal-json, gate: watermark, topics: {data: [yearly]}, zone: UTC}
tables:
  - {source: shop.items, expectations: none}
"""


@dataclass(frozen=True)
class Site:
    """An installation with its Airflow, and the topics that fill it."""

    airflow: Airflow
    world: World
    servers: str
    pipelines: Path
    suites: Path
    statsd: StatsdServer

    def send(self, case: Case, start: int, end: int | None = None) -> None:
        """Put lines of a case into its topics, under the names that the pipeline files have."""
        producer = Producer({"bootstrap.servers": self.servers})
        for record in case.records[start:end]:
            producer.produce(
                record.topic, record.value, record.key, record.partition, headers=[*record.headers]
            )
        assert producer.flush(30) == 0

    def differences(self, namespace: str, tables: Mapping[str, Table]) -> list[str]:
        """Where the published rows are not those of ``tables``."""
        return [
            f"{name}: {difference}"
            for name, table in tables.items()
            for difference in differences(
                table,
                read_rows(self.world, namespace, name.partition(".")[2]),
                is_postgres=False,
            )
        ]


@dataclass(frozen=True)
class Hung:
    """A run that hung, its driver, and the errors of attempts that `tidemark status` tells."""

    report: RunReport
    driver: psutil.Process
    failures: Sequence[str]


@pytest.fixture(scope="module")
def statsd() -> Iterator[StatsdServer]:
    with statsd_server() as server:
        yield server


@pytest.fixture(scope="module")
def site(
    broker: str, jars: Path, statsd: StatsdServer, tmp_path_factory: pytest.TempPathFactory
) -> Site:
    state = tmp_path_factory.mktemp("site")
    pipelines = tmp_path_factory.mktemp("pipelines")
    shutil.copytree(REPOSITORY / "include" / "pipelines", pipelines, dirs_exist_ok=True)
    inventory = pipelines / "inventory.yaml"
    # Or its schedule takes the records that a test sends before it starts a run by hand.
    inventory.write_text(inventory.read_text().replace('"*/10 * * * *"', "null"))
    suites = tmp_path_factory.mktemp("suites")
    shutil.copytree(REPOSITORY / "include" / "expectations", suites, dirs_exist_ok=True)
    file = state / "installation.yaml"
    file.write_text(EMBEDDED.read_text().replace("${env:TIDEMARK_KAFKA}", BY_CONNECTION))
    settings = {
        **embedded_environment(state, broker, jars),
        "TIDEMARK_PIPELINES": str(pipelines),
        "TIDEMARK_EXPECTATIONS": str(suites),
        "TIDEMARK_INSTALLATION": str(file),
        **statsd.settings,
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
            {"type": "file", "log_file_path": str(state / LINEAGE), "append": True}
        ),
    }
    del settings["TIDEMARK_KAFKA"]
    catalog = CatalogSpec(
        name="lake", uri=settings["TIDEMARK_CATALOG"], warehouse=settings["TIDEMARK_WAREHOUSE"]
    )
    world = open_world(
        InstallationSpec(
            kafka=KafkaSpec(bootstrap_servers=broker),
            catalog=catalog,
            spark=SparkSpec(jars=settings["TIDEMARK_JARS"]),
            state=state,
        )
    )
    partitions = {**SHOP.partitions, **INVENTORY.partitions}
    topics = [NewTopic(topic, count, 1) for topic, count in partitions.items()]
    admin = AdminClient({"bootstrap.servers": broker})
    for made in admin.create_topics(topics).values():
        made.result(timeout=30)
    airflow = prepare_airflow(state, settings)
    connection = {"conn_type": "kafka", "extra": {"bootstrap.servers": broker}}
    added = ("connections", "add", "kafka_default", "--conn-json", json.dumps(connection))
    subprocess.run(airflow_command(*added), env=airflow.environment, check=True)
    return Site(airflow, world, broker, pipelines, suites, statsd)


@pytest.fixture(scope="module")
def blocked(site: Site, tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    """A run over the whole shop with a suite that no shop can meet."""
    site.send(SHOP, 0)
    suites = tmp_path_factory.mktemp("strict")
    shutil.copytree(site.suites, suites, dirs_exist_ok=True)
    (suites / "shop_customers.yaml").write_text(NO_CUSTOMERS)
    strict = {**site.airflow.environment, "TIDEMARK_EXPECTATIONS": str(suites)}
    report = run_dag(replace(site.airflow, environment=strict), "cut__shop")
    log = site.airflow.log_file("test-cut__shop")
    log.rename(log.with_stem("test-cut__shop-blocked"))
    assert not any(read_rows(site.world, "shop", name) for name in ("customers", "orders"))
    return report


@pytest.fixture(scope="module")
def hung(site: Site, blocked: RunReport, tmp_path_factory: pytest.TempPathFactory) -> Hung:
    """A run whose driver stops in its tracks."""
    assert blocked.state == "failed"
    folder = tmp_path_factory.mktemp("dags")
    (folder / "impatient.py").write_text(IMPATIENT)
    settings = {**site.airflow.environment, "AIRFLOW__CORE__DAGS_FOLDER": str(folder)}
    with ThreadPoolExecutor(1) as threads:
        stopping = threads.submit(stopped_driver)
        report = run_dag(replace(site.airflow, environment=settings), "cut__shop")
    log = site.airflow.log_file("test-cut__shop")
    log.rename(log.with_stem("test-cut__shop-hung"))
    failures = failed_attempts(site.world.installation.state, PipelineName("shop"), 0)
    return Hung(report, stopping.result(), [failure.error for failure in failures])


def stopped_driver() -> psutil.Process:
    """The driver of a cut below this process, once it is stopped; Python, as the JVM starts it."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if any(part.endswith("jobs/cut.py") for part in process.cmdline()[:2]):
                    process.suspend()
                    return process
        time.sleep(0.05)
    raise TimeoutError("no driver came")


@pytest.fixture(scope="module")
def capped(site: Site, hung: Hung) -> RunReport:
    """A run over the whole shop that was asked to stop early."""
    assert hung.report.state == "failed"
    report = run_dag(site.airflow, "cut__shop", conf={"until": CAP, "reason": "month end"})
    tables = next(stage.tables for stage in SHOP.stages if stage.name == "first-load")
    assert site.differences("shop", tables) == []
    return report


@pytest.fixture(scope="module")
def published(site: Site, capped: RunReport) -> Mapping[str, RunReport]:
    """Runs that publish all there is of the shop, and the first two stages of the inventory."""
    site.send(INVENTORY, 0, INVENTORY.stages[1].end)
    return {name: run_dag(site.airflow, f"cut__{name}") for name in ("shop", "inventory")}


@pytest.fixture(scope="module")
def repeated(site: Site, published: Mapping[str, RunReport]) -> Mapping[str, RunReport]:
    """Runs with nothing to do, on a machine where no Java can be started."""
    assert {report.state for report in published.values()} == {"success"}
    no_java = replace(
        site.airflow, environment={**site.airflow.environment, "JAVA_HOME": "/nowhere"}
    )
    return {name: run_dag(no_java, f"cut__{name}") for name in published}


@pytest.fixture(scope="module")
def served(site: Site, repeated: Mapping[str, RunReport]) -> Iterator[Api]:
    assert {report.state for report in repeated.values()} == {"success"}
    with running_airflow(site.airflow) as url:
        yield Api(url, site.airflow.password)


def test_run_that_its_audit_blocks_is_red_and_says_why(blocked: RunReport, site: Site) -> None:
    assert blocked.tasks == RED
    log = site.airflow.log_file("test-cut__shop-blocked").read_text()
    assert "the audit of cut 1 blocks: shop.customers" in log
    assert "expect_table_row_count_to_equal" in log
    assert str(site.airflow.home.parent / "data_docs" / "shop" / "index.html") in log


def test_run_whose_driver_hangs_is_ended(hung: Hung) -> None:
    """It leaves no process, and a result that status and the page read."""
    assert hung.report.tasks == {**RED, "fold": "failed", "audit": "upstream_failed"}
    assert not hung.driver.is_running()
    assert "died without a result" in hung.failures[0]


def test_run_publishes_up_to_the_time_it_was_asked_for(capped: RunReport) -> None:
    assert (capped.state, capped.tasks) == ("success", GREEN)
    assert capped.left["plan"]["plan"]["until"] == "2026-04-01T09:00:04.055000+00:00"


@pytest.mark.parametrize(
    ("name", "tables"),
    [("shop", SHOP.stages[-1].tables), ("inventory", INVENTORY.stages[1].tables)],
    ids=["shop", "inventory"],
)
def test_run_publishes_what_the_source_holds(
    name: str, tables: Mapping[str, Table], published: Mapping[str, RunReport], site: Site
) -> None:
    assert (published[name].state, published[name].tasks) == ("success", GREEN)
    if name == "shop":
        assert site.differences(name, tables) == []


@pytest.mark.parametrize("name", ["shop", "inventory"])
def test_run_with_nothing_to_do_says_so_and_starts_no_jvm(
    name: str, repeated: Mapping[str, RunReport]
) -> None:
    assert (repeated[name].state, repeated[name].tasks) == ("success", IDLE)
    assert "nothing is unread" in repeated[name].left["plan"]["plan"]["sentence"]


def report_of(site: Site, run: Mapping[str, Any]) -> RunReport:
    """Tasks, and what they left, of a run as the API tells of it."""
    return next(r for r in read_runs(site.airflow, run["dag_id"]) if r.run_id == run["dag_run_id"])


@pytest.fixture(scope="module")
def shown(site: Site, served: Api) -> Mapping[str, Any]:
    """A dry run over changes of the inventory that no run has read."""
    site.send(INVENTORY, INVENTORY.stages[1].end)
    before = {name: head(site, name) for name in INVENTORY.stages[1].tables}
    run = served.trigger("cut__inventory", dry_run=True)
    assert {name: head(site, name) for name in before} == before
    return run


def test_dry_run_by_the_form_says_what_the_cut_would_hold(
    site: Site, served: Api, shown: Mapping[str, Any]
) -> None:
    assert shown["state"] == "success"
    assert report_of(site, shown).tasks == {**IDLE, "fold": "success"}
    log = served.log(shown, "fold")
    assert "inventory: next is cut" in log
    assert all(words in log for words in ("inventory.products", "tidemark cut inventory"))


def head(site: Site, name: str) -> int | None:
    """The published snapshot of a table of the inventory."""
    table = site.world.catalog.load_table(("inventory", name.partition(".")[2]))
    found = table.current_snapshot()
    return None if found is None else found.snapshot_id


@dataclass(frozen=True)
class Triggered:
    """A run that the form started, and what stood there behind it. sent: to StatsD."""

    run: Mapping[str, Any]
    products: int | None
    sent: Mapping[str, float]


@pytest.fixture(scope="module")
def triggered(site: Site, served: Api, shown: Mapping[str, Any]) -> Triggered:
    """The run that publishes what the dry run showed: behind it all of the inventory is there."""
    assert shown["state"] == "success"
    run = served.trigger("cut__inventory", reason="a person wanted it")
    cut = report_of(site, run).left["publish"]["return_value"]["cut"]
    sent = site.statsd.awaited("tidemark_cuts_total.inventory", cut)
    return Triggered(run, head(site, "inventory.products"), sent)


def test_run_by_the_form_publishes(site: Site, served: Api, triggered: Triggered) -> None:
    run = triggered.run
    assert run["state"] == "success"
    report = report_of(site, run)
    assert report.tasks == GREEN
    assert report.left["plan"]["plan"]["reason"] == "a person wanted it"
    assert site.differences("inventory", INVENTORY.stages[-1].tables) == []
    before, after = INVENTORY.stages[1].tables, INVENTORY.stages[-1].tables
    events = served.events(run)
    assert [name for name, _ in events] == sorted(
        name for name in after if after[name].rows != before[name].rows
    )
    told = dict(events)["inventory.products"]
    assert told["cut"] == report.left["publish"]["return_value"]["cut"]
    assert told["inserted_rows"] == 1
    assert told["snapshot_id"] == str(triggered.products)
    products = lineage_of(site, "cut__inventory.publish", told["snapshot_id"])
    assert products["symlinks"]["identifiers"][0]["name"] == "inventory.products"
    (source,) = products["columnLineage"]["fields"]["weight"]["inputFields"]
    assert source["namespace"] == f"kafka://{site.servers}"
    assert (source["name"].endswith(".inventory.products"), source["field"]) == (True, "weight")
    sent = triggered.sent
    rows = sent["tidemark_table_rows.inventory.inventory__products"]
    assert rows == len(after["inventory.products"].rows)
    printed = metrics_of(site, "inventory")
    assert printed["tidemark_table_rows", "inventory.products"] == rows
    assert printed["tidemark_pipeline_up", ""] == sent["tidemark_pipeline_up.inventory"] == 1
    assert printed["tidemark_table_freshness_seconds", "inventory.products"] == 0


def lineage_of(site: Site, job: str, snapshot: str) -> dict[str, Any]:
    """Facets of the table with ``snapshot``, once the provider's own process tells of ``job``."""
    file, until = site.world.installation.state / LINEAGE, time.monotonic() + 60
    while time.monotonic() < until:
        events = [json.loads(line) for line in file.read_text().splitlines()]
        ended = [each for each in events if each["eventType"] == "COMPLETE"]
        for table in (each for event in ended for each in event["outputs"]):
            facets: dict[str, Any] = table["facets"]
            if facets["version"]["datasetVersion"] == snapshot:
                assert job in {event["job"]["name"] for event in ended if table in event["outputs"]}
                return facets
        time.sleep(0.2)
    raise TimeoutError(f"nothing tells of snapshot {snapshot}")


def metrics_of(site: Site, name: str) -> dict[tuple[str, str], float]:
    """Name and table -> value, as `tidemark metrics` prints them of a real broker and lake."""
    pipeline = load_pipeline(site.pipelines / f"{name}.yaml", suites=site.suites)
    text = exposition(read_samples(pipeline, site.world))
    families: list[Metric] = list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]
    samples = [sample for family in families for sample in family.samples]
    return {(sample.name, sample.labels.get("table", "")): sample.value for sample in samples}


def test_untouched_form_starts_a_run(site: Site, served: Api) -> None:
    run = served.trigger("cut__shop")
    assert run["conf"] == UNTOUCHED
    assert run["state"] == "success"
    assert report_of(site, run).tasks == IDLE
    assert served.events(run) == [], "nothing was published"


def test_the_page_shows_each_pipeline_to_whoever_may_read_its_dag(served: Api) -> None:
    """The page in Airflow's menu: its own sign-in, no script, nothing kept by a browser."""
    plugins = served.ask("/api/v2/plugins")["plugins"]
    (told,) = (plugin for plugin in plugins if plugin["name"] == "tidemark")
    (view,) = told["external_views"]
    assert (view["name"], view["destination"]) == ("Tidemark", "nav")
    every, headers = served.page(view["href"])
    assert 'href="pipelines/inventory"' in every
    assert 'href="pipelines/shop"' in every
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["Cache-Control"] == "no-store"
    one, _ = served.page("/tidemark/pipelines/inventory")
    for text in ("inventory.products", "cut__inventory", "Changes applied, by cut"):
        assert text in one
    for path, code in (("/tidemark/", 401), ("/tidemark/pipelines/inventory", 401)):
        with pytest.raises(urllib.error.HTTPError) as stranger:
            urllib.request.urlopen(served.url + path, timeout=30)  # noqa: S310  our own server
        assert stranger.value.code == code
    with pytest.raises(urllib.error.HTTPError) as unknown:
        served.page("/tidemark/pipelines/nobody")
    assert unknown.value.code == 404


@pytest.mark.usefixtures("triggered")
def test_refold_by_the_form_is_done_by_the_next_run(site: Site, served: Api) -> None:
    """REFOLD-1: an operator who knows Airflow alone orders it, cancels it and sees it done."""
    place = ("inventory", "products")
    before = site.world.catalog.load_table(place).metadata.table_uuid
    rows = published_rows(site)
    assert served.trigger("refold__inventory")["state"] == "failed", "no table was chosen"
    for cancel in (False, True, False):
        run = served.trigger("refold__inventory", table=".".join(place), cancel=cancel)
        assert run["state"] == "success"
    page, _ = served.page("/tidemark/pipelines/inventory")
    assert "refold inventory.products" in page
    for _ in range(2):  # The second one has nothing to do, or catches up.
        assert served.trigger("cut__inventory")["state"] == "success"
    assert site.world.catalog.load_table(place).metadata.table_uuid != before
    assert published_rows(site) == rows


def test_an_operator_acts_by_the_form(site: Site, served: Api) -> None:
    """POISON-4: and what does not fit is refused in the words of the command."""
    run = served.trigger("action__inventory", action="quarantine list")
    assert run["state"] == "success"
    assert "in quarantine" in served.log(run, "action")
    assert served.events(run) == [], "nothing was published"
    run = served.trigger("action__inventory", action="quarantine drop", reason="old")
    assert run["state"] == "failed"
    logs = site.airflow.home / "logs/dag_id=action__inventory"
    log = logs / f"run_id={run['dag_run_id']}" / "task_id=action/attempt=1.log"
    assert "the action 'quarantine drop' cannot be undone" in log.read_text()


def test_maintenance_by_the_form_leaves_all_rows(site: Site, served: Api) -> None:
    rows = published_rows(site)
    run = served.trigger("maintain__inventory")
    assert run["conf"] == {"tables": None}
    assert run["state"] == "success"
    left = report_of(site, run).left["maintain"]["return_value"]
    assert (left["expired"], left["orphans"], left["skipped"]) == (0, 0, 0), "all of it is young"
    assert published_rows(site) == rows


def published_rows(site: Site) -> dict[str, list[str]]:
    """The rows of every table of the inventory, whichever of its stages is published by now."""
    names = [name.partition(".")[2] for name in INVENTORY.stages[1].tables]
    found = {name: read_rows(site.world, "inventory", name) for name in names}
    assert all(found.values()), "each table has rows from its first stage on"
    return {name: sorted(map(repr, rows or ())) for name, rows in found.items()}


def test_pipeline_that_comes_to_a_running_stack_publishes(site: Site, served: Api) -> None:
    """Once somebody says so: the form had the run held behind its audit."""
    (site.pipelines / "late.yaml").write_text(LATE)
    served.found("cut__late")
    begun = served.begin("cut__late", hold=True)
    asked = paused(site, served, "cut__late", begun)
    assert asked["subject"] == "cut 1 of late is held"
    assert "Tables by outcome of their audit: " in asked["body"]
    assert not site.world.catalog.load_table(("late", "customers")).scan().to_arrow().num_rows
    served.answer("cut__late", begun, "audit", "Publish")
    run = served.ended("cut__late", begun)
    assert run["state"] == "success"
    report = report_of(site, run)
    assert report.tasks == GREEN
    left = report.left["plan"]["plan"]
    assert (left["until"], left["tables"], left["reason"]) == ("", [], "")
    tables = SHOP.stages[-1].tables
    assert site.differences("late", tables) == []
    events = served.events(run)
    names = sorted(f"late.{name.partition('.')[2]}" for name in tables)
    assert [name for name, _ in events] == names, "one of each table, none of what is not there"
    for name, told in events:
        namespace, _, table = name.partition(".")
        head = site.world.catalog.load_table((namespace, table)).current_snapshot()
        assert head is not None
        assert (told["cut"], told["snapshot_id"]) == (1, str(head.snapshot_id))
        assert told["inserted_rows"] == len(tables[f"shop.{table}"].rows)
        assert datetime.fromisoformat(told["complete_until"]).tzinfo == UTC


def test_findings_wait_for_an_answer(site: Site, served: Api) -> None:
    """PUB-7: who knows Airflow alone discards a cut, and publishes another one."""
    suite = NO_CUSTOMERS.replace("shop_customers", "asked_customers")
    (site.suites / "asked_customers.yaml").write_text(suite)
    (site.pipelines / "asked.yaml").write_text(ASKED)
    served.found("cut__asked")
    run = served.begin("cut__asked", until=CAP)
    asked = paused(site, served, "cut__asked", run)
    assert asked["subject"] == "Expectations block cut 1 of asked"
    assert "| `asked.customers` | `expect_table_row_count_to_equal(value=0) on " in asked["body"]
    served.answer("cut__asked", run, "audit", "Discard")
    ended = served.ended("cut__asked", run)
    assert report_of(site, ended).tasks == {
        **GREEN,
        "audit": "failed",
        "publish": "upstream_failed",
    }
    (log,) = (site.airflow.home / "logs").glob("dag_id=cut__asked/*/task_id=audit/attempt=1.log")
    assert "the cut is not published: admin discarded the cut" in log.read_text()
    assert not site.world.catalog.load_table(("asked", "customers")).scan().to_arrow().num_rows
    served.found("action__asked", beside="action__shop")
    again = served.trigger("action__asked", action="accept", reason="it was right after all")
    assert again["state"] == "success"
    assert "cut 1 is published" in served.log(again, "action")
    assert ("asked.customers", 1) in [(name, told["cut"]) for name, told in served.events(again)]
    assert site.world.catalog.load_table(("asked", "customers")).scan().to_arrow().num_rows
    run = served.begin("cut__asked")
    paused(site, served, "cut__asked", run)
    served.answer("cut__asked", run, "audit", "Publish", reason="the shop was closed")
    ended = served.ended("cut__asked", run)
    report = report_of(site, ended)
    assert report.tasks == GREEN
    assert report.left["audit"]["return_value"]["reason"] == "the shop was closed"
    tables = SHOP.stages[-1].tables
    assert site.differences("asked", tables) == []
    system = SystemTables.of(PipelineName("asked"))
    rows = site.world.catalog.load_table(system.verdicts.parts).scan().to_arrow().to_pylist()
    said = {row["observed"] for row in rows if row["said_by"] == "operator"}
    assert said == {"it was right after all", "the shop was closed (admin, in Airflow)"}


def paused(site: Site, served: Api, dag_id: str, run: str) -> dict[str, Any]:
    """What the run asks, once its task has paused for the scheduler, too.

    Airflow fails a task that is answered before that, which takes no person's time.
    """
    asked = served.asked(dag_id, run, "audit")
    seen = (
        "Received executor event with state success for task instance "
        f"TaskInstanceKey(dag_id='{dag_id}', task_id='audit', run_id='{run}'"
    )
    until = time.monotonic() + 60
    while seen not in (site.airflow.home / "scheduler.log").read_text():
        assert time.monotonic() < until, "the scheduler has not seen the task pause"
        time.sleep(0.5)
    time.sleep(1)  # It writes that down before it commits.
    return asked


def backfills(site: Site, logical: str) -> list[RunReport]:
    """Runs of backfills of `cut__shop` whose logical date begins so, oldest first."""
    runs = read_runs(site.airflow, "cut__shop")
    return [run for run in runs if run.run_id.startswith(f"backfill__{logical}")]


def test_published_interval_is_backfilled_without_a_change(site: Site, served: Api) -> None:
    served.backfilled("cut__shop")
    served.backfill("cut__shop", "2026-04-01T08:50:00Z", "2026-04-01T09:00:00Z")
    served.backfilled("cut__shop")
    first, second = backfills(site, "2026-04-01T0")
    assert (first.state, second.state) == ("success", "success")
    assert first.tasks == IDLE
    assert "everything before 2026-04-01T09:00:00+00:00" in first.left["plan"]["plan"]["sentence"]
    assert site.differences("shop", SHOP.stages[-1].tables) == []


def backfill(site: Site, dag_id: str, start: str, end: str, *options: str) -> str:
    """Have intervals run that begin from ``start`` to ``end``; what Airflow says."""
    created = subprocess.run(
        [
            *airflow_command("backfill", "create", "--dag-id", dag_id),
            *("--from-date", start, "--to-date", end, "--max-active-runs", "1", *options),
        ],
        env=site.airflow.environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert created.returncode == 0, created.stdout + created.stderr
    return created.stdout


def test_each_interval_of_a_backfill_is_kept_under_its_tag(site: Site, served: Api) -> None:
    """PUB-14: also one in which nothing changed; none is set again, and nothing is made up."""
    admin = AdminClient({"bootstrap.servers": site.servers})
    for made in admin.create_topics([NewTopic("yearly", 1, 1)]).values():
        made.result(timeout=30)
    (site.pipelines / "yearly.yaml").write_text(YEARLY)
    served.found("cut__yearly")
    served.scheduled("cut__yearly")
    changes = [ticdc_row("INSERT", year, commit_ts(year, 6)) for year in (2020, 2022)]
    producer = Producer({"bootstrap.servers": site.servers})
    for record in (*changes, ticdc_watermark(commit_ts(2022, 7), 0)):
        producer.produce("yearly", record.value, record.key, record.partition)
    assert producer.flush(30) == 0
    years = ("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z")

    told = backfill(site, "cut__yearly", *years, "--dry-run")
    assert "Runs to be attempted" in told
    assert told.count("-01-01") >= len(years)
    assert not backfilled_runs(site)
    backfill(site, "cut__yearly", *years)
    served.backfilled("cut__yearly")
    runs = {run.run_id.split("__")[1][:4]: run for run in backfilled_runs(site)}
    assert [runs[end].tasks for end in ("2021", "2022")] == [GREEN, GREEN]
    assert runs["2022"].left["publish"]["return_value"]["tag"] == "asof_20220101T0000"
    items = site.world.catalog.load_table(("yearly", "items"))
    tags = {name: ref.snapshot_id for name, ref in items.refs().items() if name != "main"}
    assert tags.keys() == {"asof_20210101T0000", "asof_20220101T0000"}
    for snapshot_id in tags.values():
        assert items.scan(snapshot_id=snapshot_id).to_arrow()["id"].to_pylist() == [2020]

    served.backfill("cut__yearly", *years)
    assert len(backfilled_runs(site)) == len(runs), "what ran is left alone"
    served.backfilled("cut__yearly")
    backfill(site, "cut__yearly", years[0], years[0], "--reprocess-behavior", "completed")
    served.backfilled("cut__yearly")
    (again,) = (run for run in backfilled_runs(site) if run.run_id == runs["2021"].run_id)
    assert (again.state, again.tasks) == ("success", IDLE)
    assert "no table gets the tag asof_20210101T0000" in again.left["plan"]["plan"]["sentence"]
    assert items.refresh().refs()["asof_20210101T0000"].snapshot_id == tags["asof_20210101T0000"]


def backfilled_runs(site: Site) -> list[RunReport]:
    runs = read_runs(site.airflow, "cut__yearly")
    return [run for run in runs if run.run_id.startswith("backfill__")]


def commit_ts(year: int, month: int) -> int:
    return commit_ts_of(int(datetime(year, month, 1, tzinfo=UTC).timestamp() * 1000))


def test_untouched_form_backfills(site: Site, served: Api) -> None:
    served.backfilled("cut__shop")
    start = "2026-03-31T08:20:00Z"
    made = served.backfill("cut__shop", start, start, dag_run_conf=served.form("cut__shop"))
    assert made["dag_run_conf"] == UNTOUCHED
    (run,) = backfills(site, "2026-03-31T")
    ended = served.ended("cut__shop", run.run_id)
    assert ended["state"] == "success"
    left = report_of(site, ended).left["plan"]["plan"]
    assert left["until"] == "2026-03-31T08:30:00+00:00", "the end of its interval"
    assert (left["tables"], left["reason"]) == ([], "")


@pytest.mark.usefixtures("served")
def test_nobody_else_can_reach_it() -> None:
    addresses = listening_addresses()
    assert addresses
    assert addresses <= LOOPBACK
