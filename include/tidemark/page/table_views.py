"""What the page shows of one table: how it is, what comes next, and what became of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tidemark.errors import TidemarkError
from tidemark.model.shown import clock, now_ms, plural
from tidemark.page.forms import Forms
from tidemark.page.orders import Order, orders_of_kind
from tidemark.page.views import QuarantineRow, TableRow, docs_of, failures_of, offered, row_of
from tidemark.runs.status import PipelineStatus, TableStatus
from tidemark.runs.table_history import TableChange, TableHistory
from tidemark.scheduling.xcom import CUT


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A published cut that changed the table. counts: rows, as columns of the page have them.

    docs: the page of its verdict in Data Docs, empty when there is none here. facts: statements
    that it followed, what its audit found, and why a person had it run.
    """

    cut: int
    at: str
    counts: tuple[int, ...]
    audit: str
    docs: str
    snapshot: int
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TablePage:
    """All that is shown of one table.

    next_cut: name and text, in order. changes: newest first. ordered: when, and the command.
    unread: what of its history is not shown. trouble: why it cannot be read; empty where it is.
    """

    pipeline: str
    row: TableRow
    next_cut: tuple[tuple[str, str], ...]
    orders: tuple[Order, ...]
    quarantine: tuple[QuarantineRow, ...]
    changes: tuple[ChangeRow, ...] = ()
    ordered: tuple[tuple[str, str], ...] = ()
    unread: str = ""
    trouble: str = ""


def table_page(
    status: PipelineStatus,
    table: TableStatus,
    history: TableHistory | TidemarkError,
    docs: Collection[str],
    runs: Forms,
) -> TablePage:
    """One of the tables of ``status``. docs, runs: as `detail` takes them."""
    known = None if isinstance(history, TidemarkError) else history
    return TablePage(
        pipeline=status.pipeline,
        row=row_of(status, table, now_ms(), docs_of(table.verdict, docs), runs),
        next_cut=tuple((name, text) for name, text in _next_cut(status, table) if text),
        orders=offered(_orders(table), runs),
        quarantine=tuple(
            QuarantineRow(kind, offered(orders_of_kind(kind, status.quarantine), runs))
            for kind in status.quarantine
            if kind.table == str(table.table)
        ),
        changes=tuple(_change(change, docs) for change in known.changes) if known else (),
        ordered=tuple((clock(order.at_ms), order.command) for order in known.orders)
        if known
        else (),
        unread=_unread(known.unread, status.pipeline, table) if known else "",
        trouble=str(history) if isinstance(history, TidemarkError) else "",
    )


def _next_cut(status: PipelineStatus, table: TableStatus) -> Iterator[tuple[str, str]]:
    """What is known of the next cut without reading a record; a dry run tells the rest."""
    yield "work", status.work
    if status.lag is not None:
        yield "unread", f"{plural(status.lag.unread, 'offset')}, of all tables of the pipeline"
        landed = plural(status.lag.landed, "record")
        yield "landed", f"{landed}, in no cut yet" if status.lag.landed else ""
        yield "held", plural(status.lag.held, "record") if status.lag.held else ""
    yield "holds at", status.hold
    of_table = (("snapshot", status.snapshots), ("withheld", status.withheld))
    yield from ((name, sentences.get(table.table, "")) for name, sentences in of_table)
    yield "dropped", table.dropped


def _unread(number: int, pipeline: str, table: TableStatus) -> str:
    if not number:
        return ""
    changes = plural(number, "older schema change")
    return (
        f"{changes} of all tables were not looked through; all of this table: "
        f"tidemark history {pipeline} {table.table}"
    )


def _orders(table: TableStatus) -> tuple[Order, ...]:
    alone = {"tables": str(table.table)}
    return (
        Order("Say what the next cut would hold", CUT, {"dry_run": "true", **alone}),
        Order("Publish this table alone", CUT, alone),
    )


def _change(change: TableChange, docs: Collection[str]) -> ChangeRow:
    of, cut, verdict = change.cut.of_target, change.cut, change.verdict
    return ChangeRow(
        cut=cut.result.cut,
        at=clock(cut.at_ms),
        counts=(of.inserted, of.updated, of.deleted, of.truncated),
        audit=of.outcome or "-",
        docs=docs_of(verdict, docs),
        snapshot=of.snapshot_id,
        facts=tuple(_facts(change)),
    )


def _facts(change: TableChange) -> Iterator[str]:
    yield from change.statements
    if change.cut.of_target.renamed_from:
        yield f"renamed from {change.cut.of_target.renamed_from}"
    if change.cut.reason:
        yield f"run because: {change.cut.reason}"
    if change.verdict is not None:
        yield from failures_of(change.verdict)
