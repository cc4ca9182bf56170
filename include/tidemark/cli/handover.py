"""`tidemark handover`: the source's log has started over."""

from __future__ import annotations

from typing import Annotated

import typer

from tidemark.cli.arguments import Pipeline, load_named

Continuous = Annotated[
    bool | None,
    typer.Option(
        "--continuous/--gap",
        show_default=False,
        help="Whether the new log holds every change behind the old one.",
    ),
]


def handover(pipeline: Pipeline, continuous: Continuous = None) -> None:
    """State that the source's log has started over: its positions stand above all before.

    After a fail-over to a server with a binlog of its own, or a restore. With --continuous the
    tables go on; with --gap each of them has to be re-snapshotted, by a snapshot of the whole
    source or by tidemark resync.
    """
    from tidemark.cli.console import columns, facts, put, stdout
    from tidemark.cli.session import catalog_world
    from tidemark.runs.orders import hand_over

    if continuous is None:
        raise typer.BadParameter("say --continuous or --gap: nobody but you can know")
    starts = hand_over(load_named(pipeline), catalog_world(), is_continuous=continuous)
    console = stdout()
    console.print(f"{pipeline}: a new log begins here", style="bold")
    table = columns(console, "topic", "partition", "offset", right=("partition", "offset"))
    for place, offset in sorted(starts.items()):
        table.add_row(place.topic, str(place.partition), f"{offset:,}")
    put(console, table)
    facts(console, ("next", f"tidemark cut {pipeline}"))
