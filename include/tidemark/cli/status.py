"""`tidemark status`: how far pipelines are, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import AsJson, load_named
from tidemark.model.result import EXIT_CODES, CutStatus

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tidemark.lake.ledger import Entry
    from tidemark.lake.results import FailedAttempt
    from tidemark.runs.status import Lag, PipelineStatus, TableStatus

SIDE_BY_SIDE = 8
PIPELINE = Annotated[
    str | None,
    typer.Argument(metavar="PIPELINE", help="Name of the pipeline; all in short without one."),
]
ACCOUNTING = Annotated[
    bool, typer.Option("--accounting", help="Show where the records of each cut ended.")
]


def status(
    pipeline: PIPELINE = None, *, accounting: ACCOUNTING = False, as_json: AsJson = False
) -> None:
    """Show how far the tables are, and what is next."""
    from tidemark.cli.console import stdout
    from tidemark.cli.session import catalog_world
    from tidemark.spec import load_pipelines

    specs = load_pipelines() if pipeline is None else (load_named(pipeline),)
    from tidemark.runs.status import pipeline_status

    with ThreadPoolExecutor(
        max_workers=SIDE_BY_SIDE
    ) as threads:  # a dead broker costs one time-out
        worlds = [catalog_world() for _ in specs]
        found = list(threads.map(pipeline_status, specs, worlds))
    if as_json:
        from tidemark.cli.documents import statuses_document

        typer.echo(statuses_document(found).model_dump_json())
    elif accounting:
        for one in found:
            _show_accounting(stdout(), one)
    elif pipeline is None:
        _show_all(stdout(), found)
    else:
        show(stdout(), found[0])
    raise typer.Exit(_exit_code(found))


def _exit_code(pipelines: Sequence[PipelineStatus]) -> int:
    """That of a failed run where topics cannot be read or the newest attempts failed.

    Else that of a blocked one where a table is blocked, or an attempt by its audit.
    """
    if any(found.trouble or found.failed for found in pipelines):
        return EXIT_CODES[CutStatus.FAILED]
    if any(found.is_blocked for found in pipelines):
        return EXIT_CODES[CutStatus.BLOCKED]
    return 0


def _show_all(console: Console, pipelines: Sequence[PipelineStatus]) -> None:
    from tidemark.cli.console import columns, put
    from tidemark.model.shown import age, now_ms

    now = now_ms()
    table = columns(
        console, "pipeline", "cut", "published", "unread", "waits", "next", right=("cut", "unread")
    )
    for found in pipelines:
        newest = found.published
        table.add_row(
            found.pipeline,
            str(newest.result.cut) if newest else "-",
            f"{age(newest.at_ms, now)} ago" if newest else "never",
            f"{found.lag.unread:,}" if found.lag else "?",
            f"{found.lag.landed + found.lag.held:,}" if found.lag else "?",
            f"tidemark status {found.pipeline}" if found.trouble else found.next_step,
        )
    put(console, table)


def _show_accounting(console: Console, found: PipelineStatus) -> None:
    """Changes per bucket and cut (ACC-1); what one cut holds is counted again by the next."""
    from tidemark.cli.console import columns, facts, put

    facts(console, (found.pipeline, f"gate {found.gate}"))
    buckets = [name for entry in found.history[:1] for name in entry.result.buckets]
    table = columns(console, "cut", *buckets, right=("cut", *buckets))
    for entry in found.history:
        counts = (f"{entry.result.buckets[name]:,}" for name in buckets)
        table.add_row(str(entry.result.cut), *counts)
    put(console, table)


def show(console: Console, found: PipelineStatus) -> None:
    """Print all that is known of one pipeline."""
    from tidemark.cli.console import facts, failed_checks, message, put, stopped_tables
    from tidemark.model.shown import moment, now_ms

    now = now_ms()
    newest, attempt, until = found.published, found.attempt, found.complete_until_ms
    facts(
        console,
        (found.pipeline, f"gate {found.gate}"),
        (
            "published",
            f"cut {newest.result.cut}, {moment(newest.at_ms, now)}" if newest else "never",
        ),
        ("complete", f"until {moment(until, now)}, source time" if until else ""),
        ("behind", _lag(found.lag)),
        ("holds at", found.hold),
        ("truncates", found.truncates),
        ("statements", found.statements),
        ("quarantined", _quarantined(found)),
        *(("in doubt", sentence) for sentence in found.warnings),
        ("stalled", f"for {found.stalled_ms // 60_000} minutes" if found.stalled_ms else ""),
        *(("snapshot", f"of {table} {said}") for table, said in found.snapshots.items()),
        *(("withheld", f"of {table} {said}") for table, said in found.withheld.items()),
        *(("refold", _refold(found.pipeline, one)) for one in found.tables if one.refold),
        *(("ordered", f"{one.command}, {moment(one.at_ms, now)}") for one in found.orders),
        ("attempt", _attempt(attempt, now) if attempt else ""),
        ("failed", _failed(found.failed, now)),
    )
    console.print()
    put(console, _tables(console, found, now))
    console.print()
    stopped_tables(console, {str(table.table): table.why for table in found.tables if table.why})
    failed_checks(console, [table.verdict for table in found.tables if table.verdict])
    if found.trouble:
        message(console, found.trouble)
    else:
        facts(console, ("next", found.next_step))


def _lag(lag: Lag | None) -> str:
    from tidemark.model.shown import plural

    if lag is None:
        return "unknown, see below"
    parts = [
        f"{plural(lag.unread, 'offset')} unread" if lag.unread else "",
        f"{plural(lag.landed, 'record')} landed but in no cut" if lag.landed else "",
        f"{plural(lag.held, 'record')} held above the cut" if lag.held else "",
    ]
    return ", ".join(filter(None, parts)) or "nothing unread, nothing held"


def _refold(pipeline: str, table: TableStatus) -> str:
    cancel = f"to cancel it: tidemark refold {pipeline} {table.table} --cancel"
    return f"of {table.table} into {table.refold}, by the next runs; {cancel}"


def _quarantined(found: PipelineStatus) -> str:
    from tidemark.model.shown import plural

    if not found.quarantined:
        return ""
    unknown = f", {found.of_no_table} of no known table" if found.of_no_table else ""
    waiting = plural(found.quarantined, "change")
    return f"{waiting}{unknown}: tidemark quarantine list {found.pipeline}"


def _attempt(attempt: Entry, now: int) -> str:
    from tidemark.model.shown import moment

    result = attempt.result
    return f"{result.attempt} at cut {result.cut} is {result.status}, {moment(attempt.at_ms, now)}"


def _failed(failed: Sequence[FailedAttempt], now: int) -> str:
    """How many attempts failed since the newest cut, and what the newest of them said first."""
    from tidemark.model.shown import moment, plural

    if not failed:
        return ""
    newest = failed[0]
    count = f"{plural(len(failed), 'attempt')} since the newest cut"
    return f"{count}, the last one {moment(newest.at_ms, now)}: {newest.error.splitlines()[0]}"


def _tables(console: Console, found: PipelineStatus, now: int) -> Table:
    from tidemark.cli.console import columns
    from tidemark.model.cut import GateMode

    gated = found.gate is not GateMode.NONE
    reach = ("until (UTC)", "lag") if gated else ("complete",)
    table = columns(console, "table", *reach, "last change", "audit", right=("lag",))
    for row in found.tables:
        table.add_row(row.target, *_reach(found, row, now), *_last(row, now))
    return table


def _reach(found: PipelineStatus, row: TableStatus, now: int) -> tuple[str, ...]:
    """How far the table is: source time where the gate tells it, else the cut.

    A lag is the age of that time, while anything is there to read: a source may be quiet.
    """
    from tidemark.model.cut import GateMode
    from tidemark.model.shown import age, clock

    if found.gate is not GateMode.NONE:
        at = row.complete_until_ms
        is_read = found.lag is not None and found.lag.is_none and not row.why
        lag = "none" if is_read else age(at, now)
        return (clock(at), lag) if at else ("-", "-")
    if found.published is None:
        return ("-",)
    return ("lower" if row.why else f"cut {found.published.result.cut}",)


def _last(row: TableStatus, now: int) -> tuple[str, str | Text]:
    """The newest cut that changed the table, and what its newest audit said."""
    from tidemark.cli.console import outcome
    from tidemark.model.shown import age

    change = row.changed
    changed = f"cut {change.cut}, {age(change.at_ms, now)} ago" if change else "-"
    if row.verdict is None:
        return (changed if row.exists else "not made yet"), "-"
    return changed, outcome(row.verdict.outcome, len(row.verdict.failures))
