"""Whole cuts on machines that share no disk: what executors write, others must find.

    Airflow, driver (this process)         worker 1: executor      worker 2: executor
    .venv, .state, /tmp                    own /tmp, no .state     own /tmp, no .state
         |  jars, tasks ------ Spark standalone ---|--------------------- |
         |                                         |                      |
         +---- PostgreSQL: catalog (driver alone)  +-- S3: the warehouse -+-- Kafka --

Workers run in mount namespaces of their own (tests/support/spark_cluster.py), so this needs root;
PostgreSQL is the system's (postgres.py), the store is moto (s3.py). `make test-cluster` starts all
of it, runs the two sample pipelines and a few cuts more, and leaves nothing running.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from py4j.protocol import Py4JError

from embedded.compare import compare, read_rows
from embedded.demo import STEPS
from embedded.home import REPOSITORY
from embedded.sample import (
    SourceTable,
    create_topics,
    inventory_stream,
    send,
    shop_stream,
)
from embedded.sample import Stream as Recorded
from tests.cluster.conftest import Deployment
from tests.support.records import TABLE, ticdc_row, ticdc_watermark
from tests.support.shared_lake import SECRETS
from tests.support.stack import Stream
from tidemark.errors import TidemarkError
from tidemark.lake import removed, upkeep
from tidemark.lake.catalog import SystemTables
from tidemark.lake.commits import append_files_on
from tidemark.lake.data_files import Destination
from tidemark.lake.landing import PROPERTIES, SCHEMA
from tidemark.lake.refs import create_branch
from tidemark.lake.table_files import read_files
from tidemark.model.maintenance import DAY_MS
from tidemark.model.names import AttemptId, TableName
from tidemark.model.result import CutResult, CutStatus
from tidemark.runs.changes import changes_between
from tidemark.runs.cut import run_cut
from tidemark.runs.erase import erase
from tidemark.runs.maintain import maintain
from tidemark.runs.refold import begin_refold
from tidemark.runs.retention import keep_changelog
from tidemark.runs.run import CutRequest
from tidemark.spec import load_pipeline

ITEMS = TableName.parse(TABLE)
NOBODY_WITHOUT_A_NAME = """\
suite: items
expectations:
  - expect: expect_column_values_to_not_be_null
    arguments: {column: name}
    severity: critical
    scope: table
  - expect: expect_column_values_to_be_in_set
    arguments: {column: name, value_set: [a, b]}
    severity: critical
    scope: changed
"""


def differences(
    deployment: Deployment, pipeline: str, tables: Mapping[str, SourceTable]
) -> list[str]:
    """What pyiceberg reads of a pipeline's tables, against what their source held."""
    found = []
    for name, table in tables.items():
        rows = read_rows(deployment.world.catalog, pipeline, name.partition(".")[2])
        compared = compare(name, table, rows)
        if not compared.is_equal:
            counts = f"{compared.published_rows} of {compared.source_rows} rows"
            found.append(f"{name}: {counts}, {compared.differences[:3]}")
    return found


def cuts_of(deployment: Deployment, recorded: Recorded) -> dict[str, CutResult]:
    """Send a sample stage by stage and cut each, as the demo does; rows as the source's, always."""
    servers, sent, results = deployment.world.broker.servers, 0, {}
    pipeline = load_pipeline(REPOSITORY / "include" / "pipelines" / f"{recorded.pipeline}.yaml")
    create_topics(servers, recorded)
    for number, step in enumerate(s for s in STEPS if s.pipeline == recorded.pipeline):
        stage = recorded.stage(step.stage)
        send(servers, recorded.records[sent : stage.end])
        sent = stage.end
        request = CutRequest(AttemptId(f"stage_{number}"))
        results[stage.name] = run_cut(pipeline, deployment.world, request)
        assert differences(deployment, pipeline.name, stage.tables) == [], stage.name
    return results


def test_executors_see_nothing_of_the_driver(deployment: Deployment) -> None:
    for worker in deployment.cluster.workers:
        assert worker.sees(worker.home / "spark" / "jars")
        assert not worker.sees(REPOSITORY / "include")
        assert not worker.sees(deployment.cluster.folder)


def test_no_secret_is_an_argument(deployment: Deployment) -> None:
    """Arguments are there for everybody who may list processes."""
    told = [
        process.info["name"]
        for process in psutil.process_iter(["name", "cmdline"])
        if any(secret in " ".join(process.info["cmdline"] or ()) for secret in SECRETS)
    ]
    assert told == []


def test_inventory_is_published_as_its_source_holds_it(deployment: Deployment) -> None:
    results = cuts_of(deployment, inventory_stream())
    assert {result.status for result in results.values()} == {CutStatus.PUBLISHED}


def test_shop_with_its_truncate_and_its_new_column_is_as_its_source_holds_it(
    deployment: Deployment,
) -> None:
    results = cuts_of(deployment, shop_stream())
    orders = {t.target: t for t in results["truncated-and-half-refilled"].tables}["shop.orders"]
    assert (orders.truncated, orders.inserted) == (27, 8)
    columns = {
        name: deployment.world.catalog.load_table(("shop", name)).schema().column_names
        for name in ("customers", "orders")
    }
    assert set(shop_stream().stage("end").tables["shop.customers"].columns) <= set(
        columns["customers"]
    )


def test_what_a_task_gets_of_a_table_is_enough_to_write_to_the_store(
    deployment: Deployment,
) -> None:
    """Tasks in Python land where Spark is local, whatever store the warehouse is in."""
    catalog, rows = deployment.world.catalog, SCHEMA.empty_table()
    catalog.create_namespace_if_not_exists("tasks")
    table = catalog.create_table("tasks.changelog", SCHEMA, properties=PROPERTIES)
    table.append(rows)
    create_branch(table, "attempt", table.metadata.current_snapshot_id or 0)
    sent = pickle.dumps(Destination.of(table))
    landed = pa.Table.from_pylist([{"landing": 1, "offset": n, "position": f"{n}"} for n in (3, 4)])
    file = pickle.loads(sent).write(landed.to_batches())  # noqa: S301  our own
    append_files_on(table, "attempt", [file], {})
    staged = table.refs()["attempt"].snapshot_id
    read = table.scan(snapshot_id=staged, row_filter="position = '4'").to_arrow().to_pylist()
    assert [(row["landing"], row["offset"], row["value"]) for row in read] == [(1, 4, None)]
    assert table.scan().to_arrow().num_rows == 0


def test_a_blocked_audit_leaves_main_and_the_next_cut_publishes(
    deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "items.yaml").write_text(NOBODY_WITHOUT_A_NAME)
    monkeypatch.setenv("TIDEMARK_EXPECTATIONS", str(tmp_path))
    stream = Stream(deployment.world, table={"expectations": "items"}).create()
    stream.send([ticdc_row("INSERT", 1, 100, name="a"), ticdc_watermark(200)])
    assert stream.cut().status is CutStatus.PUBLISHED
    stream.send([ticdc_row("INSERT", 2, 210, name="c"), ticdc_watermark(300)])
    assert stream.cut().status is CutStatus.BLOCKED
    assert stream.rows() == {1: "a"}
    stream.send([ticdc_row("UPDATE", 2, 310, name="b"), ticdc_watermark(400)])
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == {1: "a", 2: "b"}


def test_a_worker_that_dies_in_the_midst_of_the_merge_costs_no_row(deployment: Deployment) -> None:
    """It dies while it writes a file of the merge: this cut is right, or it fails and the next."""
    stream = Stream(deployment.world).create()
    before = dict.fromkeys(range(40), "a")
    stream.send(ticdc_row("INSERT", n, 100 + n, name=name) for n, name in before.items())
    stream.send([ticdc_watermark(200)])
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == before
    after = before | dict.fromkeys(range(20, 60), "b")
    changes = [ticdc_row("UPDATE", n, 210 + n, name="b") for n in range(20, 60)]
    stream.send([*changes, ticdc_watermark(300)])
    deployment.store.keep_waiting(rf"/{stream.name}/items-[0-9a-f]+/data/")
    with ThreadPoolExecutor(1) as pool:
        cut = pool.submit(stream.cut)
        try:
            deployment.cluster.replace(deployment.cluster.worker_of(deployment.store.await_held()))
            assert stream.rows() == before
        finally:
            deployment.store.let_go()
        try:
            died = cut.result()
        except (TidemarkError, Py4JError):
            assert stream.rows() == before
            died = stream.cut()
    assert died.status is CutStatus.PUBLISHED
    assert stream.rows() == after


def test_maintenance_leaves_every_row_in_the_store(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PUB-12: files are listed, rewritten and removed where executors and driver share no disk."""
    for name, value in {"MAX_SNAPSHOTS": 2, "SMALL_FILES": 2, "MAX_SNAPSHOT_AGE_MS": 0}.items():
        monkeypatch.setattr(upkeep, name, value)
    stream = Stream(deployment.world).create()
    rows: dict[int, str] = {}
    for number in range(1, 8):
        changed = dict.fromkeys(range(number, 10 * number), f"in {number}")
        at = 1000 * number
        changes = [
            ticdc_row("UPDATE" if key in rows else "INSERT", key, at + key, name=name)
            for key, name in changed.items()
        ]
        rows |= changed
        stream.send([*changes, ticdc_watermark(at + 999)])
        assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == rows
    before = read_files(deployment.world.catalog.load_table((stream.name, "items")))
    done = {one.table: one for one in maintain(stream.pipeline, deployment.world)}
    assert not any(one.skipped for one in done.values())
    assert not any(one.orphans for one in done.values()), "all files are younger"
    assert done[f"{stream.name}.items"].rewritten > 0
    after = read_files(deployment.world.catalog.load_table((stream.name, "items")))
    assert sum(map(len, after.files.values())) < sum(map(len, before.files.values()))
    assert stream.rows() == rows
    ledger = SystemTables.of(stream.pipeline.name).ledger
    assert len(deployment.world.catalog.load_table(ledger.parts).snapshots()) < 7
    stream.send([ticdc_row("DELETE", 1, 9000), ticdc_watermark(9999)])
    assert stream.cut().status is CutStatus.PUBLISHED
    assert stream.rows() == {key: name for key, name in rows.items() if key != 1}


def test_a_refold_and_the_feed_need_the_store_alone(deployment: Deployment) -> None:
    """REFOLD-1, FEED-1: chosen files are read by executors, a target takes another one's place."""
    world, stream = deployment.world, Stream(deployment.world).create()
    for at, changes in ((1000, ("INSERT", 1, "a")), (2000, ("INSERT", 2, "b"))):
        op, key, name = changes
        stream.send([ticdc_row(op, key, at, name=name), ticdc_watermark(at + 999)])
        stream.cut()
    stream.send([ticdc_row("UPDATE", 1, 3000, name="c"), ticdc_watermark(3999)])
    newest = stream.cut().cut
    with changes_between(stream.pipeline, world, ITEMS, 1, newest) as rows:
        told = sorted((row["_change_type"], row["id"], row["name"]) for row in rows.collect())
    assert told == [("INSERT", 2, "b"), ("UPDATE_AFTER", 1, "c"), ("UPDATE_BEFORE", 1, "a")]
    begin_refold(stream.pipeline, world, ITEMS)
    (table,) = stream.cut().tables
    assert (table.inserted, table.outcome) == (2, "pass")
    assert stream.rows() == {1: "c", 2: "b"}


def test_bases_and_erased_records_need_the_store_alone(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KEEP-1, ERASE-1: executors delete and rewrite records, and copy a base into a new target."""
    monkeypatch.setattr(removed, "MARGIN_MS", -DAY_MS)
    world, options = deployment.world, {"changelog": {"keep": "7d"}}
    stream = Stream(world, options=options).create()
    inserts = [ticdc_row("INSERT", key, 1000 + key, name=f"in {key}") for key in range(20)]
    stream.send([*inserts, ticdc_watermark(1999)])
    stream.cut()
    now_ms = int(time.time() * 1000)
    assert keep_changelog(stream.pipeline, world, now_ms) == 0
    assert keep_changelog(stream.pipeline, world, now_ms + 8 * DAY_MS) == 20
    stream.send([ticdc_row("DELETE", 3, 2000), ticdc_row("UPDATE", 4, 2001, name="b")])
    stream.send([ticdc_watermark(2999)])
    stream.cut()
    begin_refold(stream.pipeline, world, ITEMS)
    (table,) = stream.cut().tables
    assert (table.inserted, table.outcome) == (0, "pass")
    rows = {key: f"in {key}" for key in range(20) if key != 3} | {4: "b"}
    assert stream.rows() == rows
    done = erase(stream.pipeline, world, ITEMS, [{"id": "3"}, {"id": "4"}], "asked for")
    assert (done.records, done.is_rewritten) == (1, True)
    assert stream.rows() == rows
