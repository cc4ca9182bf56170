"""What the page shows of a pipeline's status: one light, one sentence, and rows of text.

Pure: status in, text out. Templates place it and escape it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidemark.model.cut import GateMode
from tidemark.model.result import CutStatus
from tidemark.model.shown import age, clock, moment, now_ms, plural
from tidemark.model.verdict import Verdict
from tidemark.runs.status import NOT_ASKED, PipelineStatus, TableStatus

BAR_HEIGHT = 60
APPLIED, QUARANTINED = "applied", "quarantined"


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
    """A table of a pipeline. why: the reason it stands lower, empty when it does not."""

    source: str
    target: str
    reach: str
    lag: str
    changed: str
    audit: str
    failures: tuple[str, ...]
    why: str
    refold: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A cut in the chart. height: of BAR_HEIGHT. told: its numbers, bucket by bucket."""

    cut: int
    height: int
    has_quarantined: bool
    told: str


@dataclass(frozen=True, slots=True)
class Detail:
    """All that is shown of one pipeline. facts: name and text, in order. bars: oldest first."""

    line: Line
    facts: tuple[tuple[str, str], ...]
    tables: tuple[TableRow, ...]
    bars: tuple[Bar, ...]
    next_step: str


def overview(found: Iterable[PipelineStatus]) -> list[Line]:
    """All pipelines, those that need somebody first."""
    order = (Light.FAILS, Light.BLOCKED, Light.WAITS, Light.GOOD)
    return sorted(map(_line, found), key=lambda line: (order.index(line.light), line.name))


def detail(found: PipelineStatus) -> Detail:
    """One pipeline."""
    now = now_ms()
    return Detail(
        line=_line(found),
        facts=tuple((name, text) for name, text in _facts(found, now) if text),
        tables=tuple(_row(found, table, now) for table in found.tables),
        bars=_bars(found),
        next_step=found.trouble.next_step if found.trouble else found.next_step,
    )


def light_of(found: PipelineStatus) -> tuple[Light, str]:
    """What the pipeline is at a glance, and the sentence that says why.

    The worst problem alone is named; the pipeline's own page lists all of them.
    """
    if found.trouble is not None:
        return Light.FAILS, found.trouble.what
    if found.failed:
        number, newest = plural(len(found.failed), "attempt"), found.failed[0]
        return Light.FAILS, f"{number} failed since the newest cut: {_first(newest.error)}"
    blocked = [table for table in found.tables if table.why not in ("", NOT_ASKED)]
    if found.attempt is not None and found.attempt.result.status is CutStatus.BLOCKED:
        return Light.BLOCKED, f"cut {found.attempt.result.cut} is blocked by its audit"
    if blocked:
        number, first = plural(len(blocked), "table"), blocked[0]
        return Light.BLOCKED, f"{number} blocked: {first.table}: {_first(first.why)}"
    waits = _waits(found)
    return (Light.WAITS, waits) if waits else (Light.GOOD, found.work)


def _waits(found: PipelineStatus) -> str:
    """For what the pipeline waits, where somebody may have to do something about it."""
    if found.stalled_ms:
        return f"nothing was published for {age(0, found.stalled_ms)}: {found.hold}"
    if found.snapshots:
        table, said = next(iter(found.snapshots.items()))
        return f"a snapshot of {table} {said}"
    return "" if found.published else f"nothing is published yet: {found.work}"


def _line(found: PipelineStatus) -> Line:
    light, sentence = light_of(found)
    newest, now = found.published, now_ms()
    return Line(
        name=found.pipeline,
        light=light,
        sentence=sentence,
        published=f"cut {newest.result.cut}, {age(newest.at_ms, now)} ago" if newest else "never",
        tables=len(found.tables),
        unread=f"{found.lag.unread:,}" if found.lag else "?",
    )


def _facts(found: PipelineStatus, now: int) -> Iterable[tuple[str, str]]:
    newest, until = found.published, found.complete_until_ms
    cut = f"cut {newest.result.cut}, {moment(newest.at_ms, now)}" if newest else "never"
    yield "gate", found.gate.value
    yield "published", cut
    yield "complete", f"until {moment(until, now)}, source time" if until else ""
    if found.lag is not None:
        yield "unread", plural(found.lag.unread, "offset")
        yield "held", plural(found.lag.held, "record") if found.lag.held else ""
    yield "holds at", found.hold
    yield "work", found.work
    yield "quarantine", f"{plural(found.quarantined, 'change')} wait" if found.quarantined else ""
    yield from (("in doubt", sentence) for sentence in found.warnings)
    yield from (("snapshot", f"of {table} {said}") for table, said in found.snapshots.items())
    yield from (("withheld", f"of {table} {said}") for table, said in found.withheld.items())
    yield from (("ordered", f"{one.command}, {moment(one.at_ms, now)}") for one in found.orders)
    yield "truncates", found.truncates
    yield "statements", found.statements
    yield from (("failed", f"{moment(one.at_ms, now)}: {one.error}") for one in found.failed)
    yield "trouble", str(found.trouble) if found.trouble else ""


def _row(found: PipelineStatus, table: TableStatus, now: int) -> TableRow:
    at, change = table.complete_until_ms, table.changed
    if found.gate is GateMode.NONE:
        cut = f"cut {found.published.result.cut}" if found.published else "-"
        reach, lag = "lower" if table.why else cut, ""
    else:
        is_read = found.lag is not None and found.lag.is_none and not table.why
        reach, lag = (clock(at), "none" if is_read else age(at, now)) if at else ("-", "-")
    return TableRow(
        source=str(table.table),
        target=table.target,
        reach=reach,
        lag=lag,
        changed=f"cut {change.cut}, {age(change.at_ms, now)} ago" if change else "-",
        audit=table.verdict.outcome if table.verdict else "-",
        failures=tuple(_failures(table.verdict)) if table.verdict else (),
        why=table.why,
        refold=table.refold,
    )


def _failures(verdict: Verdict) -> Iterator[str]:
    for check in verdict.failures:
        reason = verdict.reason_of(check)
        accepted = f"; accepted: {reason}" if reason else ""
        yield f"{check.name}: {check.observed}{accepted}"


def _bars(found: PipelineStatus) -> tuple[Bar, ...]:
    """Changes that were applied, cut by cut."""
    cuts = [entry.result for entry in reversed(found.history)]
    most = max((cut.buckets.get(APPLIED, 0) for cut in cuts), default=0)
    return tuple(
        Bar(
            cut=cut.cut,
            height=-(-BAR_HEIGHT * cut.buckets.get(APPLIED, 0) // most) if most else 0,
            has_quarantined=bool(cut.buckets.get(QUARANTINED)),
            told=f"cut {cut.cut}: " + _counted(cut.buckets.items()),
        )
        for cut in cuts
    )


def _counted(buckets: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in buckets if number) or "no records"


def _first(text: str) -> str:
    lines: Sequence[str] = text.splitlines()
    return lines[0] if lines else ""
