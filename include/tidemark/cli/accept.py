"""`tidemark accept`: publish a cut that its expectations block, as a person has judged it."""

from __future__ import annotations

from typing import Annotated

import typer

from tidemark.cli.arguments import AsJson, Pipeline, load_named

Reason = Annotated[
    str, typer.Option(metavar="TEXT", help="Why the findings are right; kept with the verdicts.")
]


def accept(pipeline: Pipeline, *, reason: Reason, as_json: AsJson = False) -> None:
    """Publish the newest attempt though expectations failed; this once, and no later cut.

    What the engine's own checks find cannot be accepted.
    """
    from tidemark.cli.console import stdout
    from tidemark.cli.cut import show_result
    from tidemark.cli.session import catalog_world
    from tidemark.runs.accept import accept_audit, blocked_attempt
    from tidemark.runs.publish import read_verdicts

    if not reason.strip():
        raise typer.BadParameter("give a --reason")
    spec, world = load_named(pipeline), catalog_world()
    attempt = blocked_attempt(spec, world)
    result = accept_audit(spec, world, attempt, reason.strip())
    if as_json:
        typer.echo(result.to_json())
    else:
        show_result(stdout(), spec, result, read_verdicts(spec, world, attempt, result.cut))
