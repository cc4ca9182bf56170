"""`tidemark erase`: erase what is known of some keys of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidemark.cli.arguments import AsJson, Pipeline, Table, declared_tables, load_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidemark.model.erasure import Erasure, Key

KeyColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        metavar="COLUMN=VALUE",
        help="A column of the key with its value, once for each column of the key.",
    ),
]
Keys = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="File of keys, a JSON object of columns and values on each line.",
    ),
]
Reason = Annotated[
    str, typer.Option(metavar="TEXT", help="Kept in the ledger; do not name the key in it.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def erase(  # noqa: PLR0913  each is an option of the verb
    pipeline: Pipeline,
    table: Table,
    reason: Reason,
    key: KeyColumns = None,
    keys: Keys = None,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Erase what is known of some keys: records, ended rows, and changes in quarantine.

    A row that the source still has stays, and so does the record that tells it: delete it there
    first. It cannot be undone, and asks first.
    """
    from tidemark.cli.console import confirm
    from tidemark.cli.session import spark_world
    from tidemark.model.shown import plural

    spec = load_named(pipeline)
    (named,) = declared_tables(spec, [table])
    meant = _keys(key or [], keys)
    if not yes:
        confirm(f"Erase what is known of {plural(len(meant), 'key')} of {named}?")
    with spark_world(spec, "erasing records") as world:
        from tidemark.runs.erase import erase as run

        done = run(spec, world, named, meant, reason)
    if as_json:
        from tidemark.cli.documents import erasure_document

        typer.echo(erasure_document(spec.name, named, done).model_dump_json())
        return
    _show(str(named), spec.name, done)


def _keys(pairs: Sequence[str], file: Path | None) -> list[Key]:
    """The keys that are named; typer.BadParameter where they are none."""
    from tidemark.model.erasure import keys_in

    if bool(pairs) == (file is not None):
        raise typer.BadParameter("one of --key and --keys is needed")
    if file is None:
        split = [pair.partition("=") for pair in pairs]
        if any(not equals for _, equals, _ in split):
            raise typer.BadParameter("--key takes COLUMN=VALUE")
        return [{column: value for column, _, value in split}]
    try:
        return keys_in(file.read_text("utf-8"))
    except ValueError as error:
        raise typer.BadParameter(f"{file}: {error}") from error


def _show(table: str, pipeline: str, done: Erasure) -> None:
    from tidemark.cli.console import facts, stdout
    from tidemark.model.shown import plural

    console = stdout()
    console.print(f"{pipeline}: {plural(done.keys, 'key')} of {table} erased", style="bold")
    files = f"maintenance removes files of before when they are {plural(done.days, 'day')} old"
    pairs = [
        ("records", f"{done.records:,} of the changelog have no key, value and headers any more"),
        ("shortened", f"{done.shortened:,} hold rows of other keys alone"),
        ("rows", f"{done.rows:,} that had ended were deleted"),
        ("quarantine", f"{plural(done.entries, 'change')} dropped"),
        ("files", files),
    ]
    warned = [
        ("shared", done.shared, "records keep a row that changed from one key to another"),
        ("unreadable", done.unreadable, "records wait in quarantine of which no key is known"),
    ]
    pairs += [(name, f"{number:,} {what}") for name, number, what in warned if number]
    if not done.is_rewritten:
        pairs.append(("files", "some were not rewritten, as another writer changed the table"))
    pairs += [("holds it", name) for name in (*done.refs, *done.tables)]
    holds = done.refs or done.tables or not done.is_rewritten
    pairs.append(
        ("next", "drop what still holds it, or run this again" if holds else "nothing to do")
    )
    facts(console, *pairs)
