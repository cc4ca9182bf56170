"""`tidemark cut`: land, fold, audit and publish in one Spark session."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import (
    AsJson,
    Attempt,
    Pipeline,
    Tables,
    Tag,
    Until,
    declared_tables,
    load_named,
    refuse_tag_without_time,
)
from tidemark.model.names import AttemptId

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tidemark.model.result import CutResult
    from tidemark.model.verdict import Verdict
    from tidemark.runs.run import CutRequest
    from tidemark.runs.world import World
    from tidemark.spec import PipelineSpec

Reason = Annotated[
    str, typer.Option(metavar="TEXT", help="Why it is run by hand; kept in the ledger.")
]


def cut(  # noqa: PLR0913  each is an option of the verb
    pipeline: Pipeline,
    until: Until = None,
    table: Tables = None,
    reason: Reason = "",
    attempt: Attempt = None,
    tag: Tag = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Land, fold, audit and publish the next cut.

    All tables of the cut are published together, or none.
    """
    from tidemark.cli.console import facts, stdout
    from tidemark.cli.session import spark_world
    from tidemark.spec.until import until_of

    spec = load_named(pipeline)
    tables, cap = declared_tables(spec, table), until_of(spec, until)
    if tag is not None:
        refuse_tag_without_time(cap, tables)
    attempt_id = AttemptId(attempt) if attempt else _made_up()
    with spark_world(spec, "landing what is unread") as world:
        from tidemark.lake.catalog import SystemTables
        from tidemark.lake.ledger import newest_tag
        from tidemark.runs.publish import read_verdicts
        from tidemark.runs.run import CutRequest
        from tidemark.runs.stall import tell_stall

        result = _recorded(spec, world, CutRequest(attempt_id, cap, tables, reason, tag))
        is_tagged = tag is not None and newest_tag(world.catalog, SystemTables.of(spec.name)) == tag
        verdicts = read_verdicts(spec, world, attempt_id, result.cut)
    if as_json:
        typer.echo(result.to_json())
    else:
        show_result(stdout(), spec, result, verdicts)
        if tag is not None:
            where = "on every target" if is_tagged else "on none; the log says why"
            facts(stdout(), ("tag", f"{tag}, {where}"))
    tell_stall(spec, world)
    raise typer.Exit(result.exit_code)


def _recorded(pipeline: PipelineSpec, world: World, request: CutRequest) -> CutResult:
    """Run the cut and leave its result, by which `tidemark status` knows failed attempts."""
    from tidemark.errors import TidemarkError
    from tidemark.lake.results import result_file, write_result
    from tidemark.model.result import CutResult
    from tidemark.runs.cut import run_cut

    file = result_file(world.installation.state, pipeline.name, request.attempt)
    try:
        result = run_cut(pipeline, world, request)
    except TidemarkError as error:
        write_result(CutResult.failed(request.attempt, error), file)
        raise
    write_result(result, file)
    return result


def _made_up() -> AttemptId:
    """A name that sorts by time and that nobody else takes."""
    now = datetime.now(UTC).strftime("%Y%m%d_%H%M%S")
    return AttemptId(f"cli_{now}_{secrets.token_hex(3)}")


def show_result(
    console: Console, spec: PipelineSpec, result: CutResult, verdicts: Sequence[Verdict]
) -> None:
    """What a run did, table by table, and what is next."""
    from tidemark.cli.console import facts, failed_checks, put, stopped_tables
    from tidemark.model.shown import clock
    from tidemark.runs.unknown_kinds import warnings

    pipeline = spec.name
    console.print(_headline(pipeline, result), style="bold")
    if result.tables:
        console.print()
        put(console, _tables(console, result, verdicts))
        console.print()
    stopped_tables(console, result.stopped)
    failed_checks(console, verdicts)
    until = f"{clock(result.complete_until_ms)} UTC" if result.complete_until_ms else ""
    facts(
        console,
        ("attempt", result.attempt),
        ("complete", f"until {until}, source time" if until else ""),
        ("holds at", result.hold),
        ("records", ", ".join(f"{n:,} {name}" for name, n in result.buckets.items() if n)),
        ("replaced", _replaced(result)),
        ("quarantined", _quarantined(pipeline, result)),
        *(("warning", sentence) for sentence in warnings(spec.source, result.unknown)),
        ("next", _next(pipeline, result)),
    )


def _headline(pipeline: str, result: CutResult) -> str:
    from tidemark.model.result import CutStatus

    if result.status is CutStatus.IDLE:
        return f"{pipeline}: nothing to do; cut {result.cut} stays the newest"
    if result.status is CutStatus.BLOCKED:
        return f"{pipeline}: cut {result.cut} is blocked by its audit; every table is as it was"
    return f"{pipeline}: cut {result.cut} is {result.status}"


def _quarantined(pipeline: str, result: CutResult) -> str:
    codes = ", ".join(f"{code} {number:,}" for code, number in result.quarantined.items())
    return f"{codes} by this cut: tidemark quarantine list {pipeline}" if codes else ""


def _replaced(result: CutResult) -> str:
    """Targets whose name another table got, and what they are called now."""
    return "\n".join(
        f"{table.target}; what it was is {table.displaced} until somebody drops it"
        for table in result.tables
        if table.displaced
    )


def _next(pipeline: str, result: CutResult) -> str:
    from tidemark.model.result import CutStatus

    if result.status is CutStatus.BLOCKED:
        return (
            f"fix the data at the source or the suite, then: tidemark cut {pipeline}\n"
            f"if the findings are right: tidemark accept {pipeline} --reason TEXT"
        )
    return f"tidemark status {pipeline}"


def _tables(console: Console, result: CutResult, verdicts: Sequence[Verdict]) -> Table:
    from tidemark.cli.console import columns, outcome

    failed = {verdict.table: len(verdict.failures) for verdict in verdicts}
    numbers = ("inserted", "updated", "deleted", "truncated")
    table = columns(console, "table", *numbers, "audit", right=numbers)
    for row in result.tables:
        counts = (row.inserted, row.updated, row.deleted, row.truncated)
        table.add_row(
            row.target,
            *(f"{number:,}" for number in counts),
            outcome(row.outcome, failed.get(row.target, 0)),
        )
    return table
