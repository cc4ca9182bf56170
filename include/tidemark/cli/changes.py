"""`tidemark changes`: the rows of a target that changed between two published cuts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import Pipeline, Table, declared_tables, load_named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidemark.runs.changes import ChangedKey, Moment

Since = Annotated[
    str,
    typer.Option(
        "--from", metavar="CUT", help="The earlier cut (digits) or tag; 0: all rows are new."
    ),
]
UpTo = Annotated[
    str | None,
    typer.Option("--to", metavar="CUT", help="The later cut or tag; default: the newest cut."),
]
Keys = Annotated[
    int,
    typer.Option("--keys", metavar="N", min=0, max=1000, help="Name the first N rows that differ."),
]
AsLines = Annotated[
    bool, typer.Option("--json", help="Print each changed row as a JSON object on a line.")
]


def changes(  # noqa: PLR0913  one per option
    pipeline: Pipeline,
    table: Table,
    since: Since,
    up_to: UpTo = None,
    *,
    keys: Keys = 0,
    as_json: AsLines = False,
) -> None:
    """Show what changed in a target between two published cuts, or tags of it.

    Inserted, updated and deleted rows, an updated one as it was and as it is; without --json their
    numbers, and what became of the columns. --keys names rows by their keys, and which columns an
    updated one has otherwise.
    """
    from tidemark.cli.console import facts, stdout
    from tidemark.cli.session import spark_world
    from tidemark.lake.catalog import SystemTables
    from tidemark.lake.ledger import read_progress

    spec = load_named(pipeline)
    (named,) = declared_tables(spec, [table])
    with spark_world(spec, "comparing files") as world:
        from tidemark.runs.changes import changed_keys, open_changes

        last = up_to or str(read_progress(world.catalog, SystemTables.of(spec.name)).cut)
        with open_changes(spec, world, named, (_moment(since), _moment(last))) as compared:
            if as_json:
                for line in _lines(compared.rows):
                    typer.echo(line)
                return
            counts = _counts(compared.rows)
            named_rows = changed_keys(compared, keys) if keys else []
    console = stdout()
    console.print(f"{pipeline}: {named} from {since} to {last}", style="bold")
    facts(
        console,
        ("inserted", f"{counts.get('INSERT', 0):,}"),
        ("updated", f"{counts.get('UPDATE_AFTER', 0):,}"),
        ("deleted", f"{counts.get('DELETE', 0):,}"),
        *(("columns", change) for change in compared.columns),
        *(("row", _sentence(row, compared.identity)) for row in named_rows),
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


def _moment(text: str) -> Moment:
    return int(text) if text.isdecimal() else text


def _sentence(row: ChangedKey, identity: Sequence[str]) -> str:
    """A row by its key, what happened to it, and which of its columns are others."""
    key = ", ".join(f"{name}={value}" for name, value in zip(identity, row.key, strict=True))
    return f"{key}: {row.change}{' of ' + ', '.join(row.columns) if row.columns else ''}"


def _counts(rows: DataFrame) -> dict[str, int]:
    return {row[0]: row[1] for row in rows.groupBy("_change_type").count().collect()}
