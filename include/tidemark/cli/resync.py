"""`tidemark resync`: have one table re-snapshotted while the others go on."""

from __future__ import annotations

from typing import Annotated

import typer

from tidemark.cli.arguments import AsJson, Pipeline, Table, declared_tables, load_named

Complete = Annotated[
    bool,
    typer.Option(
        "--complete",
        help="Its snapshot is whole: the next cut removes the rows that it did not contain.",
    ),
]


def resync(
    pipeline: Pipeline, table: Table, *, complete: Complete = False, as_json: AsJson = False
) -> None:
    """Have one table re-snapshotted, and remove what the source no longer has.

    First without --complete; then let the connector make an incremental snapshot of the table, and
    say --complete when it has. All tables are published meanwhile.
    """
    from tidemark.cli.console import put_action
    from tidemark.cli.documents import ActionDocument
    from tidemark.cli.session import catalog_world
    from tidemark.runs.orders import begin_resync, end_resync
    from tidemark.topics.signals import signal_data

    spec = load_named(pipeline)
    (named,) = declared_tables(spec, [table])
    if complete:
        end_resync(spec, catalog_world(), named)
        action = ActionDocument(
            pipeline=pipeline,
            done=f"the snapshot of {named} counts as whole",
            details={},
            next=f"tidemark cut {pipeline}",
        )
    else:
        is_sent = begin_resync(spec, catalog_world(), named)
        signal = "send this signal to the connector, as a row of its signal table or by Kafka; "
        first = "" if is_sent else signal
        action = ActionDocument(
            pipeline=pipeline,
            done=f"a snapshot of {named} is awaited{', and its signal is sent' if is_sent else ''}",
            details={"signal": "execute-snapshot", "data": signal_data(named)},
            next=f"{first}when it has read the table: "
            f"tidemark resync {pipeline} {named} --complete",
        )
    put_action(action, as_json=as_json)
