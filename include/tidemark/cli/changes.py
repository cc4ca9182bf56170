"""`tidemark changes`: the rows of a target that changed between two published cuts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import Pipeline, Table, declared_tables, load_named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Since = Annotated[
    int, typer.Option("--from", metavar="CUT", min=0, help="The earlier cut; 0: all rows are new.")
]
UpTo = Annotated[
    int | None,
    typer.Option("--to", metavar="CUT", min=1, help="The later cut; default: the newest."),
]
AsLines = Annotated[
    bool, typer.Option("--json", help="Print each changed row as a JSON object on a line.")
]


def changes(
    pipeline: Pipeline, table: Table, since: Since, up_to: UpTo = None, *, as_json: AsLines = False
) -> None:
    """Show what changed in a target between two published cuts.

    Inserted, updated and deleted rows, an updated one as it was and as it is; without --json their
    numbers.
    """
    from tidemark.cli.console import facts, stdout
    from tidemark.cli.session import spark_world
    from tidemark.lake.catalog import SystemTables
    from tidemark.lake.ledger import read_progress

    spec = load_named(pipeline)
    (named,) = declared_tables(spec, [table])
    with spark_world(spec, "comparing files") as world:
        from tidemark.runs.changes import changes_between

        last = up_to or read_progress(world.catalog, SystemTables.of(spec.name)).cut
        with changes_between(spec, world, named, since, last) as rows:
            if as_json:
                for line in _lines(rows):
                    typer.echo(line)
                return
            counts = _counts(rows)
    console = stdout()
    console.print(f"{pipeline}: {named} from cut {since} to cut {last}", style="bold")
    facts(
        console,
        ("inserted", f"{counts.get('INSERT', 0):,}"),
        ("updated", f"{counts.get('UPDATE_AFTER', 0):,}"),
        ("deleted", f"{counts.get('DELETE', 0):,}"),
        (
            "next",
            f"the rows: tidemark changes {pipeline} {named} --from {since} --to {last} --json",
        ),
    )


def _lines(rows: DataFrame) -> Iterator[str]:
    from pyspark.sql import functions as F

    from tidemark.model.names import quote

    whole = F.struct(*(F.col(quote(name)) for name in rows.columns))
    for row in rows.select(F.to_json(whole, {"ignoreNullFields": "false"})).toLocalIterator():
        yield row[0]


def _counts(rows: DataFrame) -> dict[str, int]:
    return {row[0]: row[1] for row in rows.groupBy("_change_type").count().collect()}
