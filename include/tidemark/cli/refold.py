"""`tidemark refold`: fold one table again from the changelog, into a new target."""

from __future__ import annotations

from typing import Annotated

import typer

from tidemark.cli.arguments import AsJson, Pipeline, Table, declared_tables, load_named

Into = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Name of a new table that stays beside the target; without it the new table replaces "
        "the target.",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        metavar="CUT|TIME",
        help="Fold the table as this published cut had it, or the newest one that goes no further "
        "than this time of the source (ISO, UTC unless it says otherwise); needs --into.",
    ),
]
Cancel = Annotated[
    bool, typer.Option("--cancel", help="Give a refold up; the target goes on as it is.")
]


def refold(  # noqa: PLR0913  each is an option of the verb
    pipeline: Pipeline,
    table: Table,
    into: Into = "",
    as_of: AsOf = None,
    *,
    cancel: Cancel = False,
    as_json: AsJson = False,
) -> None:
    """Fold one table again from the changelog, as the pipeline file declares it now.

    The next runs do it: with another key, mode, type or mask, or after somebody changed the target.
    Readers keep the target until the new one takes its place, audited and compared with it.
    """
    from tidemark.cli.console import put_action
    from tidemark.cli.documents import ActionDocument
    from tidemark.cli.session import catalog_world
    from tidemark.runs.refold import begin_refold, cancel_refold
    from tidemark.spec.until import cut_or_time

    if cancel and (into or as_of is not None):
        raise typer.BadParameter("--cancel stands alone")
    then = None if as_of is None else cut_or_time(as_of)
    if as_of is not None and then is None:
        raise typer.BadParameter(f"{as_of!r} is neither a cut nor a time")
    spec = load_named(pipeline)
    (named,) = declared_tables(spec, [table])
    details: dict[str, str] = {}
    if cancel:
        cancel_refold(spec, catalog_world(), named)
        done = f"the refold of {named} is cancelled; its target goes on as it is"
    else:
        begun = begin_refold(spec, catalog_world(), named, into=into, as_of=then)
        details = {"target": f"{spec.target_namespace}.{begun.target}"}
        done = f"{named} is folded again from the changelog by the next run"
    action = ActionDocument(
        pipeline=pipeline, done=done, details=details, next=f"tidemark cut {pipeline}"
    )
    put_action(action, as_json=as_json)
