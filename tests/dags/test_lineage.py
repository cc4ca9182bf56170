"""What a cut tells OpenLineage, as its client writes it."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from airflow.providers.openlineage import conf
from openlineage.client.serde import Serde

from tidemark.model.column_rules import ColumnRules
from tidemark.model.lineage import AuditedTable, PublishedCut, PublishedTable, origins_of
from tidemark.model.names import ColumnName, TopicName
from tidemark.model.offsets import OffsetRange, TopicPartition
from tidemark.model.verdict import CheckResult, Severity, Verdict
from tidemark.scheduling.lineage import lineage_of_audit, lineage_of_cut
from tidemark.scheduling.tasks import starts_for_lineage
from tidemark.spec import CatalogSpec, InstallationSpec, KafkaSpec, SparkSpec

ITEMS, ENDS = TopicName("a.shop.items"), TopicName("a.transaction")
BROKER = "kafka://k1:9092"
RULES = ColumnRules(
    excluded=(ColumnName("secret"),),
    renamed=((ColumnName("mail"), ColumnName("mail_hash")),),
    hashed=(ColumnName("mail"),),
    redacted=(ColumnName("phone"),),
)
TYPES = {"id": "long", "mail_hash": "string", "phone": "string", "_tidemark_position": "string"}
TABLE = PublishedTable(
    target="web.items",
    location="s3://lake/web/items",
    snapshot_id=2**62,
    rows=7,
    types=TYPES,
    topic=ITEMS,
    origins=origins_of(TYPES, RULES),
)
INSTALLATION = InstallationSpec(
    kafka=KafkaSpec(bootstrap_servers="k1:9092, k2:9092"),
    catalog=CatalogSpec(name="lake", uri="sqlite:////lake/c.db", warehouse="/lake"),
    spark=SparkSpec(jars="/jars"),
    state="/state",
)


@pytest.mark.parametrize("is_disabled", [False, True])
def test_plan_leaves_offsets_where_somebody_tells_of_them(
    monkeypatch: pytest.MonkeyPatch, *, is_disabled: bool
) -> None:
    monkeypatch.setattr(conf, "is_disabled", lambda: is_disabled)
    spans = (OffsetRange(7, 9), OffsetRange(4, 4))
    unread = {TopicPartition(ITEMS, number): span for number, span in enumerate(spans)}
    assert starts_for_lineage(unread) == ({} if is_disabled else {ITEMS: {"0": 7}})


def test_plan_leaves_no_offsets_without_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, conf.__name__, None)
    assert starts_for_lineage({TopicPartition(ITEMS, 0): OffsetRange(7, 9)}) == {}


def written(dataset: object) -> dict[str, Any]:
    """As events have it."""
    found: dict[str, Any] = json.loads(Serde.to_json(dataset))
    return found


def test_a_cut_reads_offsets_and_writes_a_snapshot() -> None:
    ends = {TopicPartition(ITEMS, 0): 12, TopicPartition(ITEMS, 1): 4, TopicPartition(ENDS, 0): 9}
    read = {
        TopicPartition(ITEMS, 0): OffsetRange(7, 12),
        TopicPartition(ITEMS, 1): OffsetRange(4, 4),
    }
    lineage = lineage_of_cut(PublishedCut(ends, (TABLE,)), read, INSTALLATION)
    items, transactions = map(written, lineage.inputs)
    assert (items["namespace"], items["name"]) == (BROKER, ITEMS)
    assert items["facets"]["version"]["datasetVersion"] == "0:7-12"
    assert items["inputFacets"]["inputStatistics"]["rowCount"] == 5
    assert (transactions["name"], transactions.get("facets", {})) == (ENDS, {})
    (output,) = map(written, lineage.outputs)
    assert (output["namespace"], output["name"]) == ("s3://lake", "web/items")
    assert output["facets"]["version"]["datasetVersion"] == str(2**62)
    (link,) = output["facets"]["symlinks"]["identifiers"]
    assert (link["namespace"], link["name"]) == ("iceberg://lake", "web.items")
    fields = [(each["name"], each["type"]) for each in output["facets"]["schema"]["fields"]]
    assert fields == list(TYPES.items())
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 7


def test_columns_tell_what_they_are_made_of_and_whether_they_are_masked() -> None:
    (output,) = lineage_of_cut(PublishedCut({}, (TABLE,)), {}, INSTALLATION).outputs
    fields = written(output)["facets"]["columnLineage"]["fields"]
    assert {
        name: (source["namespace"], source["name"], source["field"], how["masking"])
        for name, field in fields.items()
        for source in field["inputFields"]
        for how in source["transformations"]
    } == {
        "id": (BROKER, ITEMS, "id", False),
        "mail_hash": (BROKER, ITEMS, "mail", True),
        "phone": (BROKER, ITEMS, "phone", True),
    }


@pytest.mark.parametrize("location", ["/lake/web/items", "file:///lake/web/items"])
def test_columns_of_a_table_whose_records_may_be_anywhere_are_not_guessed(location: str) -> None:
    table = PublishedTable("web.items", location, 1, 0, TYPES)
    (output,) = lineage_of_cut(PublishedCut({}, (table,)), {}, INSTALLATION).outputs
    assert "columnLineage" not in written(output)["facets"]
    assert (output.namespace, output.name) == ("file", "/lake/web/items")


def test_an_audit_tells_each_check_of_the_snapshot_that_it_read() -> None:
    checks = (
        CheckResult("keys are unique", True, Severity.CRITICAL, "as expected"),
        CheckResult("expect_x()", False, Severity.WARNING, "3 rows", of_suite=True),
    )
    table = AuditedTable("web.items", "s3://lake/web/items", Verdict("web.items", 5, "s", checks))
    (dataset,) = map(written, lineage_of_audit((table,), INSTALLATION).inputs)
    assert dataset["facets"]["version"]["datasetVersion"] == "5"
    found = dataset["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert [(e["assertion"], e["success"], e["severity"], e["actual"]) for e in found] == [
        ("keys are unique", True, "error", "as expected"),
        ("expect_x()", False, "warn", "3 rows"),
    ]
