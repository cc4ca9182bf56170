"""What an examination makes of what it has read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.support.connect import recorded_connect
from tests.support.published import pipeline
from tests.unit.cli.test_lag import STATUS, TABLE
from tidemark.errors import CatalogUnreachableError
from tidemark.lake.marks import PUBLISHED
from tidemark.lake.results import FailedAttempt
from tidemark.model.finding import Finding, Grade
from tidemark.model.names import AttemptId, TableName, TopicName
from tidemark.model.stored_state import VERSION
from tidemark.runs.doctor.connectors import captured_findings, connect_findings, state_findings
from tidemark.runs.doctor.examine import _each_once
from tidemark.runs.doctor.runs import run_findings
from tidemark.runs.doctor.stored import old_versions
from tidemark.runs.doctor.topics import DAY_MS, retention_findings, rights_findings
from tidemark.runs.doctor.versions import pyspark_findings, runtime_findings
from tidemark.runs.status import MOVED_SEPARATELY
from tidemark.spec.connect import ConnectSpec
from tidemark.spec.connector import Connector
from tidemark.topics.connect import TaskState

HOUR_MS = 3_600_000
PIPELINE = pipeline(
    source={
        "format": "debezium-mysql",
        "gate": "none",
        "topics": {"data": [r"^mysql_plain_1\..*\..*"]},
    }
)
NOW_MS = 1_767_225_600_000
WEEK = {"cleanup.policy": "delete", "retention.ms": str(7 * DAY_MS)}


def retention(
    settings: dict[str, str], *, pause_ms: int = HOUR_MS, unread_for_ms: int | None = None
) -> list[tuple[Grade, str]]:
    oldest_ms = None if unread_for_ms is None else NOW_MS - unread_for_ms
    found = retention_findings(TopicName("shop"), settings, pause_ms, oldest_ms, NOW_MS)
    return [(finding.grade, finding.what.partition("=")[0]) for finding in found]


SHORT, BYTES, UNREAD = "retention.ms", "retention.bytes", "the oldest unread record"


@pytest.mark.parametrize(
    ("settings", "pause_ms", "expected"),
    [
        (WEEK, HOUR_MS, []),
        (WEEK, 3 * DAY_MS, [(Grade.WARNING, SHORT)]),
        (WEEK, 8 * DAY_MS, [(Grade.ERROR, SHORT)]),
        (WEEK | {"retention.ms": "7200000"}, HOUR_MS, [(Grade.WARNING, SHORT)]),
        (WEEK | {"retention.ms": "7200000"}, 0, [(Grade.WARNING, SHORT)]),
        (WEEK | {"retention.ms": "-1"}, 8 * DAY_MS, []),
        (WEEK | {"cleanup.policy": "compact"}, 8 * DAY_MS, []),
        (WEEK | {"cleanup.policy": "compact,delete"}, 8 * DAY_MS, [(Grade.ERROR, SHORT)]),
        (
            {"cleanup.policy": "compact", "delete.retention.ms": "7200000"},
            *(HOUR_MS, [(Grade.WARNING, "delete.retention.ms")]),
        ),
        (WEEK | {"delete.retention.ms": "7200000"}, HOUR_MS, []),
        (WEEK | {"retention.bytes": "1000000"}, HOUR_MS, [(Grade.WARNING, BYTES)]),
        ({}, 8 * DAY_MS, []),
    ],
)
def test_retention_leaves_time_for_runs_that_fail(
    settings: dict[str, str], pause_ms: int, expected: list[tuple[Grade, str]]
) -> None:
    """TOP-2: what retention deletes before it is landed is lost."""
    assert retention(settings, pause_ms=pause_ms) == expected


@pytest.mark.parametrize(
    ("unread_for_ms", "is_late"),
    [(HOUR_MS, False), (5 * DAY_MS, False), (6 * DAY_MS + HOUR_MS, True), (8 * DAY_MS, True)],
)
def test_unread_records_that_are_deleted_soon_are_an_error(
    unread_for_ms: int, is_late: bool
) -> None:
    found = retention(WEEK, unread_for_ms=unread_for_ms)
    assert [what.startswith(UNREAD) for _, what in found] == [True] * is_late


def test_rights_that_are_missing_are_named() -> None:
    rights = {TopicName("a"): {"READ", "DESCRIBE"}, TopicName("b"): {"DESCRIBE"}}
    (finding,) = rights_findings(rights, "READ", "no run")
    assert (finding.grade, finding.what) == (
        Grade.ERROR,
        "this client has no right to READ topic b",
    )
    assert list(rights_findings(rights, "DESCRIBE", "no run")) == []


def test_runs_that_failed_and_tables_that_stopped_are_errors() -> None:
    error = "StorageError: the disk is full\n  state: nothing was written\n  next:  make room"
    status = replace(
        STATUS,
        failed=(FailedAttempt(AttemptId("a"), NOW_MS, error),),
        tables=(replace(TABLE, why="its column n is gone"),),
        stalled_ms=HOUR_MS,
        warnings=("seen in part", MOVED_SEPARATELY),
        statements="dropped columns are not seen: name the topic",
    )
    found = list(run_findings(status, NOW_MS))
    assert [finding.grade for finding in found] == [
        *(Grade.ERROR, Grade.ERROR),
        *(Grade.WARNING, Grade.WARNING, Grade.NOTE),
    ]
    assert found[0].what.endswith("StorageError: the disk is full")
    assert found[0].fix == "make room"
    assert found[1].what == "table shop.items is stopped: its column n is gone"
    assert (found[4].what, found[4].fix) == ("dropped columns are not seen", "name the topic")
    assert list(run_findings(STATUS, NOW_MS)) == []


def test_trouble_is_told_once() -> None:
    trouble = CatalogUnreachableError("it is away", state="unchanged", next_step="look")
    (finding,) = run_findings(replace(STATUS, trouble=trouble), NOW_MS)
    assert (finding.grade, finding.fix) == (Grade.ERROR, "look")
    other = replace(finding, about="topics")
    assert list(_each_once([finding, other, finding])) == [finding, other]


def test_documents_of_earlier_versions_are_counted_at_any_depth() -> None:
    old = json.dumps({"version": 3, "tables": [{"version": 4}, {"n": 1}]})
    published = json.dumps({"version": VERSION, "marks": {"tidemark.progress": old}})
    properties = {PUBLISHED: published, "tidemark.cut": "7", "owner": '{"version": 1}'}
    assert old_versions(properties) == {3: 1, 4: 1}
    assert old_versions({PUBLISHED: json.dumps({"version": VERSION})}) == {}


@pytest.mark.parametrize(
    ("spark", "client", "is_good"),
    [("4.1.3", "4.1.3", True), ("4.1.3", "", True), ("4.1.3", "4.1.1", False)],
)
def test_both_packages_of_pyspark_are_one_version(spark: str, client: str, is_good: bool) -> None:
    assert (list(pyspark_findings(spark, client)) == []) is is_good


def test_iceberg_is_for_this_spark() -> None:
    jars = ["iceberg-spark-runtime-4.1_2.13-1.11.0.jar", "kafka-clients-3.9.1.jar"]
    assert [finding.grade for finding in runtime_findings("4.1.3", jars)] == [Grade.GOOD]
    assert [finding.grade for finding in runtime_findings("4.10.0", jars)] == [Grade.ERROR]


def test_tables_that_a_connector_leaves_out_are_named() -> None:
    connector = Connector("c", {"table.include.list": r"shop\.items"})
    items, others = TableName("shop", "items"), TableName("shop", "others")
    (finding,) = captured_findings(connector, [items, others])
    assert finding.what == "its lists of tables leave out shop.others"
    assert list(captured_findings(connector, [items])) == []


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("RUNNING", "RUNNING"), [Grade.GOOD]),
        (("RUNNING", "FAILED"), [Grade.ERROR]),
        (("PAUSED", "PAUSED"), [Grade.ERROR, Grade.ERROR]),
        (("RUNNING",), [Grade.ERROR]),
        ((), [Grade.WARNING]),
    ],
)
def test_a_connector_and_its_tasks_run(states: tuple[str, ...], expected: list[Grade]) -> None:
    told = [TaskState(f"task {number}", state) for number, state in enumerate(states)]
    found = state_findings(Connector("inventory", {}), told)
    assert [finding.grade for finding in found] == expected


@pytest.mark.parametrize(
    ("asked", "status", "body", "is_told"),
    [
        ("bare/config", 404, {"error_code": 404}, False),
        ("bare/config", 500, {"error_code": 500}, True),
        ("bare/config", 200, ["of another form"], True),
        ("mysql_plain_1/status", 404, {"error_code": 404}, True),
        ("mysql_plain_1/status", 500, {"error_code": 500}, True),
        ("mysql_plain_1/status", 200, {"connector": {}}, True),
    ],
)
def test_trouble_of_one_connector_hides_nothing_else(
    asked: str, status: int, body: object, is_told: bool
) -> None:
    name = asked.partition("/")[0]
    with recorded_connect() as connect:
        spec = ConnectSpec(connect.url)
        before = list(connect_findings([PIPELINE], spec))
        connect.answers[f"/connectors/{asked}"] = {"status": status, "body": body}
        after = list(connect_findings([PIPELINE], spec))
    runs = Finding.good("connector mysql_plain_1", "it runs, and so do its tasks")
    assert runs in before
    assert [finding for finding in before if finding not in {*after, runs}] == []
    added = [(finding.about, finding.grade) for finding in after if finding not in before]
    assert added == [(f"connector {name}", Grade.WARNING)] * is_told
