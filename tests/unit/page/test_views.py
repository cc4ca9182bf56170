"""What the page says of a pipeline, and that what comes from a source is escaped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.cli.test_lag import STATUS, TABLE
from tidemark.errors import BrokerUnreachableError
from tidemark.lake.ledger import Entry
from tidemark.lake.results import FailedAttempt
from tidemark.model.event import Reason
from tidemark.model.names import AttemptId, PipelineName, TableName
from tidemark.model.quarantine import Kind, RecordPlace
from tidemark.model.result import CutResult, CutStatus
from tidemark.model.verdict import CheckResult, Severity, Verdict
from tidemark.page.data_docs import INDEX
from tidemark.page.render import render
from tidemark.page.views import Light, detail, light_of, overview
from tidemark.quality.pages import page_of
from tidemark.runs.status import NOT_ASKED, Lag, PipelineStatus
from tidemark.scheduling.forms import forms_of
from tidemark.spec import PipelineSpec

CUTS = tuple(
    Entry(
        CutResult(
            CutStatus.PUBLISHED,
            AttemptId(f"a{number}"),
            cut=number,
            buckets={"applied": applied, "quarantined": aside, "held": 0},
        ),
        at_ms=1_000 * number,
    )
    for number, applied, aside in ((3, 40, 0), (2, 10, 2), (1, 1, 0))
)
FORMS = forms_of(
    PipelineSpec.model_validate(
        {
            "name": "shop",
            "description": "a test",
            "owner": "tests",
            "schedule": None,
            "source": {"format": "debezium-mysql", "gate": "none", "topics": {"data": ["t"]}},
            "other-tables": "follow",
        }
    )
)
GOOD = replace(STATUS, published=CUTS[0], work="nothing is unread", history=CUTS)
DOWN = BrokerUnreachableError("no broker answered", state="as it was", next_step="start it")
DIED = FailedAttempt(AttemptId("a4"), 9, "JobDiedError: it died\n  state: as it was")
AUDITED = Entry(replace(CUTS[0].result, cut=4, status=CutStatus.BLOCKED), 1)
NO_KEY = replace(TABLE, why="it has no key\n  state: it waits\n  next:  declare key:")
SNAPSHOT = {TableName("shop", "items"): "is awaited"}


@pytest.mark.parametrize(
    ("status", "light", "sentence"),
    [
        (GOOD, Light.GOOD, "nothing is unread"),
        (replace(GOOD, tables=(replace(TABLE, why=NOT_ASKED),)), Light.GOOD, "nothing is unread"),
        (replace(GOOD, published=None), Light.WAITS, "nothing is published yet"),
        (replace(GOOD, snapshots=SNAPSHOT), Light.WAITS, "a snapshot of shop.items is awaited"),
        (
            replace(GOOD, stalled_ms=7_200_000, hold="a watermark lags"),
            Light.WAITS,
            "nothing was published for 2 h: a watermark lags",
        ),
        (
            replace(GOOD, lag=Lag(1, 0, 0), freshness_ms=60_000, stalled_ms=7_200_000),
            Light.WAITS,
            "1 table older than 1 min: shop.items since 1970-01-01 00:01:01 UTC",
        ),
        (
            replace(GOOD, tables=(NO_KEY,), snapshots=SNAPSHOT),
            Light.BLOCKED,
            "1 table blocked: shop.items: it has no key",
        ),
        (replace(GOOD, attempt=AUDITED), Light.BLOCKED, "cut 4 is blocked by its audit"),
        (
            replace(GOOD, failed=(DIED,), attempt=AUDITED),
            Light.FAILS,
            "1 attempt failed since the newest cut: JobDiedError: it died",
        ),
        (replace(GOOD, trouble=DOWN, failed=(DIED,)), Light.FAILS, "no broker answered"),
    ],
)
def test_the_worst_is_told_first(status: PipelineStatus, light: Light, sentence: str) -> None:
    found, said = light_of(status)
    assert found is light
    assert said.startswith(sentence)


def test_who_needs_somebody_comes_first() -> None:
    down = replace(GOOD, pipeline=PipelineName("zoo"), trouble=DOWN)
    waits = replace(GOOD, pipeline=PipelineName("a"), published=None)
    assert [line.name for line in overview([GOOD, waits, down])] == ["zoo", "a", "shop"]


def test_bars_are_oldest_first_and_as_high_as_their_cut_is_large() -> None:
    bars = detail(GOOD, (), {}).bars
    assert [(bar.cut, bar.height, bar.has_quarantined) for bar in bars] == [
        *((1, 2, False), (2, 15, True), (3, 60, False))
    ]
    assert bars[1].title == "cut 2: 10 applied, 2 quarantined"
    empty = replace(CUTS[0], result=replace(CUTS[0].result, buckets={"applied": 0}))
    assert [bar.height for bar in detail(replace(GOOD, history=(empty,)), (), {}).bars] == [0]


def test_what_sources_and_errors_say_is_escaped() -> None:
    """POISON-6: names, messages and observations; the page runs no script of anybody."""
    evil = "<img src=x onerror=alert(1)>"
    check = CheckResult(evil, False, Severity.CRITICAL, evil, of_suite=True)
    table = replace(
        TABLE,
        table=TableName("shop", evil),
        target=f"shop.{evil}",
        why=evil,
        verdict=Verdict(evil, 1, "none", (check,), accepted=evil, audit="tidemark_3_a"),
        refold=evil,
    )
    waiting = Kind(evil, Reason.KEY_NULL, evil, 1_234, RecordPlace(evil, 0, 7))
    status = replace(GOOD, tables=(table,), hold=evil, work=evil, warnings=(evil,), next_step=evil)
    status = replace(status, quarantine=(waiting,))
    docs = {page_of("tidemark_3_a", evil), INDEX}
    one = render("pipeline.html", pipeline=detail(status, docs, FORMS))
    every = render("pipelines.html", pipelines=overview([status]))
    for page in (one, every):
        assert "<img" not in page
        assert "&lt;img src=x onerror=alert(1)&gt;" in page
        assert "<script" not in page
    assert "; accepted: &lt;img" in one
    assert 'href="shop/docs/cuts/tidemark_3_a/%3Cimg%20src%3Dx' in one
    assert 'href="shop/docs/index.html"' in one
    assert "run?dag=action&amp;action=quarantine+drop&amp;code=KEY_NULL&amp;table=%3Cimg+src" in one
    assert "<td>1,234</td><td>&lt;img src=x onerror=alert(1)&gt;:0:7</td>" in one
