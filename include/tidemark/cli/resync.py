"""`tidemark resync`: have one table re-snapshotted while the others go on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import Pipeline, Table, declared_tables, load_named

if TYPE_CHECKING:
    from tidemark.model.names import TableName

Complete = Annotated[
    bool,
    typer.Option(
        "--complete",
        help="Its snapshot is whole: the next cut removes the rows that it did not contain.",
    ),
]


def resync(pipeline: Pipeline, table: Table, *, complete: Complete = False) -> None:
    """Have one table re-snapshotted, and remove what the source no longer has.

    First without --complete; then let the connector make an incremental snapshot of the table, and
    say --complete when it has. All tables are published meanwhile.
    """
    from tidemark.cli.console import facts, stdout
    from tidemark.cli.session import catalog_world
    from tidemark.runs.orders import begin_resync, end_resync

    spec = load_named(pipeline)
    (named,) = declared_tables(spec, [table])
    world, console = catalog_world(), stdout()
    if complete:
        end_resync(spec, world, named)
        console.print(f"{pipeline}: the snapshot of {named} counts as whole", style="bold")
        facts(console, ("next", f"tidemark cut {pipeline}"))
        return
    begin_resync(spec, world, named)
    console.print(f"{pipeline}: a snapshot of {named} is awaited", style="bold")
    facts(
        console,
        ("signal", "execute-snapshot"),
        ("data", signal_data(named)),
        ("next", "send this signal to the connector, as a row of its signal table or by Kafka"),
        ("then", f"when it has read the table: tidemark resync {pipeline} {named} --complete"),
    )


def signal_data(table: TableName) -> str:
    """What the connector's ad-hoc signal has to say; it reads names as regular expressions."""
    escaped = str(table).replace(".", "\\.")
    return json.dumps({"data-collections": [escaped], "type": "incremental"})
