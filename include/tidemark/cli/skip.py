"""`tidemark skip`: go on behind a transaction or a schema change, as a person has judged it."""

from __future__ import annotations

from typing import Annotated

import typer

from tidemark.cli.arguments import AcknowledgedRecord, AsJson, Pipeline, load_named
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


def skip(  # noqa: PLR0913  options of a command are its arguments
    pipeline: Pipeline,
    transaction: Transaction = None,
    *,
    statement: Statement = None,
    record: AcknowledgedRecord = None,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Let cuts go on behind a transaction of which events will never come, or a schema change.

    What came of the transaction is quarantined, and each table that it changed waits to be
    re-snapshotted. A statement that stops tables counts as if it had not been; so does a record of
    a schema-change topic that cannot be read.
    """
    from tidemark.cli.console import put_action
    from tidemark.cli.documents import ActionDocument
    from tidemark.cli.session import catalog_world
    from tidemark.runs.orders import skip_record, skip_statement, skip_transaction

    spec = load_named(pipeline)
    arguments = [argument for argument in (transaction, statement, record) if argument is not None]
    if len(arguments) != 1 or (transaction is None) != bool(reason.strip()):
        raise typer.BadParameter("give a TRANSACTION, or --statement or --record with a --reason")
    if transaction is not None:
        skip_transaction(spec, catalog_world(), transaction)
        done, details = f"transaction {transaction} is given up", {}
        then = f"; tidemark status {pipeline} names the tables that have to be re-snapshotted"
    else:
        done, details, then = (
            f"what stands at {arguments[0]} counts for nothing",
            {"because": reason},
            "",
        )
    if statement is not None:
        skip_statement(spec, catalog_world(), Position(statement), reason)
    elif record is not None:
        skip_record(spec, catalog_world(), record, reason)
    action = ActionDocument(
        pipeline=pipeline, done=done, details=details, next=f"tidemark cut {pipeline}{then}"
    )
    put_action(action, as_json=as_json)
