"""How old the rows of tables may be, and which are older than their pipeline file allows."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.model.cut import GateMode
from tidemark.model.shown import age, clock, plural
from tidemark.runs.status import PipelineStatus, TableStatus


@dataclass(frozen=True, slots=True)
class StaleTable:
    """A target that is older than its limit. since_ms: when it became so, in ms since 1970."""

    target: str
    since_ms: int


def age_ms(status: PipelineStatus, table: TableStatus, now_ms: int) -> int | None:
    """How long ago ``table`` was complete, in milliseconds.

    0 while the topics hold nothing that is not published: a source may be quiet. Of a table of
    which nothing is published, for how long landed records wait; None where none do.
    """
    is_read = status.lag is not None and status.lag.is_none and not table.why
    at_ms = _aged_from_ms(status, table)
    if is_read and complete_ms(status, table):
        return 0
    return None if is_read or not at_ms else max(0, now_ms - at_ms)


def complete_ms(status: PipelineStatus, table: TableStatus) -> int:
    """Until when ``table`` is complete, in ms since 1970; 0 where nothing of it is published.

    Source time where the gate tells one. Where it does not, when the newest cut was published; of a
    table that stands lower, the newest cut that changed it.
    """
    if status.gate is not GateMode.NONE:
        return table.complete_until_ms
    newest = table.changed if table.why else status.published
    return newest.at_ms if newest else 0


def _aged_from_ms(status: PipelineStatus, table: TableStatus) -> int:
    return complete_ms(status, table) or status.waiting_since_ms


def stale_tables(status: PipelineStatus, now_ms: int) -> tuple[StaleTable, ...]:
    """The tables that are older than the limit, the oldest first; none where there is no limit."""
    limit = status.freshness_ms
    stale = (
        StaleTable(table.target, _aged_from_ms(status, table) + limit)
        for table in status.tables
        if limit and (age_ms(status, table, now_ms) or 0) > limit
    )
    return tuple(sorted(stale, key=lambda table: (table.since_ms, table.target)))


def stale_sentence(status: PipelineStatus, now_ms: int) -> str:
    """Which tables are older than the limit and since when; empty where none is."""
    stale = stale_tables(status, now_ms)
    if not stale:
        return ""
    named = ", ".join(f"{table.target} since {clock(table.since_ms)} UTC" for table in stale)
    return f"{plural(len(stale), 'table')} older than {age(0, status.freshness_ms)}: {named}"
