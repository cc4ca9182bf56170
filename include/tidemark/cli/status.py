"""`tidemark status`: how far pipelines are, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    from tidemark.runs.world import World
    from tidemark.spec import PipelineSpec

SIDE_BY_SIDE = 8
PIPELINE = Annotated[
    str | None,
    typer.Argument(metavar="PIPELINE", help="Name of the pipeline; all in short without one."),
]
ACCOUNTING = Annotated[
    bool, typer.Option("--accounting", help="Show where the records of each cut ended.")
]

WATCH = Annotated[
    bool, typer.Option("--watch", help="Show it again every few seconds, until Ctrl-C.")
]
Read = Callable[[], list["PipelineStatus"]]


def status(
    pipeline: PIPELINE = None,
    *,
    accounting: ACCOUNTING = False,
    watch: WATCH = False,
    as_json: AsJson = False,
) -> None:
    """Show how far the tables are, and what is next."""
    if watch and as_json:
        raise typer.BadParameter("--watch is for people, and --json for programs")
    from tidemark.cli.console import stderr, stdout
    from tidemark.spec import load_pipelines

    specs = load_pipelines() if pipeline is None else (load_named(pipeline),)

    def print_all(console: Console, statuses: Sequence[PipelineStatus]) -> None:
        if accounting:
            for status in statuses:
                _show_accounting(console, status)
        elif pipeline is None:
            _show_all(console, statuses)
        else:
            show(console, statuses[0])

    if watch:
        from tidemark.cli.watch import watch as again

        read = _reader(specs, is_alone=False)
        again(stdout(), lambda console: print_all(console, read()))
        return
    with stderr().status("reading catalog and topics"):
        statuses = _reader(specs, is_alone=pipeline is not None)()
    if as_json:
        from tidemark.cli.documents import statuses_document

        typer.echo(statuses_document(statuses).model_dump_json())
    else:
        print_all(stdout(), statuses)
    raise typer.Exit(_exit_code(statuses))


def _reader(specs: Sequence[PipelineSpec], *, is_alone: bool) -> Read:
    """What reads the statuses of ``specs``; what it asks stays open in between.

    is_alone: what keeps the one pipeline from being read is raised; else it is shown in its place,
    as one of many must not keep the others from being shown.
    """
    from tidemark.cli.session import catalog_world
    from tidemark.errors import TidemarkError
    from tidemark.runs.status import pipeline_status, unreadable_status

    worlds = [catalog_world() for _ in specs]

    def read_one(spec: PipelineSpec, world: World) -> PipelineStatus:
        try:
            return pipeline_status(spec, world)
        except TidemarkError as error:
            if is_alone:
                raise
            return unreadable_status(spec, error)

    def read() -> list[PipelineStatus]:
        # A dead broker costs one time-out.
        with ThreadPoolExecutor(max_workers=SIDE_BY_SIDE) as threads:
            return list(threads.map(read_one, specs, worlds))

    return read


def _exit_code(statuses: Sequence[PipelineStatus]) -> int:
    """That of a failed run where topics cannot be read or the newest attempts failed.

    Else that of a blocked one where a table is blocked or too old, or an attempt by its audit.
    """
    from tidemark.model.shown import now_ms
    from tidemark.runs.freshness import stale_tables

    if any(status.trouble or status.failed for status in statuses):
        return EXIT_CODES[CutStatus.FAILED]
    now = now_ms()
    if any(status.is_blocked or stale_tables(status, now) for status in statuses):
        return EXIT_CODES[CutStatus.BLOCKED]
    return 0


def _show_all(console: Console, statuses: Sequence[PipelineStatus]) -> None:
    from tidemark.cli.console import columns, message, put
    from tidemark.model.shown import age, now_ms
    from tidemark.runs.freshness import stale_tables

    now = now_ms()
    table = columns(
        console, "pipeline", "cut", "published", "unread", "waits", "next", right=("cut", "unread")
    )
    for status in statuses:
        newest = status.published
        table.add_row(
            status.pipeline,
            str(newest.result.cut) if newest else "-",
            f"{age(newest.at_ms, now)} ago" if newest else status.without_cut,
            f"{status.lag.unread:,}" if status.lag else "?",
            f"{status.lag.landed + status.lag.held:,}" if status.lag else "?",
            f"tidemark status {status.pipeline}"
            if status.trouble or stale_tables(status, now)
            else status.next_step,
        )
    put(console, table)
    troubles = (status.trouble for status in statuses if not status.is_readable)
    for trouble in {str(trouble): trouble for trouble in troubles if trouble}.values():
        message(console, trouble)


def _show_accounting(console: Console, status: PipelineStatus) -> None:
    """Changes per bucket and cut (ACC-1); what one cut holds is counted again by the next."""
    from tidemark.cli.console import columns, facts, put

    facts(console, (status.pipeline, f"gate {status.gate}"))
    buckets = [name for entry in status.history[:1] for name in entry.result.buckets]
    table = columns(console, "cut", *buckets, right=("cut", *buckets))
    for entry in status.history:
        counts = (f"{entry.result.buckets[name]:,}" for name in buckets)
        table.add_row(str(entry.result.cut), *counts)
    put(console, table)


def show(console: Console, status: PipelineStatus) -> None:
    """Print all that is known of one pipeline."""
    from tidemark.cli.console import facts, failed_checks, message, put, stopped_tables
    from tidemark.model.shown import moment, now_ms
    from tidemark.runs.freshness import stale_sentence

    now = now_ms()
    newest, attempt, until = status.published, status.attempt, status.complete_until_ms
    facts(
        console,
        (status.pipeline, f"gate {status.gate}"),
        (
            "published",
            f"cut {newest.result.cut}, {moment(newest.at_ms, now)}"
            if newest
            else status.without_cut,
        ),
        ("complete", f"until {moment(until, now)}, source time" if until else ""),
        ("behind", _lag(status.lag)),
        ("work", status.work),
        ("stale", stale_sentence(status, now)),
        ("holds at", status.hold),
        ("truncates", status.truncates),
        ("statements", status.statements),
        ("quarantined", _quarantined(status)),
        *(("warning", sentence) for sentence in status.warnings),
        ("stalled", f"for {status.stalled_ms // 60_000} minutes" if status.stalled_ms else ""),
        *(("snapshot", f"of {table} {reason}") for table, reason in status.snapshots.items()),
        *(("withheld", f"of {table} {reason}") for table, reason in status.withheld.items()),
        *(("dropped", f"{row.table} {row.dropped}") for row in status.tables if row.dropped),
        *(("refold", _refold(status.pipeline, table)) for table in status.tables if table.refold),
        *(("ordered", f"{order.command}, {moment(order.at_ms, now)}") for order in status.orders),
        ("attempt", _attempt(attempt, now) if attempt else ""),
        ("failed", _failed(status.failed, now)),
    )
    console.print()
    put(console, _tables(console, status, now))
    console.print()
    stopped_tables(console, {str(table.table): table.why for table in status.tables if table.why})
    failed_checks(console, [table.verdict for table in status.tables if table.verdict])
    if status.trouble:
        message(console, status.trouble)
    else:
        facts(console, ("next", status.next_step))


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


def _quarantined(status: PipelineStatus) -> str:
    from tidemark.model.shown import plural

    if not status.quarantined:
        return ""
    unknown = f", {status.of_no_table} of no known table" if status.of_no_table else ""
    waiting = plural(status.quarantined, "change")
    return f"{waiting}{unknown}: tidemark quarantine list {status.pipeline}"


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


def _tables(console: Console, status: PipelineStatus, now: int) -> Table:
    from tidemark.cli.console import columns
    from tidemark.model.cut import GateMode

    gated = status.gate is not GateMode.NONE
    reach = ("until (UTC)", "lag") if gated else ("complete",)
    table = columns(console, "table", *reach, "last change", "audit", right=("lag",))
    for row in status.tables:
        table.add_row(row.target, *_reach(status, row, now), *_last(row, now))
    return table


def _reach(status: PipelineStatus, row: TableStatus, now: int) -> tuple[str, ...]:
    """How far the table is: source time where the gate tells it, else the cut.

    A lag is the age of that time, while anything is there to read: a source may be quiet.
    """
    from tidemark.model.cut import GateMode
    from tidemark.model.shown import age, clock
    from tidemark.runs.freshness import age_ms

    if status.gate is not GateMode.NONE:
        lag = age_ms(status, row, now)
        if lag is None:
            return ("-", "-")
        complete = clock(row.complete_until_ms) if row.complete_until_ms else "-"
        return complete, age(0, lag) if lag else "none"
    if status.published is None:
        return ("-",)
    return ("lower" if row.why else f"cut {status.published.result.cut}",)


def _last(row: TableStatus, now: int) -> tuple[str, str | Text]:
    """The newest cut that changed the table, and what its newest audit said."""
    from tidemark.cli.console import outcome
    from tidemark.model.shown import age

    change = row.changed
    changed = f"cut {change.cut}, {age(change.at_ms, now)} ago" if change else "-"
    if row.verdict is None:
        return (changed if row.exists else "not made yet"), "-"
    return changed, outcome(row.verdict.outcome, len(row.verdict.failures))
