"""What the page shows of a pipeline's status: one light, one sentence, and rows of text.

Pure: status in, text out. Templates place it and escape it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidemark.model.bucket import Bucket
from tidemark.model.cut import GateMode
from tidemark.model.quarantine import Kind
from tidemark.model.result import CutStatus
from tidemark.model.shown import age, clock, moment, now_ms, plural
from tidemark.model.verdict import Verdict
from tidemark.page.data_docs import INDEX
from tidemark.page.forms import TITLES, Forms, takes
from tidemark.page.orders import Order, orders_of, orders_of_kind, orders_of_table
from tidemark.quality.pages import page_of
from tidemark.runs.freshness import age_ms, stale_sentence
from tidemark.runs.status import NOT_ASKED, PipelineStatus, TableStatus
from tidemark.scheduling.xcom import CUT

BAR_HEIGHT = 60


class Light(StrEnum):
    """How a pipeline is, at a glance."""

    GOOD = "good"
    WAITS = "waits"
    BLOCKED = "blocked"
    FAILS = "fails"


@dataclass(frozen=True, slots=True)
class Line:
    """A pipeline in the overview."""

    name: str
    light: Light
    sentence: str
    published: str
    tables: int
    unread: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """A table of a pipeline.

    docs: the page of its verdict in Data Docs, empty when there is none here. why: the reason it
    stands lower, empty when it does not. orders: what may be done about it.
    """

    source: str
    target: str
    reach: str
    lag: str
    changed: str
    audit: str
    docs: str
    failures: tuple[str, ...]
    why: str
    refold: str
    orders: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class QuarantineRow:
    """Changes in quarantine that have one cause, and what may be done about them."""

    kind: Kind
    orders: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A cut in the chart. height: of BAR_HEIGHT. title: its numbers, bucket by bucket."""

    cut: int
    height: int
    has_quarantined: bool
    title: str


@dataclass(frozen=True, slots=True)
class Detail:
    """All that is shown of one pipeline.

    facts: name and text, in order. bars: oldest first. docs: the index of Data Docs, empty when
    there are none here. orders: what may be done about its state; runs: the DAGs, with nothing
    filled in. dags: the ids of those, and of the DAG of the cuts.
    """

    line: Line
    facts: tuple[tuple[str, str], ...]
    tables: tuple[TableRow, ...]
    quarantine: tuple[QuarantineRow, ...]
    bars: tuple[Bar, ...]
    next_step: str
    docs: str
    orders: tuple[Order, ...]
    runs: tuple[Order, ...]
    dags: tuple[str, ...]


def overview(statuses: Iterable[PipelineStatus]) -> list[Line]:
    """All pipelines, those that need somebody first."""
    order = (Light.FAILS, Light.BLOCKED, Light.WAITS, Light.GOOD)
    return sorted(map(_line, statuses), key=lambda line: (order.index(line.light), line.name))


def detail(status: PipelineStatus, docs: Collection[str], runs: Forms) -> Detail:
    """One pipeline.

    docs: the pages of Data Docs that are here. runs: family -> form of the DAGs of which whoever
    looks may start runs; nothing else is offered.
    """
    now = now_ms()
    return Detail(
        line=_line(status),
        facts=tuple((name, text) for name, text in _facts(status, now) if text),
        tables=tuple(
            row_of(status, table, now, docs_of(table.verdict, docs), runs)
            for table in status.tables
        ),
        quarantine=tuple(
            QuarantineRow(kind, offered(orders_of_kind(kind, status.quarantine), runs))
            for kind in status.quarantine
        ),
        bars=_bars(status),
        next_step=status.trouble.next_step if status.trouble else status.next_step,
        docs=INDEX if INDEX in docs else "",
        orders=offered(orders_of(status), runs),
        runs=tuple(Order(title, family) for family, title in TITLES.items() if family in runs),
        dags=tuple(f"{family}__{status.pipeline}" for family in TITLES if family in {CUT, *runs}),
    )


def light_of(status: PipelineStatus) -> tuple[Light, str]:
    """What the pipeline is at a glance, and the sentence that says why.

    The worst problem alone is named; the pipeline's own page lists all of them.
    """
    if status.trouble is not None:
        return Light.FAILS, status.trouble.what
    if status.failed:
        number, newest = plural(len(status.failed), "attempt"), status.failed[0]
        return Light.FAILS, f"{number} failed since the newest cut: {_first(newest.error)}"
    blocked = [table for table in status.tables if table.why not in ("", NOT_ASKED)]
    if status.attempt is not None and status.attempt.result.status is CutStatus.BLOCKED:
        return Light.BLOCKED, f"cut {status.attempt.result.cut} is blocked by its audit"
    if blocked:
        number, first = plural(len(blocked), "table"), blocked[0]
        return Light.BLOCKED, f"{number} blocked: {first.table}: {_first(first.why)}"
    waits = _waits(status)
    return (Light.WAITS, waits) if waits else (Light.GOOD, status.work)


def _waits(status: PipelineStatus) -> str:
    """For what the pipeline waits, where somebody may have to do something about it."""
    if stale := stale_sentence(status, now_ms()):
        return stale
    if status.stalled_ms:
        return f"nothing was published for {age(0, status.stalled_ms)}: {status.hold}"
    if status.snapshots:
        table, reason = next(iter(status.snapshots.items()))
        return f"a snapshot of {table} {reason}"
    return "" if status.published else f"nothing is published yet: {status.work}"


def _line(status: PipelineStatus) -> Line:
    light, sentence = light_of(status)
    newest, now = status.published, now_ms()
    return Line(
        name=status.pipeline,
        light=light,
        sentence=sentence,
        published=f"cut {newest.result.cut}, {age(newest.at_ms, now)} ago"
        if newest
        else status.without_cut,
        tables=len(status.tables),
        unread=f"{status.lag.unread:,}" if status.lag else "?",
    )


def _facts(status: PipelineStatus, now: int) -> Iterable[tuple[str, str]]:
    newest, until = status.published, status.complete_until_ms
    cut = f"cut {newest.result.cut}, {moment(newest.at_ms, now)}" if newest else status.without_cut
    yield "gate", status.gate.value
    yield "published", cut
    yield "complete", f"until {moment(until, now)}, source time" if until else ""
    if status.lag is not None:
        yield "unread", plural(status.lag.unread, "offset")
        yield "held", plural(status.lag.held, "record") if status.lag.held else ""
    yield "stale", stale_sentence(status, now)
    yield "holds at", status.hold
    yield "work", status.work
    yield from (("warning", sentence) for sentence in status.warnings)
    yield from (("snapshot", f"of {table} {reason}") for table, reason in status.snapshots.items())
    yield from (("withheld", f"of {table} {reason}") for table, reason in status.withheld.items())
    yield from (("dropped", f"{row.table} {row.dropped}") for row in status.tables if row.dropped)
    yield from (
        ("ordered", f"{order.command}, {moment(order.at_ms, now)}") for order in status.orders
    )
    yield "truncates", status.truncates
    yield "statements", status.statements
    yield from (
        ("failed", f"{moment(attempt.at_ms, now)}: {attempt.error}") for attempt in status.failed
    )
    yield "trouble", str(status.trouble) if status.trouble else ""


def offered(orders: Iterable[Order], runs: Forms) -> tuple[Order, ...]:
    """Those of ``orders`` that one of the forms in ``runs`` takes."""
    return tuple(
        order
        for order in orders
        if order.family in runs and takes(order.family, runs[order.family], order.fields)
    )


def row_of(
    status: PipelineStatus, table: TableStatus, now: int, docs: str, runs: Forms
) -> TableRow:
    """A table. docs: the page of its verdict, or empty. runs: as `detail` takes them."""
    change, verdict = table.changed, table.verdict
    if status.gate is GateMode.NONE:
        cut = f"cut {status.published.result.cut}" if status.published else "-"
        reach, lag = "lower" if table.why else cut, ""
    else:
        reach, lag = "-", "-"
        if (behind := age_ms(status, table, now)) is not None:
            reach = clock(table.complete_until_ms) if table.complete_until_ms else "-"
            lag = age(0, behind) if behind else "none"
    return TableRow(
        source=str(table.table),
        target=table.target,
        reach=reach,
        lag=lag,
        changed=f"cut {change.cut}, {age(change.at_ms, now)} ago" if change else "-",
        audit=verdict.outcome if verdict else "-",
        docs=docs,
        failures=tuple(failures_of(verdict)) if verdict else (),
        why=table.why,
        refold=table.refold,
        orders=offered(orders_of_table(status, table), runs),
    )


def docs_of(verdict: Verdict | None, docs: Collection[str]) -> str:
    """The page of ``verdict``, if it is among ``docs``."""
    page = page_of(verdict.audit, verdict.table) if verdict else ""
    return page if page in docs else ""


def failures_of(verdict: Verdict) -> Iterator[str]:
    """What failed, and why it does not block where somebody accepted it."""
    for check in verdict.failures:
        reason = verdict.reason_of(check)
        accepted = f"; accepted: {reason}" if reason else ""
        yield f"{check.name}: {check.observed}{accepted}"


def _bars(status: PipelineStatus) -> tuple[Bar, ...]:
    """Changes that were applied, cut by cut."""
    cuts = [entry.result for entry in reversed(status.history)]
    most = max((cut.buckets.get(Bucket.APPLIED, 0) for cut in cuts), default=0)
    return tuple(
        Bar(
            cut=cut.cut,
            height=-(-BAR_HEIGHT * cut.buckets.get(Bucket.APPLIED, 0) // most) if most else 0,
            has_quarantined=bool(cut.buckets.get(Bucket.QUARANTINED)),
            title=f"cut {cut.cut}: " + _counted(cut.buckets.items()),
        )
        for cut in cuts
    )


def _counted(buckets: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in buckets if number) or "no records"


def _first(text: str) -> str:
    lines: Sequence[str] = text.splitlines()
    return lines[0] if lines else ""
