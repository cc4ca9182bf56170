"""`tidemark handover`: the source's log has started over."""

from __future__ import annotations

from typing import Annotated

import typer

from tidemark.cli.arguments import AsJson, Pipeline, load_named

Continuous = Annotated[
    bool | None,
    typer.Option(
        "--continuous/--gap",
        show_default=False,
        help="Whether the new log holds every change behind the old one.",
    ),
]


def handover(pipeline: Pipeline, continuous: Continuous = None, *, as_json: AsJson = False) -> None:
    """State that the source's log has started over: its positions stand above all before.

    After a fail-over to a server with a binlog of its own, or a restore. With --continuous the
    tables go on; with --gap each of them has to be re-snapshotted, by a snapshot of the whole
    source or by tidemark resync.
    """
    from tidemark.cli.console import put_action
    from tidemark.cli.documents import ActionDocument
    from tidemark.cli.session import catalog_world
    from tidemark.runs.orders import hand_over

    if continuous is None:
        raise typer.BadParameter("say --continuous or --gap: nobody but you can know")
    starts = hand_over(load_named(pipeline), catalog_world(), is_continuous=continuous)
    action = ActionDocument(
        pipeline=pipeline,
        done="a new log begins at these offsets",
        details={str(at): str(offset) for at, offset in sorted(starts.items())},
        next=f"tidemark cut {pipeline}",
    )
    put_action(action, as_json=as_json)
