"""Which metrics a pipeline has, by what its status says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.unit.cli.test_lag import STATUS, TABLE
from tidemark.errors import BrokerUnreachableError
from tidemark.lake.catalog import TableId
from tidemark.lake.ledger import Entry
from tidemark.lake.results import FailedAttempt
from tidemark.lake.table_sizes import TableSize
from tidemark.model import metrics
from tidemark.model.event import Reason
from tidemark.model.metrics import CATALOGUE, Metric, MetricType
from tidemark.model.names import AttemptId, TableName
from tidemark.model.quarantine import Kind, RecordPlace
from tidemark.model.result import CutResult, CutStatus
from tidemark.model.verdict import CheckResult, Severity, Verdict
from tidemark.runs.metrics import samples_of
from tidemark.runs.status import NOT_ASKED, Lag, PipelineStatus

NOON_MS = 1_767_268_800_000
CUT = Entry(
    CutResult(
        CutStatus.PUBLISHED,
        AttemptId("a1"),
        cut=7,
        hold_code="TX_INCOMPLETE",
        buckets={"applied": 40, "held": 2},
    ),
    NOON_MS - 60_000,
)
FAILED = CheckResult("keys are unique", False, Severity.CRITICAL, "1 key")
ITEMS = replace(
    TABLE,
    complete_until_ms=NOON_MS - 90_500,
    verdict=Verdict("shop.items", 1, "items", (FAILED, replace(FAILED, success=True))),
)
LOWER = replace(ITEMS, table=TableName("shop", "lower"), target="shop.lower", verdict=None)
WAITING = tuple(
    Kind("shop.items", Reason.KEY_NULL, column, 3, RecordPlace("t", 0, 7)) for column in ("a", "b")
)
RUNNING = replace(
    STATUS,
    published=CUT,
    history=(replace(CUT, at_ms=CUT.at_ms - 2_500),),
    lag=Lag(5, 0, 2),
    tables=(ITEMS, replace(LOWER, why="it has no key")),
    quarantine=WAITING,
    failed=(FailedAttempt(AttemptId("a2"), NOON_MS, "JobDiedError: it died"),),
)
SIZE = TableSize(rows=8, data_files=3, delete_files=1, bytes=4_096)


def values(
    status: PipelineStatus, sizes: Mapping[TableId, TableSize] | None = None
) -> dict[Metric, dict[tuple[str, ...], float]]:
    """Metric -> labels behind the pipeline -> value."""
    found: dict[Metric, dict[tuple[str, ...], float]] = {}
    for sample in samples_of(status, sizes or {}, NOON_MS):
        assert sample.tags["pipeline"] == "shop"
        known = found.setdefault(sample.metric, {})
        assert sample.labels not in known, "two samples of one name and labels"
        known[sample.labels] = sample.value
    return {
        metric: {labels[1:]: value for labels, value in samples.items()}
        for metric, samples in found.items()
    }


def test_names_are_those_of_openmetrics() -> None:
    assert len({metric.name for metric in CATALOGUE}) == len(CATALOGUE)
    for metric in CATALOGUE:
        assert re.fullmatch(r"tidemark_[a-z_]+", metric.name)
        assert metric.name.endswith(metric.unit)
        assert metric.name.endswith("_total") == (metric.type is MetricType.COUNTER)
        assert metric.help.endswith(".")
        assert metric.labels[0] == "pipeline"


def test_every_metric_has_a_value_somewhere() -> None:
    limited = replace(RUNNING, freshness_ms=60_000)
    assert set(values(limited, {TableId("shop", "items"): SIZE})) == set(CATALOGUE)


def test_metrics_say_what_status_says() -> None:
    found = values(RUNNING, {TableId("shop", "items"): SIZE})
    assert found[metrics.PIPELINE_UP] == {(): 1}
    assert found[metrics.CUTS] == {(): 7}
    assert found[metrics.CUT_PUBLISHED] == {(): NOON_MS / 1000 - 60}
    assert found[metrics.CUT_PUBLISH_DELAY] == {(): 2.5}
    assert found[metrics.CUT_CHANGES]["applied",] == 40
    assert found[metrics.CUT_CHANGES]["quarantined",] == 0
    assert found[metrics.RECORDS_WAITING] == {("unread",): 5, ("landed",): 0, ("held",): 2}
    assert {code for (code,), is_on in found[metrics.HOLD].items() if is_on} == {"TX_INCOMPLETE"}
    assert found[metrics.QUARANTINED] == {(): 6}
    assert found[metrics.QUARANTINED_BY_CODE] == {("shop.items", "KEY_NULL"): 6}
    assert found[metrics.FAILED_ATTEMPTS] == {(): 1}
    assert found[metrics.TABLE_FRESHNESS] == {("shop.items",): 90.5, ("shop.lower",): 90.5}
    assert found[metrics.TABLE_COMPLETE]["shop.items",] == NOON_MS / 1000 - 90.5
    assert found[metrics.PIPELINE_FRESHNESS] == {(): 90.5}
    assert found[metrics.TABLE_BLOCKED] == {("shop.items",): 0, ("shop.lower",): 1}
    assert found[metrics.TABLE_FAILED_CHECKS] == {("shop.items",): 1}
    sizes = (metrics.TABLE_ROWS, metrics.TABLE_DATA_FILES, metrics.TABLE_DELETE_FILES)
    assert [found[size]["shop.items",] for size in sizes] == [8, 3, 1]
    assert found[metrics.TABLE_BYTES] == {("shop.items",): 4_096}


def test_limit_stands_beside_the_age() -> None:
    limits = values(replace(RUNNING, freshness_ms=1_800_000))[metrics.TABLE_FRESHNESS_LIMIT]
    assert limits == {("shop.items",): 1_800, ("shop.lower",): 1_800}
    assert metrics.TABLE_FRESHNESS_LIMIT not in values(RUNNING)


def test_an_attempt_that_its_audit_blocks_is_told() -> None:
    blocked = Entry(replace(CUT.result, status=CutStatus.BLOCKED), NOON_MS)
    assert values(replace(RUNNING, attempt=blocked))[metrics.AUDIT_BLOCKED] == {(): 1}
    assert values(RUNNING)[metrics.AUDIT_BLOCKED] == {(): 0}


@pytest.mark.parametrize("why", ["", NOT_ASKED])
def test_a_table_that_a_run_left_is_not_blocked(why: str) -> None:
    status = replace(RUNNING, tables=(replace(ITEMS, why=why),))
    assert values(status)[metrics.TABLE_BLOCKED] == {("shop.items",): 0}


def test_nothing_is_made_up_before_the_first_cut() -> None:
    found = values(replace(STATUS, tables=(replace(TABLE, complete_until_ms=0),)))
    assert found[metrics.CUTS] == {(): 0}
    assert found.keys().isdisjoint({metrics.CUT_PUBLISHED, metrics.HOLD, metrics.TABLE_FRESHNESS})


def test_what_is_known_is_told_while_the_topics_cannot_be_read() -> None:
    down = BrokerUnreachableError("no broker answered", state="as it was", next_step="start it")
    found = values(replace(RUNNING, trouble=down, lag=None))
    assert found[metrics.PIPELINE_UP] == {(): 0}
    assert found[metrics.CUTS] == {(): 7}
    assert metrics.RECORDS_WAITING not in found
    unreadable = replace(RUNNING, trouble=down, is_readable=False)
    assert values(unreadable) == {metrics.PIPELINE_UP: {(): 0}}
