"""What a wrong pipeline file is answered with: the whole message, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pipeline_file import DEBEZIUM, SHOP, faults_of, swapped
from tidemark.errors import SpecError
from tidemark.model.cut import GateMode
from tidemark.model.modes import ConnectorModes, DecimalMode
from tidemark.model.names import TableName
from tidemark.spec import Consistency, OtherTables, TruncatePolicy, load_pipeline


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param(
            swapped("    expectations: orders\n", ""),
            "shop.yaml:11 -> tables[0].expectations: got nothing; expected this key: the suite "
            "that audits the table (a file in the expectations folder), or none",
            id="expectations are never left out by accident",
        ),
        pytest.param(
            SHOP + "limit: {}\n",
            "shop.yaml:13 -> limit: got an unknown key; expected one of name, description, owner, "
            "schedule, start-date, freshness, source, target-namespace, other-tables, on-drop, "
            "on-stop, tables, publish, snapshots, limits, changelog, maintenance, spark; did you "
            "mean 'limits'",
            id="unknown key",
        ),
        pytest.param(
            swapped("  - source:", "  - start_at: 1\n    source:"),
            "shop.yaml:11 -> tables[0].start_at: got an unknown key; expected one of source, "
            "was, target, key, columns, mode, target-columns, partition-by, sort-by, truncate, "
            "column-changes, expectations",
            id="unknown key without a near one",
        ),
        pytest.param(
            SHOP + "limits: {max_records: 5}\n",
            "shop.yaml:13 -> limits.max_records: got an unknown key; expected one of max-records, "
            "max-unreadable, max-quarantined, max-rewrite-rows, task-timeout, stalled-after, "
            "when-stalled; did you mean 'max-records'",
            id="keys are written in kebab-case",
        ),
        pytest.param(
            swapped("source: shop.orders", "source: shop._orders_new"),
            "shop.yaml:11 -> tables[0].source: got 'shop._orders_new'; expected a table whose name "
            "source.shadow-tables does not mean",
            id="shadow tables are not declared",
        ),
        pytest.param(
            swapped("source: shop.orders", "source: shop.orders\n    was: shop.sales"),
            "shop.yaml:12 -> tables[0].was: got 'shop.sales'; expected target beside it: the one "
            "that the table has",
            id="a renamed table keeps its target",
        ),
        pytest.param(
            swapped("source: shop.orders", "source: shop.a\n    was: shop.b\n    target: a")
            + "  - {source: shop.b, expectations: none}\n",
            "shop.yaml:12 -> tables[0].was: got 'shop.b'; expected a name that no other table has "
            "here, but for one with a was: of its own",
            id="a former name tells one table",
        ),
        pytest.param(
            swapped("expectations: orders", "expectations: order"),
            "shop.yaml:12 -> tables[0].expectations: got 'order'; expected the name of a suite in "
            "the expectations folder, or none; did you mean 'orders'",
            id="suite that does not exist",
        ),
        pytest.param(
            swapped("name: shop", "name: shopp"),
            "shop.yaml:1 -> name: got 'shopp'; expected 'shop', the name of the file",
            id="named unlike its file",
        ),
        pytest.param(
            swapped("owner: data-platform", "owner: ' '"),
            "shop.yaml:3 -> owner: got ' '; expected text that is not blank",
            id="blank text",
        ),
        pytest.param(
            swapped("owner: data-platform", "owner: 7"),
            "shop.yaml:3 -> owner: got 7; expected text",
            id="number for text",
        ),
        pytest.param(
            swapped("source: shop.orders", "source: orders"),
            "shop.yaml:11 -> tables[0].source: got 'orders'; expected database and table, such as "
            "shop.orders",
            id="table without database",
        ),
        pytest.param(
            SHOP + "    target: _tidemark_orders\n",
            "shop.yaml:13 -> tables[0].target: got '_tidemark_orders'; expected another name: the "
            "prefix _tidemark_ is reserved for Tidemark's own columns",
            id="reserved target",
        ),
        pytest.param(
            SHOP + "    target: 2026.orders\n",
            "shop.yaml:13 -> tables[0].target: got '2026.orders'; expected one name without dots",
            id="target with a dot",
        ),
        pytest.param(
            SHOP + "target-namespace: tidemark_shop\n",
            "shop.yaml:13 -> target-namespace: got 'tidemark_shop'; expected another namespace: "
            "tidemark_* holds Tidemark's own tables",
            id="reserved namespace",
        ),
        pytest.param(
            SHOP + "  - source: shop.orders\n    target: copy\n    expectations: none\n",
            "shop.yaml:13 -> tables[1].source: got 'shop.orders'; expected each source table once",
            id="table twice",
        ),
        pytest.param(
            SHOP + "  - source: old.Orders\n    expectations: none\n",
            "shop.yaml:13 -> tables[1].target: got 'Orders'; expected a target of its own: "
            "shop.orders is folded into it",
            id="two tables with one target",
        ),
        pytest.param(
            SHOP + "    key: [id, line, id]\n",
            "shop.yaml:13 -> tables[0].key[2]: got 'id'; expected each one once",
            id="key column twice",
        ),
        pytest.param(
            SHOP + "    partition-by: [day(at), decade(at)]\n",
            "shop.yaml:13 -> tables[0].partition-by[1]: got 'decade(at)'; expected a column, or "
            "year(c), month(c), day(c), hour(c), bucket(16, c), truncate(10, c)",
            id="unknown transform",
        ),
        pytest.param(
            SHOP + "    partition-by: ['bucket(8, id)', day(at), 'bucket(8,id)']\n",
            "shop.yaml:13 -> tables[0].partition-by[2]: got 'bucket(8, id)'; expected each one "
            "once",
            id="partition field twice",
        ),
        pytest.param(
            SHOP + "    columns: {weight: }\n",
            "shop.yaml:13 -> tables[0].columns.weight: got null; expected text",
            id="column without a type",
        ),
        pytest.param(
            SHOP.partition("tables:")[0],
            "shop.yaml:1 -> tables: got no tables; expected at least one table, or "
            "other-tables: follow",
            id="nothing to fold",
        ),
        pytest.param(
            SHOP + "limits: {max-records: 0}\n",
            "shop.yaml:13 -> limits.max-records: got 0; expected a number above 0",
            id="number out of its range",
        ),
        pytest.param(
            SHOP + "limits: {max-records: '10'}\n",
            "shop.yaml:13 -> limits.max-records: got '10'; expected a whole number",
            id="text for a number",
        ),
        pytest.param(
            SHOP + "start-date: 2026-02-30\n",
            "shop.yaml:13 -> start-date: got '2026-02-30'; expected a date such as 2026-01-01",
            id="day that does not exist",
        ),
        pytest.param(
            SHOP + "spark:\n  conf: {executor.cores: 2}\n",
            "shop.yaml:14 -> spark.conf['executor.cores']: got 'executor.cores'; expected a "
            "setting that begins with spark.",
            id="setting of something else",
        ),
        pytest.param(
            SHOP + "spark:\n  conf: {spark.hadoop.fs.s3a.secret.key: hunter2}\n",
            "shop.yaml:14 -> spark.conf['spark.hadoop.fs.s3a.secret.key']: got a secret; expected "
            "secrets in the installation file, by reference",
            id="secret in a pipeline file",
        ),
        pytest.param(
            swapped('"*/10 * * * *"', "hourly"),
            "shop.yaml:4 -> schedule: got 'hourly'; expected five cron fields, such as "
            "'*/10 * * * *', or null",
            id="schedule that is no cron",
        ),
        pytest.param(
            swapped('"*/10 * * * *"', "0 24 * * *"),
            "shop.yaml:4 -> schedule: got '0 24 * * *'; expected an hour from 0 to 23 where it "
            "says '24'",
            id="hour that does not exist",
        ),
        pytest.param(
            swapped("source:\n", "freshness: 30 s\nsource:\n"),
            "shop.yaml:5 -> freshness: got '30 s'; expected a number of minutes, hours or days, "
            "such as 30 min, 2 h or 1 d",
            id="limit in a unit that is none",
        ),
        pytest.param(
            "- shop\n",
            "shop.yaml:1 -> (file): got a list; expected keys with values",
            id="a list for a pipeline",
        ),
    ],
)
def test_fault(tmp_path: Path, text: str, fault: str) -> None:
    assert faults_of(tmp_path, text) == [fault]


def test_all_faults_of_a_file_come_at_once_in_the_order_of_lines(tmp_path: Path) -> None:
    text = swapped("gate: watermark", "gate: off").replace("owner: data-platform\n", "")
    faults = faults_of(tmp_path, text + "    truncat: apply\nname: again\n")
    assert [fault.partition(":")[2].partition(":")[0] for fault in faults] == [
        "1 -> owner",
        "6 -> source.gate",
        "12 -> tables[0].truncat",
        "13 -> name",
    ]


def test_error_says_how_tables_stand_and_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    with pytest.raises(SpecError) as caught:
        load_pipeline(file)
    assert str(caught.value) == (
        f"{file}:1 -> (file): got No such file or directory; expected a readable UTF-8 file\n"
        "  state: nothing was written; every table is as it was\n"
        "  next:  fix the file, then check it: tidemark validate"
    )


def test_defaults(tmp_path: Path) -> None:
    (tmp_path / "orders.yaml").touch()
    file = tmp_path / "shop.yaml"
    file.write_text(SHOP)
    pipeline = load_pipeline(file, suites=tmp_path)
    table = pipeline.tables[0]
    assert pipeline.target_namespace == "shop"
    assert pipeline.other_tables is OtherTables.IGNORE
    assert pipeline.publish.consistency is Consistency.PIPELINE
    assert pipeline.limits.max_records == 1_000_000
    assert pipeline.source.gate is GateMode.WATERMARK
    assert pipeline.source.zone is None
    assert pipeline.source.modes.connector == ConnectorModes()
    assert (table.source, table.target) == (TableName("shop", "orders"), "orders")
    assert (table.suite, table.truncate) == ("orders", TruncatePolicy.APPLY)


def test_a_key_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(
        swapped("expectations: orders", "expectations: none") + "limits: {max-set-aside: 5}\n"
    )
    assert load_pipeline(file).limits.max_quarantined == 5


def test_what_is_declared_is_read(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(
        swapped("expectations: orders", "expectations: none", DEBEZIUM).replace(
            "  topics:", "  modes: {decimal: string, binary: hex}\n  topics:"
        )
        + "    columns: {weight: float}\n    key: [id]\n    truncate: block\n"
        + "freshness: 2 h\n"
        + "spark:\n  conf: {spark.sql.shuffle.partitions: 4, spark.speculation: true}\n"
    )
    pipeline = load_pipeline(file, suites=tmp_path)
    table = pipeline.tables[0]
    assert pipeline.freshness_ms == 7_200_000
    assert pipeline.source.modes.connector.decimal is DecimalMode.STRING
    assert pipeline.spark.conf == {"spark.sql.shuffle.partitions": "4", "spark.speculation": "true"}
    assert (table.suite, table.key, table.columns) == (None, ("id",), {"weight": "float"})
