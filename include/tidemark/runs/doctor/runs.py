"""What the runs of a pipeline have left: attempts that failed, tables that stop, what waits."""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.model.finding import Finding, Grade
from tidemark.model.shown import moment, plural
from tidemark.runs.doctor.trouble import finding_of
from tidemark.runs.status import MOVED_SEPARATELY, NOT_ASKED, PipelineStatus

STAYS = "the tables stay as they were last published"


def run_findings(status: PipelineStatus, now_ms: int) -> Iterator[Finding]:
    """What ``status`` says that somebody has to know or do."""
    about = f"pipeline {status.pipeline}"
    if status.trouble is not None:
        yield finding_of(status.trouble, about)
    yield from _attempts(about, status, now_ms)
    yield from _stops(about, status)
    yield from _lacks(about, status)
    yield from _unseen(about, status)


def _attempts(about: str, status: PipelineStatus, now_ms: int) -> Iterator[Finding]:
    newest = status.published
    if status.failed:
        last = status.failed[0]
        what, _, rest = last.error.partition("\n")
        failed = f"{plural(len(status.failed), 'attempt')} failed since the newest cut"
        at = moment(last.at_ms, now_ms)
        fix = rest.rpartition("next:")[2].strip() or f"read its log: tidemark cut {status.pipeline}"
        yield Finding(Grade.ERROR, about, f"{failed}, the last one {at}: {what}", STAYS, fix)
    elif newest is not None:
        at = moment(newest.at_ms, now_ms)
        yield Finding.good(about, f"no run has failed since cut {newest.result.cut}, {at}")


def _stops(about: str, status: PipelineStatus) -> Iterator[Finding]:
    more = f"do what it says; more: tidemark status {status.pipeline}"
    for table in status.tables:
        if table.why not in ("", NOT_ASKED):
            what = f"table {table.table} is stopped: {table.why}"
            yield Finding(Grade.ERROR, about, what, "it stays as it was last published", more)
    if status.stalled_ms:
        minutes = status.stalled_ms // 60_000
        what = f"cuts go no further for {minutes:,} minutes: {status.hold}"
        look = f"look why: tidemark plan {status.pipeline}"
        yield Finding(Grade.WARNING, about, what, STAYS, look)


def _lacks(about: str, status: PipelineStatus) -> Iterator[Finding]:
    if status.quarantined:
        what = f"{plural(status.quarantined, 'change')} in quarantine"
        look = f"look through it: tidemark quarantine list {status.pipeline}"
        yield Finding(Grade.WARNING, about, what, "the tables lack them", look)
    for table, why in status.withheld.items():
        columns, _, then = why.partition("; ")
        what = f"table {table} withholds {columns}"
        yield Finding(Grade.NOTE, about, what, "readers do not see these columns", then)
    look = f"more: tidemark status {status.pipeline}"
    for sentence in status.warnings:
        if sentence == MOVED_SEPARATELY:
            continue  # It is of the catalog, whatever the pipeline.
        yield Finding(Grade.WARNING, about, sentence, "rows are missing, or seen in part", look)


def _unseen(about: str, status: PipelineStatus) -> Iterator[Finding]:
    if status.truncates:
        cost = "targets would keep rows that a truncate removed, and nothing would show it"
        look = f"look at its settings: tidemark doctor {status.pipeline} --connect URL"
        yield Finding(Grade.NOTE, about, f"truncates: {status.truncates}", cost, look)
    if status.statements:
        unseen, _, fix = status.statements.partition(": ")
        cost = "the target keeps such columns as they were, or stops"
        yield Finding(Grade.NOTE, about, unseen, cost, fix)
