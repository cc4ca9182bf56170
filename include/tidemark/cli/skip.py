"""`tidemark skip`: go on behind a transaction or a schema change, as a person has judged it."""

from __future__ import annotations

from typing import Annotated

import typer

from tidemark.cli.arguments import AcknowledgedRecord, Pipeline, load_named
from tidemark.model.position import Position

Transaction = Annotated[
    str | None,
    typer.Argument(metavar="TRANSACTION", help="Its id, as tidemark status names it."),
]
Statement = Annotated[
    str | None,
    typer.Option(
        metavar="POSITION",
        help="Take the statement at this position for one without effect; the message of the table "
        "that it stops names it.",
    ),
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Why it has none; kept in the ledger.")]


def skip(
    pipeline: Pipeline,
    transaction: Transaction = None,
    *,
    statement: Statement = None,
    record: AcknowledgedRecord = None,
    reason: Reason = "",
) -> None:
    """Let cuts go on behind a transaction of which events will never come, or a schema change.

    What came of the transaction is quarantined, and each table that it changed waits to be
    re-snapshotted. A statement that stops tables counts as if it had not been; so does a record of
    a schema-change topic that cannot be read.
    """
    from tidemark.cli.console import facts, stdout
    from tidemark.cli.session import catalog_world
    from tidemark.runs.orders import skip_record, skip_statement, skip_transaction

    spec, console = load_named(pipeline), stdout()
    following = ("next", f"tidemark cut {pipeline}")
    given = [one for one in (transaction, statement, record) if one is not None]
    if len(given) != 1 or (transaction is None) != bool(reason.strip()):
        raise typer.BadParameter("give a TRANSACTION, or --statement or --record with a --reason")
    if transaction is not None:
        skip_transaction(spec, catalog_world(), transaction)
        console.print(f"{pipeline}: transaction {transaction} is given up", style="bold")
        then = f"tidemark status {pipeline} names the tables that have to be re-snapshotted"
        facts(console, following, ("then", then))
        return
    if statement is not None:
        skip_statement(spec, catalog_world(), Position(statement), reason)
    elif record is not None:
        skip_record(spec, catalog_world(), record, reason)
    console.print(f"{pipeline}: what stands at {given[0]} counts for nothing", style="bold")
    facts(console, following)
