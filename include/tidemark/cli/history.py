"""`tidemark history`: the published cuts that changed a table, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import AsJson, Pipeline, Table, declared_tables, load_named

if TYPE_CHECKING:
    from rich.console import Console

    from tidemark.runs.table_history import TableChange, TableHistory

SHOWN_CHARACTERS = 200
Last = Annotated[
    int, typer.Option("--last", metavar="NUMBER", min=1, max=1000, help="How many cuts at most.")
]


def history(pipeline: Pipeline, table: Table, last: Last = 20, *, as_json: AsJson = False) -> None:
    """Show the published cuts that changed a table, newest first.

    With what each did, the statements that it followed, what its audit said, and who ordered what.
    """
    from tidemark.cli.console import stderr, stdout
    from tidemark.cli.session import catalog_world

    spec = load_named(pipeline)
    (named,) = declared_tables(spec, [table])
    with stderr().status("reading the ledger"):
        from tidemark.runs.table_history import table_history

        shown = table_history(spec, catalog_world(), named, last)
    if as_json:
        from tidemark.cli.documents import history_document

        typer.echo(history_document(pipeline, shown).model_dump_json())
        return
    show_history(stdout(), pipeline, shown)


def show_history(console: Console, pipeline: str, history: TableHistory) -> None:
    """Print a row per cut, then what was stated, found and ordered."""
    from tidemark.cli.console import columns, facts, outcome, put
    from tidemark.model.shown import clock

    console.print(f"{pipeline}: {history.table}, in {history.target}", style="bold")
    if not history.changes:
        facts(console, ("because", "no published cut has changed it"))
        return
    counts = ("inserted", "updated", "deleted", "truncated")
    headers = ("cut", "time (UTC)", *counts, "audit", "snapshot")
    table = columns(console, *headers, right=("cut", *counts))
    for change in history.changes:
        of, at = change.cut.of_target, clock(change.cut.at_ms)
        numbers = (f"{getattr(of, count):,}" for count in counts)
        failed = len(change.verdict.failures) if change.verdict else 0
        audit = outcome(of.outcome, failed) if of.outcome else "-"
        table.add_row(str(change.cut.result.cut), at, *numbers, audit, str(of.snapshot_id))
    console.print()
    put(console, table)
    console.print()
    facts(
        console,
        *(pair for change in history.changes for pair in _facts(change)),
        *((clock(order.at_ms), f"ordered: {order.command}") for order in history.orders),
    )


def _facts(change: TableChange) -> Iterator[tuple[str, str]]:
    """What is known of a cut beside its numbers."""
    from tidemark.cli.console import printable

    cut, verdict = f"cut {change.cut.result.cut}", change.verdict
    for text in change.statements:
        line = " ".join(text.split())
        cut_off = "..." if len(line) > SHOWN_CHARACTERS else ""
        yield cut, printable(line[:SHOWN_CHARACTERS] + cut_off)
    if change.cut.of_target.renamed_from:
        yield cut, f"renamed from {change.cut.of_target.renamed_from}"
    if change.cut.reason:
        yield cut, printable(f"run because: {change.cut.reason}")
    if verdict is None:
        return
    for check in verdict.failures:
        reason = verdict.reason_of(check)
        yield (
            cut,
            printable(
                f"{check.name}: {check.observed}" + (f"; accepted: {reason}" if reason else "")
            ),
        )
