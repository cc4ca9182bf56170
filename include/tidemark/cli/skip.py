"""`tidemark skip`: give up a transaction that will never be whole."""

from __future__ import annotations

from typing import Annotated

import typer

from tidemark.cli.arguments import Pipeline, load_named

Transaction = Annotated[
    str, typer.Argument(metavar="TRANSACTION", help="Its id, as tidemark status names it.")
]


def skip(pipeline: Pipeline, transaction: Transaction) -> None:
    """Let cuts go on behind a transaction of which events will never come.

    What came of it is set aside, and each table that it changed waits to be read anew.
    """
    from tidemark.cli.console import facts, stdout
    from tidemark.cli.session import catalog_world
    from tidemark.runs.orders import skip_transaction

    skip_transaction(load_named(pipeline), catalog_world(), transaction)
    console = stdout()
    console.print(f"{pipeline}: transaction {transaction} is given up", style="bold")
    facts(
        console,
        ("next", f"tidemark cut {pipeline}"),
        ("then", f"tidemark status {pipeline} names the tables that have to be read anew"),
    )
